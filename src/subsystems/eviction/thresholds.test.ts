import assert from "node:assert/strict";
import { test } from "node:test";
import type { EvictionSignal } from "../../api/node/eviction-signals.ts";
import { DEFAULT_CONFIG } from "../../config/fields/defaults.ts";
import type { WallMs } from "../../kit/clock.ts";
import { amountText, observationsOf, type SignalObservations } from "./observations.ts";
import type { DiskLayout } from "./signals.ts";
import {
  evictionThresholds,
  type ThresholdConfig,
  thresholdKey,
  thresholdsFor,
  thresholdsMet,
  thresholdText,
} from "./thresholds.ts";

const MI = 2 ** 20;
const GI = 2 ** 30;
const NONE: ThresholdConfig = {
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  mergeDefaultEvictionSettings: false,
  enforceNodeAllocatable: [],
};

const keys = (config: Partial<ThresholdConfig>) =>
  evictionThresholds({ ...NONE, ...config }).map(thresholdKey);

const observed = (signal: EvictionSignal, available: number, capacity: number) =>
  new Map([[signal, { available, capacity, atMs: 0 as WallMs }]]) as SignalObservations;

test("the defaults, with memory once more for the group of all pods", () => {
  assert.deepEqual(evictionThresholds(DEFAULT_CONFIG).map(thresholdKey), [
    "memory.available<100Mi 0",
    "nodefs.available<0.1 0",
    "nodefs.inodesFree<0.05 0",
    "imagefs.available<0.15 0",
    "imagefs.inodesFree<0.05 0",
    "allocatableMemory.available<100Mi 0",
  ]);
});

for (const [what, config, expected] of [
  ["nothing", {}, []],
  ["0% and 100% switch off", { evictionHard: { "memory.available": "0%" } }, []],
  [
    "0% and 100% switch off, soft ones too",
    {
      evictionSoft: { "memory.available": "100%", "pid.available": "10" },
      evictionSoftGracePeriod: { "memory.available": "1s", "pid.available": "1m30s" },
    },
    ["pid.available<10 90000"],
  ],
  [
    "soft memory is not copied to the group of all pods",
    {
      evictionSoft: { "memory.available": "1Gi" },
      evictionSoftGracePeriod: { "memory.available": "30s" },
      enforceNodeAllocatable: ["pods"],
    },
    ["memory.available<1Gi 30000"],
  ],
  [
    "others than pods that are enforced do not count",
    { evictionHard: { "memory.available": "1Gi" }, enforceNodeAllocatable: ["kube-reserved"] },
    ["memory.available<1Gi 0"],
  ],
  [
    "the defaults of signals that are not named stay when they are to be merged",
    { evictionHard: { "memory.available": "1Gi" }, mergeDefaultEvictionSettings: true },
    [
      "memory.available<1Gi 0",
      "nodefs.available<0.1 0",
      "nodefs.inodesFree<0.05 0",
      "imagefs.available<0.15 0",
      "imagefs.inodesFree<0.05 0",
    ],
  ],
] as const)
  test(`evictionThresholds: ${what}`, () => assert.deepEqual(keys(config), expected));

for (const [layout, source] of [
  ["single", "nodefs"],
  ["split", "nodefs"],
  ["dedicated", "imagefs"],
] as const satisfies readonly (readonly [DiskLayout, string])[])
  test(`thresholdsFor: writable layers have those of ${source} where disks are ${layout}`, () => {
    const set = evictionThresholds({
      ...NONE,
      evictionHard: {
        "nodefs.available": "10%",
        "imagefs.available": "15%",
        "imagefs.inodesFree": "5%",
        "containerfs.available": "99%",
      },
    });
    const found = thresholdsFor(set, layout)
      .map(thresholdKey)
      .filter((key) => key.startsWith("containerfs"));
    assert.deepEqual(
      found,
      source === "nodefs"
        ? ["containerfs.available<0.1 0"]
        : ["containerfs.available<0.15 0", "containerfs.inodesFree<0.05 0"],
    );
  });

