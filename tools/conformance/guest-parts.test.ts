import assert from "node:assert/strict";
import { test } from "node:test";
import { knownSpecs, partsOf } from "./guest-parts.ts";
import { keptResult, type RunFacts, type SpecOutcome } from "./results/result.ts";

const FACTS: RunFacts = {
  group: "node",
  kubelet: "nodelet",
  version: "v1",
  suite: "Kubernetes v1",
  runtime: "containerd",
  kernel: "6",
  cgroup: "v1",
  machine: "2 CPUs",
  date: "2026-01-01",
  minutes: 1,
  procs: 1,
  whole: true,
};
const passed = (name: string): SpecOutcome => ({
  name,
  file: "f.go",
  outcome: "passed",
  message: "",
  began: "",
  ended: "",
  seconds: 1,
  output: "",
});
const resultOf = (names: readonly string[], facts: Partial<RunFacts> = {}) =>
  keptResult({ ...FACTS, ...facts }, names.map(passed));

test("parts have every name once, are of about one size, and each has some of every family", () => {
  const families = ["Pods", "Probing", "Secrets"];
  const names = families.flatMap((family) =>
    Array.from({ length: 40 }, (_, n) => `${family} ${n}`),
  );
  const parts = partsOf(names, 36);
  assert.deepEqual(parts.flat().sort(), names.toSorted());
  assert.equal(parts.length, 4);
  for (const part of parts) {
    assert.equal(part.length, 30);
    for (const family of families)
      assert.equal(part.filter((name) => name.startsWith(family)).length, 10, family);
  }
  assert.deepEqual(partsOf([], 36), []);
});

test("the specs of a container are in one part", () => {
  const lifecycle = "Lifecycle when using an init container with restartPolicy=Always";
  const ordered = [
    `${lifecycle} when it runs continuously should start`,
    `${lifecycle} when it runs continuously should start a regular container`,
    `${lifecycle} when its image is bad should keep the pod Pending`,
  ];
  const others = Array.from({ length: 27 }, (_, n) => `PLR resizing ${n}`);
  const parts = partsOf([...others, ...ordered], 10);
  assert.equal(parts.filter((part) => part.some((name) => ordered.includes(name))).length, 1);
  assert.deepEqual(parts.map(({ length }) => length).toSorted(), [10, 10, 10]);
});

test("the specs of a group are known from any whole result of it", () => {
  const whole = resultOf(["a", "b", "c"]);
  const part = resultOf(["a", "x"], { kubelet: "go", whole: false });
  const guest = resultOf(["b"], { cgroup: "v2", whole: false });
  const kept = [whole, part, guest, resultOf(["y"], { group: "node-serial" })];
  assert.deepEqual(knownSpecs(kept, "node", []), ["a", "b", "c"]);
  assert.deepEqual(knownSpecs(kept, "node", [guest]), ["a", "c"]);
  assert.deepEqual(knownSpecs(kept, "cluster", []), []);
});
