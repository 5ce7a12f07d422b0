import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type AcceptedSkip, judgeSkips, skipProblem } from "./accepted-skips.mjs";
import { runFile } from "./run-file.mjs";

const folder = mkdtempSync(join(tmpdir(), "accepted-skips-"));
after(() => rmSync(folder, { recursive: true }));

const list = (stands: boolean): readonly AcceptedSkip[] => [
  { reason: /^no disk (\w+)/, why: "…", stands: ([, name]) => stands && name === "sda" },
];

test("skipProblem: accepted is what is listed and really in the way", () => {
  assert.equal(skipProblem("no disk sda", list(true)), undefined);
  assert.match(skipProblem("no disk sda", list(false)) ?? "", /obstacle is not there/);
  assert.match(skipProblem("no disk sdb", list(true)) ?? "", /obstacle is not there/);
  assert.match(skipProblem("not today", list(true)) ?? "", /does not list: not today/);
});

test("skipProblem: what can be built or installed is no reason to leave a test out", () => {
  const reasons = [
    "needs a kube-apiserver: node tools/go/control-plane.mjs",
    "needs a Go kubelet: node tools/go/build-programs.mjs kubelet, or GO_KUBELET",
    "needs kubectl from Debian",
    "no device plugin in Go can be built: Command failed",
    "needs containerd, runc on the PATH",
    "cannot get Debian's kernel: apt-get failed",
    "there is no CNI plugin for bandwidth",
  ];
  for (const reason of reasons) assert.match(skipProblem(reason) ?? "", /does not list/, reason);
});

test("skipProblem: root is no reason for root", () => {
  const problem = skipProblem("needs root: cgroups of the machine are made");
  assert.equal(problem === undefined, process.getuid?.() !== 0);
});

test("judgeSkips: a refused skip is a failure, an accepted one stays a skip", () => {
  const skips = ["no disk sda", "not today"].map((reason) => ({ name: reason, reason }));
  const failures = [{ name: "before", error: "…" }];
  const judged = judgeSkips({ path: "a.test.ts", passed: 3, skips, failures }, list(true));
  assert.deepEqual(judged.skips, [{ name: "no disk sda", reason: "no disk sda" }]);
  assert.deepEqual(
    judged.failures.map(({ name }) => name),
    ["before", "not today"],
  );
  assert.equal(judged.passed, 3);
});

test("runFile and judgeSkips: what a test file says is judged", async () => {
  const path = join(folder, "own.test.ts");
  writeFileSync(
    path,
    'import { test } from "node:test";\ntest("a", () => {});\ntest("b", { skip: "not today" }, () => {});\n',
  );
  const judged = judgeSkips(await runFile({ path, kind: "unit" }));
  assert.equal(judged.passed, 1);
  assert.deepEqual(judged.skips, []);
  assert.deepEqual(
    judged.failures.map(({ name }) => name),
    ["b"],
  );
});
