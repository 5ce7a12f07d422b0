import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../test/sim/fake-files.ts";
import { SimClock } from "../../test/sim/sim-clock.ts";
import type { WallMs } from "../kit/clock.ts";
import { lastExitLine, lastExitPath, parseLastExit, takeLastExit } from "./last-exit.ts";

const KILLED = { result: "watchdog", code: "killed", status: "ABRT", atMs: 5_000 as WallMs };

for (const [what, line, expected] of [
  ["ended by the watchdog", "watchdog killed ABRT 5\n", KILLED],
  [
    "a code",
    "exit-code exited 1 5\n",
    { ...KILLED, result: "exit-code", code: "exited", status: "1" },
  ],
  ["an orderly end", "success exited 0 5\n", undefined],
  ["nothing", "", undefined],
  ["a torn line", "exit-code exi", undefined],
  ["something else", "<html>\n", undefined],
] as const)
  test(`parseLastExit: ${what}`, () => assert.deepEqual(parseLastExit(line), expected));

test("takeLastExit: a note is reported once, and a damaged one never", async () => {
  const clock = new SimClock();
  const files = new FakeFiles({ wall: () => clock.wall(), fault: () => undefined });
  await files.makeDirectory("/r/nodelet", 0o700);
  assert.equal(await takeLastExit("/r", files), undefined);
  await files.writeAtomic(lastExitPath("/r"), lastExitLine(KILLED), 0o600);
  assert.deepEqual(await takeLastExit("/r", files), KILLED);
  assert.equal(await takeLastExit("/r", files), undefined);
  await files.writeAtomic(lastExitPath("/r"), "x".repeat(1000), 0o600);
  assert.equal(await takeLastExit("/r", files), undefined);
});
