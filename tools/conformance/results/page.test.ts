// docs/conformance.md is what the result files say, and README's number is from there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { keptResults, knownReasons, pageOfKept } from "./kept.ts";
import { conformancePage, settle } from "./page.ts";
import { type KeptResult, ranIn } from "./result.ts";

const ROOT = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

test("docs/conformance.md is written from the results that are kept", () => {
  assert.equal(read("docs/conformance.md"), pageOfKept(), "npm run conformance -- --page");
});

test("every spec that does not pass has a reason", () => {
  const open = pageOfKept().match(/^- .*not settled yet.*$/gm) ?? [];
  assert.deepEqual(open, [], "run it with --kubelet go --keep, or name why in reasons.json");
});

test("a result that is kept is whole: no spec twice, facts of where it ran", () => {
  const results = keptResults();
  assert.ok(results.length > 0);
  for (const result of results) {
    const { group, kubelet, version, date } = result;
    const names = ranIn(result);
    assert.ok(names.length > 0 && version !== "", `${group} ${kubelet}`);
    assert.match(date, /^\d{4}-\d\d-\d\d$/);
    const twice = names.filter((name, index) => names.indexOf(name) !== index);
    assert.deepEqual(twice, [], `${group} ${kubelet}`);
  }
});

test("README says how many specs of the parallel group pass, and whose the others are", () => {
  const ours = keptResults().find(
    ({ group, kubelet, cgroup }) => group === "node" && kubelet === "nodelet" && cgroup === "v1",
  );
  const theirs = keptResults().find(
    ({ group, kubelet, cgroup }) => group === "node" && kubelet === "go" && cgroup === "v1",
  );
  assert.ok(ours?.whole && theirs);
  const others = settle(ours, { theirs }, knownReasons());
  const lab = others.filter(({ reason }) => reason === "the lab").length;
  const sentence = `${ours.passed.length} of ${ranIn(ours).length} specs pass; of the others, ${lab} do not pass with the Go kubelet`;
  assert.ok(read("README.md").replaceAll("\n", " ").includes(sentence), sentence);
});

test("README says how many specs of the parallel group pass on cgroup v2", () => {
  const guest = keptResults().find(
    ({ group, kubelet, cgroup }) => group === "node" && kubelet === "nodelet" && cgroup === "v2",
  );
  assert.ok(guest?.whole);
  const sentence = `On cgroup v2, in an emulated machine, ${guest.passed.length} of ${ranIn(guest).length} pass`;
  assert.ok(read("README.md").replaceAll("\n", " ").includes(sentence), sentence);
});

test("README says that every spec of the cluster suite's Conformance passes", () => {
  const groups = keptResults().filter(
    ({ group, kubelet }) => group.startsWith("cluster") && kubelet === "nodelet",
  );
  assert.deepEqual(groups.map(({ group, whole }) => [group, whole]).toSorted(), [
    ["cluster", true],
    ["cluster-serial", true],
  ]);
  const passed = groups.flatMap((result) => result.passed).length;
  assert.equal(passed, groups.flatMap(ranIn).length);
  const sentence = `All ${passed} specs of Kubernetes' Conformance suite pass`;
  assert.ok(read("README.md").replaceAll("\n", " ").includes(sentence), sentence);
});

test("a reason that is known names a spec that fails and a place that exists", () => {
  const failed = keptResults()
    .filter(({ kubelet }) => kubelet === "nodelet")
    .flatMap((result) => Object.keys({ ...result.failed, ...result.leftOut }));
  for (const { begins, link } of knownReasons()) {
    assert.ok(
      failed.some((name) => name.startsWith(begins)),
      begins,
    );
    assert.ok(read(`docs/${link.replace(/#.*/, "")}`).length > 0, link);
  }
});

test("the page names what failed in some of several runs, not what failed in all", () => {
  const result: KeptResult = {
    ...(keptResults()[0] as KeptResult),
    group: "node",
    kubelet: "nodelet",
    whole: true,
    passed: ["once", "never"],
    failed: { always: "m" },
    leftOut: {},
    runs: 5,
    failures: { once: 1, always: 5 },
  };
  const page = conformancePage([result], []);
  assert.match(page, /### Failed in some of 5 runs with nodelet \(1\)\n\n- once: 1 of 5\n\n/);
  assert.match(
    conformancePage([{ ...result, failures: { always: 5 } }], []),
    /\(0\)\n\nEvery spec ended in the same way each time\.\n/,
  );
  const { runs: _, failures: __, ...single } = result;
  assert.doesNotMatch(conformancePage([single], []), /Failed in some/);
});

test("the lab is the reason only where the Go kubelet does not pass either", () => {
  const facts = { group: "node", kubelet: "nodelet" } as KeptResult;
  const ours = { ...facts, passed: [], failed: { a: "m", b: "m", c: "m" }, leftOut: { d: "n" } };
  const theirs = { ...facts, passed: ["b", "c"], failed: { a: "m" }, leftOut: { d: "n" } };
  const known = [{ begins: "b", reason: "chosen", why: "So it is.", link: "PARITY.md" }] as const;
  const reasons = settle(ours, { theirs }, known).map(({ name, reason }) => [name, reason]);
  assert.deepEqual(reasons, [
    ["a", "the lab"],
    ["b", "chosen"],
    ["c", "open"],
    ["d", "the lab"],
  ]);
  assert.equal(
    settle(ours, {}, []).every(({ reason }) => reason === "open"),
    true,
  );
});

test("what leaves itself out here and passes in another place is settled, what fails is not", () => {
  const facts = { group: "node", kubelet: "nodelet" } as KeptResult;
  const failed = { a: "m", b: "m" };
  const ours = { ...facts, cgroup: "v1", passed: [], failed, leftOut: { c: "n", d: "n" } };
  const guest = { ...ours, cgroup: "v2", passed: ["a", "b", "c"], failed: {}, leftOut: {} };
  const theirs = { ...ours, kubelet: "go", failed: { b: "m" }, leftOut: {} };
  const beside = { theirs, elsewhere: [ours, guest] };
  assert.deepEqual(
    settle(ours, beside, []).map(({ name, reason, passesOn }) => [name, reason, passesOn]),
    [
      ["a", "open", undefined],
      ["b", "the lab", "v2"],
      ["c", "the lab", "v2"],
      ["d", "open", undefined],
    ],
  );
});