for (const [text, reclaim, available, capacity, isMet, isUnresolved] of [
  ["100Mi", undefined, 100 * MI, GI, false, false],
  ["100Mi", undefined, 100 * MI - 1, GI, true, true],
  ["10%", undefined, 102, 1024, false, false],
  ["10%", undefined, 101, 1024, true, true],
  ["1Gi", "500Mi", 1.4 * GI, 4 * GI, false, true],
  ["1Gi", "500Mi", 1.5 * GI, 4 * GI, false, false],
  ["1Gi", "0", GI, 4 * GI, false, false],
  ["10%", "5%", 14, 100, false, true],
  ["10%", "5%", 15, 100, false, false],
] as const)
  test(`${text} with ${reclaim ?? "nothing"} to reclaim of ${capacity}, ${available} left`, () => {
    const signal = "nodefs.available";
    const thresholds = evictionThresholds({
      ...NONE,
      evictionHard: { [signal]: text },
      evictionMinimumReclaim: reclaim === undefined ? {} : { [signal]: reclaim },
    });
    const now = observed(signal, available, capacity);
    assert.equal(thresholdsMet(thresholds, now).length === 1, isMet);
    assert.equal(thresholdsMet(thresholds, now, true).length === 1, isUnresolved);
  });

test("a threshold whose signal could not be measured is not met", () => {
  const thresholds = evictionThresholds({ ...NONE, evictionHard: { "pid.available": "10" } });
  assert.deepEqual(thresholdsMet(thresholds, new Map()), []);
});

test("amounts are written as the Go kubelet does", () => {
  const [hard, share] = evictionThresholds({
    ...NONE,
    evictionHard: { "memory.available": "1500M", "nodefs.inodesFree": "50%" },
  });
  assert.ok(hard && share);
  const of = { available: 0, capacity: 4096, atMs: 0 as WallMs };
  assert.equal(thresholdText(hard, of), "1500M");
  assert.equal(thresholdText(share, of), "2Ki");
  assert.equal(amountText("memory.available", 50 * MI), "50Mi");
  assert.equal(amountText("nodefs.inodesFree", 123_000), "123k");
  assert.equal(amountText("pid.available", 1024), "1024");
});

test("observationsOf: huge pages are neither available nor a part of what a percentage is of", () => {
  const observed = (hugepageBytes: number, workingSetBytes: number) => {
    const memory = { limitBytes: 8 * GI, workingSetBytes, hugepageBytes };
    const found = observationsOf({ atMs: 7 as WallMs, memory }).get("memory.available");
    return [found?.available, found?.capacity];
  };
  assert.deepEqual(observed(GI, GI), [6 * GI, 7 * GI]);
  assert.deepEqual(observed(0, GI), [7 * GI, 8 * GI]);
  assert.deepEqual(observed(7 * GI, 2 * GI), [0, GI]);
  assert.deepEqual(observed(9 * GI, GI), [0, 0]);
});

test("observationsOf: what is left of limits, disks and processes; what is missing stays so", () => {
  const atMs = 7 as WallMs;
  const disk = { capacityBytes: 100, availableBytes: 40, inodes: 10, inodesFree: 3 };
  const found = observationsOf({
    atMs,
    memory: { limitBytes: GI, workingSetBytes: 100 },
    podsMemory: { limitBytes: 10, workingSetBytes: 20 },
    nodefs: disk,
    imagefs: { ...disk, inodes: 0, inodesFree: 0 },
    pids: { max: 100, used: 30 },
  });
  assert.deepEqual(
    [...found].map(([signal, { available, capacity }]) => [signal, available, capacity]),
    [
      ["memory.available", GI - 100, GI],
      ["allocatableMemory.available", 0, 10],
      ["nodefs.available", 40, 100],
      ["nodefs.inodesFree", 3, 10],
      ["imagefs.available", 40, 100],
      ["pid.available", 70, 100],
    ],
  );
  assert.equal(found.get("pid.available")?.atMs, atMs);
});
