import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { mayComeUnder, pressureText } from "./node-pressure.ts";

type Spec = Partial<NonNullable<Pod["spec"]>>;

const pod = (spec: Spec, annotations: Readonly<Record<string, string>> = {}): Pod => ({
  metadata: { name: "p", annotations },
  spec: { containers: [{ name: "c" }], ...spec },
});
const burstable = pod({
  containers: [{ name: "c", resources: { requests: { memory: "1Mi" } } }],
});
const toleration = (key: string): Spec => ({
  tolerations: [{ key, operator: "Exists", effect: "NoSchedule" }],
});
const MEMORY = "node.kubernetes.io/memory-pressure";

for (const [what, conditions, candidate, expected] of [
  ["no pressure", [], pod({}), true],
  ["memory: BestEffort", ["MemoryPressure"], pod({}), false],
  ["memory: Burstable", ["MemoryPressure"], burstable, true],
  ["memory: BestEffort that tolerates it", ["MemoryPressure"], pod(toleration(MEMORY)), true],
  [
    "memory: BestEffort that tolerates another one",
    ["MemoryPressure"],
    pod(toleration("node.kubernetes.io/disk-pressure")),
    false,
  ],
  ["disk: any class", ["DiskPressure"], burstable, false],
  [
    "disk: tolerations do not count",
    ["DiskPressure"],
    pod(toleration("node.kubernetes.io/disk-pressure")),
    false,
  ],
  ["processes: any class", ["PIDPressure"], burstable, false],
  ["memory and disk: any class", ["MemoryPressure", "DiskPressure"], burstable, false],
  ["disk: a critical pod", ["DiskPressure"], pod({ priority: 2_000_000_000 }), true],
  [
    "disk: a static pod",
    ["DiskPressure"],
    pod({}, { "kubernetes.io/config.source": "file" }),
    true,
  ],
  [
    "memory: a mirror pod",
    ["MemoryPressure"],
    pod({}, { "kubernetes.io/config.mirror": "x" }),
    true,
  ],
] as const)
  test(`mayComeUnder: ${what}`, () => assert.equal(mayComeUnder(conditions, candidate), expected));

test("pressureText lists the conditions as the Go kubelet does", () => {
  assert.equal(pressureText(["DiskPressure"]), "The node had condition: [DiskPressure]. ");
  assert.equal(
    pressureText(["MemoryPressure", "DiskPressure"]),
    "The node had condition: [MemoryPressure DiskPressure]. ",
  );
});
