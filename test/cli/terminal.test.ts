// What a container or the agent reports must not steer the terminal of its user.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, before, test } from "node:test";
import { runCommand } from "../../src/cli/cli.ts";
import { toJson } from "../../src/present/output.ts";
import { fakeIo } from "./fake-io.ts";
import { aPod, running } from "./pods.ts";

const folder = mkdtempSync(join(tmpdir(), "nodelet-terminal-"));
const socketPath = join(folder, "agent.sock");
/** A title, a bell, NUL, a bare byte of a C1 control. */
const STEERING = Buffer.concat([Buffer.from("\u001b]0;t\u0007\u0000"), Buffer.of(0x9b, 0x0a)]);
const PODS = { items: [aPod({ containers: [running({ name: "web" })] })] };

const server = createServer(({ url = "" }, response) => {
  if (url.startsWith("/containerLogs/")) return void response.end(STEERING);
  if (url === "/nodelet/v1/pods") return void response.end(JSON.stringify(PODS));
  response.statusCode = 500;
  response.end("broken \u001b[2J\u0007");
});
before(() => new Promise<void>((resolve) => server.listen(socketPath, resolve)));
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

for (const [where, flags, isTTY, expected] of [
  ["on a terminal shows it", [], true, Buffer.from("^[]0;t^G^@\ufffd\n")],
  ["on a terminal with --raw passes it on", ["--raw"], true, STEERING],
  ["in a pipe passes it on", [], false, STEERING],
] as const)
  test(`\`nodelet logs\` of output that steers terminals: ${where}`, async () => {
    const stdout = Object.assign(new PassThrough(), { isTTY });
    const io = { ...fakeIo({ NODELET_SOCKET: socketPath }), stdout };
    const argv = ["logs", "web", ...flags];
    assert.equal(await runCommand(argv, io, () => new AbortController().signal), 0);
    assert.deepEqual(stdout.read(), expected);
  });

test("errors and JSON show what steers terminals", async () => {
  const io = fakeIo({ NODELET_SOCKET: socketPath });
  assert.equal(await runCommand(["get", "node"], io, () => new AbortController().signal), 1);
  assert.equal(io.err(), "nodelet: broken \ufffd[2J\ufffd\n");
  const value = { text: "\u001b[2J\u007f\u009b31m\u202e" };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it matches
  assert.doesNotMatch(toJson(value).replaceAll("\n", ""), /[\u0000-\u001f\u007f-\u009f\u202e]/);
  assert.deepEqual(JSON.parse(toJson(value)), value);
});
