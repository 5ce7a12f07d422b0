import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec, RuntimeClass } from "../../api/generated/types.ts";
import { admitRuntimeClass } from "./admit-runtime-class.ts";

const SPEC: PodSpec = { containers: [], runtimeClassName: "vm" };
const CLASS: RuntimeClass = {
  metadata: { name: "vm" },
  handler: "kata",
  overhead: { podFixed: { cpu: "250m", memory: "128Mi" } },
  scheduling: {
    nodeSelector: { vm: "yes" },
    tolerations: [{ key: "vm", operator: "Exists", effect: "NoSchedule" }],
  },
};

test("admitRuntimeClass adds overhead, node selector and tolerations", () => {
  const own = { key: "own", operator: "Exists" };
  const found = admitRuntimeClass(
    { ...SPEC, nodeSelector: { disk: "ssd" }, tolerations: [own] },
    CLASS,
  );
  assert.deepEqual(found, {
    kind: "adds",
    spec: {
      overhead: { cpu: "250m", memory: "128Mi" },
      nodeSelector: { disk: "ssd", vm: "yes" },
      tolerations: [own, CLASS.scheduling?.tolerations?.[0]],
    },
  });
});

test("admitRuntimeClass keeps of two tolerations the one that covers the other", () => {
  const narrow = { key: "vm", operator: "Equal", value: "x", effect: "NoSchedule" };
  const all = { operator: "Exists" };
  const tolerationsOf = (tolerations: PodSpec["tolerations"] & object) => {
    const found = admitRuntimeClass({ ...SPEC, tolerations }, CLASS);
    return found.kind === "adds" ? found.spec.tolerations : found;
  };
  assert.deepEqual(tolerationsOf([narrow]), CLASS.scheduling?.tolerations);
  assert.deepEqual(tolerationsOf([all]), [all]);
});

const REFUSED: readonly (readonly [string, Partial<PodSpec>, RuntimeClass | undefined, string])[] =
  [
    [
      "another overhead",
      { overhead: { cpu: "1" } },
      CLASS,
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      "overhead without a class",
      { overhead: { cpu: "1" } },
      undefined,
      "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ],
    [
      "a selector for another node",
      { nodeSelector: { vm: "no" } },
      CLASS,
      "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no",
    ],
  ];

for (const [name, more, found, why] of REFUSED)
  test(`admitRuntimeClass refuses ${name}`, () => {
    assert.deepEqual(admitRuntimeClass({ ...SPEC, ...more }, found), { kind: "refused", why });
  });

test("admitRuntimeClass takes the same overhead in other words", () => {
  const overhead = { cpu: "0.25", memory: "131072Ki" };
  assert.equal(admitRuntimeClass({ ...SPEC, overhead }, CLASS).kind, "adds");
});
