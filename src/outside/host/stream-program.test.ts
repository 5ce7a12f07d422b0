import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { streamProgram } from "./stream-program.ts";

const NEVER = new AbortController().signal;
const LIMITS = { timeoutMs: 20_000, maxOutputBytes: 1_000 };

/** Output and exit of a shell command. */
async function outputOf(script: string, limits: Partial<typeof LIMITS> = {}) {
  let text = "";
  const program = { path: "sh", args: ["-c", script], ...LIMITS, ...limits };
  const end = await streamProgram(
    program,
    async (chunk) => {
      text += new TextDecoder().decode(chunk);
    },
    NEVER,
  );
  return { end, text };
}

test("streamProgram: output and errors are passed on, arguments are not read by a shell", async () => {
  const { end, text } = await outputOf("echo out; echo err >&2; exit 3");
  assert.deepEqual(end, { kind: "exited", code: 3 });
  assert.deepEqual(text.split("\n").sort(), ["", "err", "out"]);
  const chunks: Uint8Array[] = [];
  const program = { path: "echo", args: ["$(id); rm -rf /", "*"], ...LIMITS };
  await streamProgram(program, async (chunk) => void chunks.push(chunk), NEVER);
  assert.equal(Buffer.concat(chunks).toString(), "$(id); rm -rf / *\n");
});

test("streamProgram: a program that is missing, writes too much or runs too long is named so", async () => {
  const missing = { path: "/no/such/program", args: [], ...LIMITS };
  assert.deepEqual(await streamProgram(missing, async () => {}, NEVER), { kind: "missing" });
  const { end, text } = await outputOf("while :; do echo 0123456789; done");
  assert.deepEqual([end, text.length], [{ kind: "tooLong" }, 1_000]);
  const late = await outputOf("echo begun; exec sleep 100", { timeoutMs: 200 });
  assert.deepEqual(late, { end: { kind: "deadline" }, text: "begun\n" });
});

test("streamProgram: an aborted signal, or a reader that is gone, ends the program", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-stream-"));
  const leave = new AbortController();
  const script = `echo begun; sleep 0.3; touch ${folder}/lived`;
  const program = { path: "sh", args: ["-c", script], ...LIMITS };
  const begun = async () => leave.abort(new Error("nobody reads"));
  await assert.rejects(streamProgram(program, begun, leave.signal), /nobody reads/);
  const gone = async () => {
    throw new Error("the peer is gone");
  };
  await assert.rejects(streamProgram(program, gone, NEVER), /the peer is gone/);
  await new Promise((resolve) => setTimeout(resolve, 600));
  assert.equal(existsSync(join(folder, "lived")), false);
  rmSync(folder, { recursive: true });
});
