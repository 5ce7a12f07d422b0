import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ContainerProcess,
  execRoots,
  execTraces,
  orphansOf,
  processTreeOf,
  stemsFrom,
} from "./exec-tree.ts";

const process = (
  pid: number,
  parentPid: number,
  more: Partial<ContainerProcess> = {},
): ContainerProcess => ({
  pid,
  parentPid,
  sessionId: pid,
  startTicks: pid,
  state: "S",
  command: "",
  ...more,
});

/** The runtime's process, which is not in the container. */
const SHIM = 1;
/** When the probe began. */
const origin = { command: ["sh", "-c", "sleep 9 & wait"], sinceTicks: 100 };

test("execRoots finds what was started from outside since then", () => {
  const main = process(10, SHIM);
  const worker = process(110, 10);
  const later = process(130, SHIM);
  const exec = process(120, SHIM);
  const child = process(121, 120, { sessionId: 120 });
  assert.deepEqual(execRoots([main, worker, later, exec, child], origin), [exec, later]);
});

test("execTraces finds what runs, not what is on its way or over, and what was left behind", () => {
  const main = process(10, SHIM);
  const worker = process(110, 10, { sessionId: 10 });
  const exec = process(120, SHIM, { command: "check" });
  const left = process(125, SHIM, { sessionId: 119, command: "slow" });
  const over = process(126, SHIM, { state: "Z" });
  const ways = ["runc init", "/usr/sbin/runc init", "/proc/self/fd/7 init", "/proc/self/exe init"];
  const coming = ways.map((command, i) => process(130 + i, SHIM, { command }));
  const all = [main, worker, left, over, exec, ...coming];
  assert.deepEqual(execTraces(all, origin), [exec, left]);
});

test("stemsFrom knows a command by what became of it", () => {
  const cases: readonly (readonly [seen: string, command: readonly string[], stems: boolean])[] = [
    ["sh -c sleep 9 & wait", ["sh", "-c", "sleep 9 & wait"], true],
    ["sleep 9", ["sh", "-c", "sleep 9"], true],
    ["/bin/sh /check.sh -x", ["/check.sh", "-x"], true],
    ["sh", ["sh", "-c", "sleep 9"], false],
    ["sleep", ["sh", "-c", "sleep"], false],
    ["sleep 99", ["sh", "-c", "sleep 9"], false],
    ["tail -f /log", ["cat", "/ready"], false],
    ["", ["cat", "/ready"], false],
    ["cat /ready", [], false],
  ];
  for (const [command, words, stems] of cases)
    assert.equal(
      stemsFrom(process(120, SHIM, { command }), { command: words, sinceTicks: 0 }),
      stems,
      command,
    );
});

test("treeOf follows parents, and sessions where the parent is gone, and leaves others alone", () => {
  const main = process(10, SHIM);
  const root = process(120, SHIM);
  const child = process(121, 120, { sessionId: 120 });
  const grandchild = process(122, 121, { sessionId: 122 });
  const orphan = process(123, 10, { sessionId: 120 });
  const other = process(124, 10, { sessionId: 10 });
  const user = process(125, SHIM);
  const all = [grandchild, main, orphan, other, user, child, root];
  assert.deepEqual(
    processTreeOf(all, [root]).map(({ pid }) => pid),
    [122, 123, 121, 120],
  );
  assert.deepEqual(
    processTreeOf([main, orphan, other], [{ pid: 120 }]).map(({ pid }) => pid),
    [123],
  );
  assert.deepEqual(processTreeOf(all, []), []);
});

test("orphansOf takes only what the command left, not what the container itself put in the background", () => {
  const main = process(10, SHIM);
  const left = process(121, 10, { sessionId: 120, command: "sleep 9" });
  const daemon = process(122, 10, { sessionId: 119, command: "crond -b" });
  const older = process(99, 10, { sessionId: 98, command: "sleep 9" });
  const ofMain = process(123, 10, { sessionId: 10, command: "sleep 9" });
  const all = [main, left, daemon, older, ofMain];
  assert.deepEqual(orphansOf(all, origin), [left]);
  const zombie = process(120, SHIM, { state: "Z" });
  assert.deepEqual(orphansOf([...all, zombie], origin), [left], "its session has ended");
});
