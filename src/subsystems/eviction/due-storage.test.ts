import assert from "node:assert/strict";
import { test } from "node:test";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";
import { DueStorage } from "./due-storage.ts";
import { candidateOf, type TestPod } from "./pods.vectors.ts";
import type { PodUsage } from "./usage.ts";

const MI = 2 ** 20;
const WALL_MS = 1_790_000_000_000;
const limits = (limit: string): NonNullable<TestPod["spec"]> => ({
  containers: [{ name: "c", resources: { limits: { "ephemeral-storage": limit } } }],
});
/** A layer of 4 MiB, logs of 1 MiB and a limit of 25 MiB: 20 MiB are left. */
const POD: TestPod = { name: "a", rootfsMi: 4, logsMi: 1, spec: limits("25Mi") };

/** Figures of a pod, each with its time; those that `without` names are missing. */
function timed(usage: PodUsage, atMs: WallMs, { layerAtMs = atMs, without = "" } = {}): PodUsage {
  const has = <T>(name: string, use: T) => (without === name ? {} : { [name]: use });
  return {
    ...usage,
    containers: usage.containers.map(({ name, rootfs, logs }) => ({
      name,
      ...has("rootfs", { ...rootfs, atMs: layerAtMs }),
      ...has("logs", { ...logs, atMs }),
    })),
    volumes:
      without === "volumes"
        ? []
        : usage.volumes.map((volume) => ({ ...volume, fs: { ...volume.fs, atMs } })),
  };
}

interface Round {
  readonly second: number;
  /** Available on devices 1, 2, …; undefined where it is not known. */
  readonly availableMi: readonly number[] | undefined;
  /** How the pod is measured where it is due. */
  readonly layerSecond?: number;
  readonly without?: string;
  readonly expected: "due" | "not due";
}

const round = (
  second: number,
  availableMi: Round["availableMi"],
  expected: Round["expected"],
  more: Pick<Round, "layerSecond" | "without"> = {},
): Round => ({ second, availableMi, expected, ...more });

const VECTORS: readonly (readonly [what: string, rounds: readonly Round[], pod?: TestPod])[] = [
  [
    "nothing changes: once a minute",
    [0, 10, 20, 30, 40, 50, 60, 70].map((second) =>
      round(second, [500], second % 60 === 0 ? "due" : "not due"),
    ),
  ],
  [
    "as much as half of the headroom was written since it was measured, in several rounds",
    [
      round(0, [500], "due"),
      round(10, [496], "not due"),
      round(20, [491], "not due"),
      round(30, [490], "due"),
      round(40, [481], "not due"),
    ],
  ],
  [
    "what was freed counts, too: it may hide what was written",
    [round(0, [500], "due"), round(10, [510], "due"), round(20, [510], "not due")],
  ],
  [
    "writing and freeing do not cancel each other out over several rounds",
    [round(0, [500], "due"), round(10, [494], "not due"), round(20, [500], "due")],
  ],
  [
    "changes of several file systems are added up",
    [round(0, [500, 90], "due"), round(10, [495, 86], "not due"), round(20, [494, 86], "due")],
  ],
  [
    "what is available is not known, or was not",
    [
      round(0, [500], "due"),
      round(10, undefined, "due"),
      round(20, [500], "due"),
      round(30, [500], "not due"),
    ],
  ],
  [
    "another file system than before",
    [round(0, [500], "due"), round(10, [500, 90], "due"), round(20, [500, 90], "not due")],
  ],
  [
    "nothing is available: what root writes into its reserve does not show",
    [round(0, [0], "due"), round(10, [0], "due"), round(20, [5], "due"), round(30, [5], "not due")],
  ],
  [
    "the runtime measured the layer before the round: what changed since then counts",
    [
      round(0, [500], "due", { layerSecond: -3 }),
      round(10, [485], "due", { layerSecond: 7 }),
      // 15 MiB were written between 0 s and 10 s, and the layer is from 7 s.
      round(20, [485], "due", { layerSecond: 17 }),
      round(30, [485], "not due"),
    ],
  ],
  [
    "a layer that the runtime has not measured",
    [
      round(0, [500], "due", { layerSecond: -WALL_MS / 1000 }),
      round(10, [500], "due", { without: "rootfs" }),
      round(20, [500], "due"),
      round(30, [500], "not due"),
    ],
  ],
  ["logs that were not measured", [0, 10].map((s) => round(s, [500], "due", { without: "logs" }))],
  [
    "an emptyDir that was not measured",
    [0, 10].map((s) => round(s, [500], "due", { without: "volumes" })),
    { name: "a", spec: { volumes: [{ name: "v", emptyDir: { sizeLimit: "9Mi" } }] } },
  ],
  [
    "the nearest limit counts: 2 MiB are left of the emptyDir, and its layer has none",
    [
      round(0, [500], "due", { without: "rootfs" }),
      round(10, [499.5], "not due"),
      round(20, [499], "due"),
    ],
    { name: "a", volumeMi: 7, spec: { volumes: [{ name: "v", emptyDir: { sizeLimit: "9Mi" } }] } },
  ],
  [
    "the limit of one container is nearer than that of the pod",
    [round(0, [500], "due"), round(10, [499], "due")],
    {
      name: "a",
      logsMi: 9,
      spec: {
        containers: ["c", "d"].map((name) => ({
          name,
          resources: { limits: { "ephemeral-storage": name === "c" ? "10Mi" : "90Mi" } },
        })),
      },
    },
  ],
  [
    "a pod at its limit",
    [0, 10, 20].map((second) => round(second, [500], "due")),
    { name: "a", rootfsMi: 25, spec: limits("25Mi") },
  ],
];

for (const [what, rounds, tested = POD] of VECTORS)
  test(`DueStorage: ${what}`, () => {
    const storage = new DueStorage();
    const { uid, pod, usage } = candidateOf(tested);
    assert.ok(usage);
    const found = rounds.map(({ second, availableMi, layerSecond = second, without = "" }) => {
      const [now, atMs] = [(second * 1000) as MonotonicMs, (WALL_MS + second * 1000) as WallMs];
      const available = availableMi?.map((mi, i) => [i + 1, mi * MI] as const);
      storage.begin(atMs, available && new Map(available));
      const due = storage.dueOf([{ uid, pod }], now);
      const layerAtMs = (WALL_MS + layerSecond * 1000) as WallMs;
      const usages = new Map([[uid as string, timed(usage, atMs, { layerAtMs, without })]]);
      storage.note(due, { usages, layout: "single", now });
      return due.length > 0 ? "due" : "not due";
    });
    assert.deepEqual(
      found,
      rounds.map(({ expected }) => expected),
    );
  });

test("DueStorage: a pod that was gone for a round is due when it is back", () => {
  const storage = new DueStorage();
  const { uid, pod, usage } = candidateOf(POD);
  const atMs = WALL_MS as WallMs;
  const dueIn = (second: number, there: boolean) => {
    const now = (second * 1000) as MonotonicMs;
    storage.begin(atMs, new Map([[1, 500 * MI]]));
    const due = storage.dueOf(there ? [{ uid, pod }] : [], now);
    assert.ok(usage);
    storage.note(due, { usages: new Map([[uid, timed(usage, atMs)]]), layout: "single", now });
    return due.length;
  };
  assert.deepEqual(
    [dueIn(0, true), dueIn(10, true), dueIn(20, false), dueIn(30, true)],
    [1, 0, 0, 1],
  );
});
