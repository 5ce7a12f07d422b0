// From ginkgo's report to the result that is kept, the progress on the way, and the logs of a failure.
import assert from "node:assert/strict";
import { test } from "node:test";
import { linesBetween } from "./failure-logs.ts";
import { NOTHING_YET, progressAfter, progressText } from "./progress.ts";
import {
  countedResult,
  keptResult,
  knownSpecs,
  mergedResult,
  outcomesOf,
  type RunFacts,
  type SuiteReport,
} from "./result.ts";

const FACTS: RunFacts = {
  group: "node",
  kubelet: "nodelet",
  version: "v1",
  suite: "s",
  runtime: "r",
  kernel: "k",
  cgroup: "v1",
  machine: "m",
  date: "2026-01-01",
  minutes: 1,
  procs: 2,
  whole: true,
};

function spec(text: string, State: string, message?: string, NumAttempts = 1) {
  return {
    LeafNodeType: "It",
    ContainerHierarchyTexts: ["[sig-node] A", "when b"],
    LeafNodeText: text,
    ContainerHierarchyLocations: null,
    LeafNodeLocation: {
      FileName: "k8s.io/kubernetes@v1.37.2/test/e2e/common/node/a.go",
      LineNumber: 7,
    },
    State,
    NumAttempts,
    StartTime: "2026-11-29T07:00:00Z",
    EndTime: "2026-11-29T07:00:05Z",
    RunTime: 5e9,
    ...(message === undefined ? {} : { Failure: { Message: message } }),
  };
}

const REPORT: SuiteReport = {
  StartTime: "",
  RunTime: 0,
  SpecReports: [
    spec("z passes", "passed"),
    spec("a passes", "passed"),
    spec("panics", "panicked", "boom"),
    spec(
      "is late",
      "timedout",
      `Pod: {\n  "metadata": {\n    "x": 1\n  }\n}\nlate   by\n far ${"x".repeat(300)}`,
    ),
    spec("does not suit", "skipped", "no such hardware"),
    spec("was under way", "interrupted", "Interrupted by User"),
    spec("is not selected", "skipped", undefined, 0),
    { ...spec("", "passed"), LeafNodeType: "SynchronizedBeforeSuite" },
  ],
};

test("a result has the specs that ran, by how they ended, with short messages", () => {
  const outcomes = outcomesOf(REPORT);
  assert.equal(outcomes.length, 5);
  assert.equal(outcomes[0]?.file, "test/e2e/common/node/a.go");
  const { passed, failed, leftOut } = keptResult(FACTS, outcomes);
  const name = (text: string) => `[sig-node] A when b ${text}`;
  assert.deepEqual(passed, [name("a passes"), name("z passes")]);
  assert.deepEqual(Object.keys(failed), [name("is late"), name("panics")]);
  assert.equal(failed[name("panics")], "boom");
  assert.match(failed[name("is late")] ?? "", /^late by far x+ …$/);
  assert.deepEqual(leftOut, { [name("does not suit")]: "no such hardware" });
});

test("a part that is run later takes the place of what it repeats", () => {
  const before = { ...keptResult(FACTS, []), passed: ["a", "c"], failed: { b: "old", d: "stays" } };
  const later = {
    ...keptResult(FACTS, []),
    passed: ["b"],
    failed: { c: "new" },
    leftOut: { e: "no" },
  };
  const { passed, failed, leftOut, again, minutes } = mergedResult(before, later);
  assert.deepEqual(
    { passed, failed, leftOut, again, minutes },
    {
      passed: ["a", "b"],
      failed: { c: "new", d: "stays" },
      leftOut: { e: "no" },
      again: ["b", "c"],
      minutes: 2,
    },
  );
});

test("a result of parts names every runtime and machine that had a part, once", () => {
  const partOn = (runtime: string, machine: string) =>
    keptResult({ ...FACTS, runtime, machine }, []);
  const first = partOn("containerd 2, runc 1", "1 CPUs, 8 GiB");
  const second = mergedResult(first, partOn("containerd 2, crun 1", "2 CPUs, 8 GiB"));
  const third = mergedResult(second, partOn("containerd 2, crun 1", "1 CPUs, 8 GiB"));
  for (const { runtime, machine } of [second, third])
    assert.deepEqual(
      [runtime, machine],
      ["containerd 2, runc 1, crun 1", "1 CPUs, 8 GiB or 2 CPUs, 8 GiB"],
    );
});

test("a group that runs several times keeps the last outcomes and how often each spec has failed", () => {
  const run = (passed: string[], failed: Record<string, string>) => ({
    ...keptResult(FACTS, []),
    passed,
    failed,
  });
  const first = run(["a", "b"], { c: "late", d: "always" });
  const second = countedResult(first, run(["a", "c"], { b: "once", d: "always" }));
  const third = countedResult(second, run(["a", "b", "c"], { d: "at last" }));
  assert.deepEqual([second.runs, second.failures], [2, { b: 1, c: 1, d: 2 }]);
  const { runs, failures, passed, failed } = third;
  assert.deepEqual(
    { runs, failures, passed, failed },
    {
      runs: 3,
      failures: { b: 1, c: 1, d: 3 },
      passed: ["a", "b", "c"],
      failed: { d: "at last" },
    },
  );
});

test("progress counts specs as they end and says when the run will", () => {
  const lines = [
    "Will run 10 of 1275 specs",
    "• [1.2 seconds]",
    "noise",
    "• [FAILED] [2 seconds]",
    "S [SKIPPED] [0.1 seconds]",
    "SSSS",
  ];
  const progress = lines.reduce(progressAfter, NOTHING_YET);
  assert.deepEqual(progress, { total: 10, done: 3, failed: 1 });
  const text = progressText(progress, 180, new Date(2026, 0, 1, 12, 0));
  assert.equal(text, "3 of 10 specs, 1 failed, 7 min left (until about 12:07)");
  assert.equal(progressText(NOTHING_YET, 5, new Date()), "0 of ? specs, 0 failed");
});

test("the log of a failure has what the node said meanwhile, with lines that have no time of their own", () => {
  const lines = [
    "I1129 06:59:59.999999 early",
    "I1129 07:00:00.100000 begins",
    "  continued",
    'time="2026-11-29T07:00:04Z" level=info msg=there',
    "W1129 07:00:06.000000 late",
    "  continued late",
  ];
  assert.deepEqual(
    linesBetween(lines, "2026-11-29T07:00:00Z", "2026-11-29T07:00:05Z"),
    lines.slice(1, 4),
  );
  const night = ["I1129 23:59:59.0 one", "I1130 00:00:01.0 two", "I1130 00:10:00.0 three"];
  assert.deepEqual(
    linesBetween(night, "2026-11-29T23:59:58Z", "2026-11-30T00:00:02Z"),
    night.slice(0, 2),
  );
});

test("the specs of a group are known from any whole result of it", () => {
  const resultOf = (names: readonly string[], facts: Partial<RunFacts> = {}) => ({
    ...keptResult({ ...FACTS, ...facts }, []),
    passed: names,
  });
  const whole = resultOf(["a", "b", "c"]);
  const part = resultOf(["a", "x"], { kubelet: "go", whole: false });
  const guest = resultOf(["b"], { cgroup: "v2", whole: false });
  const kept = [whole, part, guest, resultOf(["y"], { group: "node-serial" })];
  assert.deepEqual(knownSpecs(kept, "node", []), ["a", "b", "c"]);
  assert.deepEqual(knownSpecs(kept, "node", [guest]), ["a", "c"]);
  assert.deepEqual(knownSpecs(kept, "cluster", []), []);
});
