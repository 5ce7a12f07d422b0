import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { silentLog } from "../../kit/log.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import type { Host } from "../../outside/host/host.ts";
import { runProgram } from "../../outside/host/run-program.ts";
import type { ProgramResult } from "../../outside/program.ts";
import { limitOpenFiles, readLimit } from "./open-files.ts";

const LIMITS = (soft: string, hard: string) =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 ${hard}              files\n`;

for (const [text, expected] of [
  [LIMITS("1024", "4096"), { soft: 1024, hard: 4096 }],
  [LIMITS("unlimited", "unlimited"), { soft: Infinity, hard: Infinity }],
  ["", undefined],
] as const)
  test(`readLimit: ${JSON.stringify(expected)}`, () => assert.deepEqual(readLimit(text), expected));

function world(soft: string, result: Partial<ProgramResult>) {
  const ran: string[] = [];
  const warned: string[] = [];
  const host: Pick<Host, "readKernel" | "runProgram"> = {
    readKernel: (path) => (path.endsWith("limits") ? LIMITS(soft, soft) : "42 (node) S 1"),
    runProgram: async ({ path, args }) => {
      ran.push([path, ...args].join(" "));
      return { code: 0, by: "", stdout: "", stderr: "", ...result };
    },
  };
  const log = { ...silentLog, warn: (message: string) => warned.push(message) };
  return { ran, warned, limit: (n: number) => limitOpenFiles(n, { host, log }, NEVER_ABORTED) };
}

test("limitOpenFiles: sets the limit of this process; nothing is run where it is right", async () => {
  const { ran, limit } = world("1024", {});
  await limit(1024);
  assert.deepEqual(ran, []);
  await limit(1_000_000);
  assert.deepEqual(ran, ["prlimit --pid 42 --nofile=1000000:1000000"]);
});

test("limitOpenFiles: what may not be raised is warned of; more than is needed is not", async () => {
  const refused = { code: 1, stderr: "prlimit: failed to set the NOFILE resource limit" };
  const few = world("1024", refused);
  await few.limit(4096);
  assert.deepEqual(few.warned, ["maxOpenFiles not set"]);
  const many = world("8192", refused);
  await many.limit(4096);
  assert.deepEqual(many.warned, []);
});

test("limitOpenFiles: prlimit sets the limit of a running process", async () => {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  await once(child, "spawn");
  try {
    const host: Pick<Host, "readKernel" | "runProgram"> = {
      readKernel: (path) => readFileSync(path.replace("self", String(child.pid)), "utf8"),
      runProgram,
    };
    await limitOpenFiles(200, { host, log: silentLog }, NEVER_ABORTED);
    const limits = readFileSync(`/proc/${child.pid}/limits`, "utf8");
    assert.deepEqual(readLimit(limits), { soft: 200, hard: 200 });
  } finally {
    child.kill("SIGKILL");
  }
});
