import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EvictionSignal } from "../../api/node/eviction-signals.ts";
import { candidateOf, type TestPod } from "./pods.vectors.ts";
import { firstEvictable, rankPods, remedyFor } from "./rank.ts";
import type { DiskLayout } from "./signals.ts";

const order = (
  signal: EvictionSignal,
  pods: readonly TestPod[],
  layout: DiskLayout = "single",
): string =>
  rankPods(signal, pods.map(candidateOf), layout)
    .map(({ name }) => name.replace("default/", ""))
    .join(" ");

const VECTORS: readonly (readonly [
  what: string,
  signal: EvictionSignal,
  pods: readonly TestPod[],
  expected: string,
  layout?: DiskLayout,
])[] = [
  [
    "pods that exceed their request before those within",
    "memory.available",
    [
      { name: "within", requestMi: 500, memoryMi: 400 },
      { name: "beyond", requestMi: 10, memoryMi: 20 },
    ],
    "beyond within",
  ],
  [
    "a pod without requests exceeds them as soon as it uses anything",
    "memory.available",
    [
      { name: "burstable", requestMi: 100, memoryMi: 100 },
      { name: "besteffort", memoryMi: 1 },
    ],
    "besteffort burstable",
  ],
  [
    "the lower priority before the larger excess",
    "memory.available",
    [
      { name: "high", priority: 10, memoryMi: 900 },
      { name: "low", priority: 5, memoryMi: 1 },
      { name: "none", memoryMi: 2 },
    ],
    "none low high",
  ],
  [
    "a request that is exceeded before a lower priority",
    "memory.available",
    [
      { name: "low", priority: -5, requestMi: 100, memoryMi: 99 },
      { name: "high", priority: 100, requestMi: 100, memoryMi: 101 },
    ],
    "high low",
  ],
  [
    "the larger excess first",
    "memory.available",
    [
      { name: "a", requestMi: 100, memoryMi: 200 },
      { name: "b", requestMi: 300, memoryMi: 450 },
      { name: "c", memoryMi: 120 },
    ],
    "b c a",
  ],
  [
    "within their requests: who is closest below its request",
    "memory.available",
    [
      { name: "a", requestMi: 100, memoryMi: 10 },
      { name: "b", requestMi: 100, memoryMi: 90 },
    ],
    "b a",
  ],
  [
    "a usage that equals the request does not exceed it",
    "memory.available",
    [
      { name: "equal", priority: 0, requestMi: 100, memoryMi: 100 },
      { name: "beyond", priority: 9, requestMi: 1, memoryMi: 2 },
    ],
    "beyond equal",
  ],
  [
    "pods that were not measured first",
    "allocatableMemory.available",
    [
      { name: "hog", memoryMi: 900 },
      { name: "unknown", requestMi: 900, unmeasured: true },
    ],
    "unknown hog",
  ],
  [
    "pods that are equal go by name",
    "memory.available",
    [
      { name: "b", memoryMi: 5 },
      { name: "a", memoryMi: 5 },
    ],
    "a b",
  ],
  [
    "processes: priority, then how many; requests do not count",
    "pid.available",
    [
      { name: "few", tasks: 2, memoryMi: 900 },
      { name: "bomb", tasks: 900, requestMi: 900 },
      { name: "high", priority: 1, tasks: 9_000 },
    ],
    "bomb few high",
  ],
  [
    "processes: a pod that was not measured comes first among its priority",
    "pid.available",
    [
      { name: "bomb", tasks: 900 },
      { name: "unknown", unmeasured: true },
      { name: "low", priority: -1, tasks: 1 },
    ],
    "low unknown bomb",
  ],
  [
    "one file system: layers, logs and volumes count together",
    "nodefs.available",
    [
      { name: "logs", logsMi: 30 },
      { name: "all", rootfsMi: 11, logsMi: 11, volumeMi: 11 },
      { name: "within", storageRequestMi: 100, volumeMi: 99 },
    ],
    "all logs within",
  ],
  [
    "images apart: logs and volumes are on the node's",
    "nodefs.available",
    [
      { name: "layer", rootfsMi: 900, logsMi: 1 },
      { name: "volume", volumeMi: 2 },
    ],
    "volume layer",
    "dedicated",
  ],
  [
    "images apart: layers are with them",
    "imagefs.available",
    [
      { name: "layer", rootfsMi: 3 },
      { name: "volume", volumeMi: 900 },
    ],
    "layer volume",
    "dedicated",
  ],
  [
    "images alone apart: layers are on the node's",
    "containerfs.available",
    [
      { name: "volume", volumeMi: 2 },
      { name: "layer", rootfsMi: 900 },
    ],
    "layer volume",
    "split",
  ],
  [
    "images alone apart: no pod uses anything there",
    "imagefs.available",
    [
      { name: "b", rootfsMi: 900, priority: 1 },
      { name: "a", volumeMi: 900, priority: 0 },
    ],
    "a b",
    "split",
  ],
  [
    "inodes: every pod exceeds what cannot be requested; requests of bytes do not count",
    "nodefs.inodesFree",
    [
      { name: "few", inodes: 10 },
      { name: "many", inodes: 1000, storageRequestMi: 900 },
    ],
    "many few",
  ],
];

for (const [what, signal, pods, expected, layout] of VECTORS)
  test(`${signal}: ${what}`, () => assert.equal(order(signal, pods, layout), expected));

test("critical pods, and those that do not end, are passed over", () => {
  const first = (pods: readonly TestPod[]) =>
    firstEvictable(rankPods("memory.available", pods.map(candidateOf), "single"))?.name;
  const hog = { memoryMi: 900 };
  assert.equal(
    first([
      { name: "static", ...hog, isStatic: true },
      { name: "critical", ...hog, priority: 2_000_000_000 },
      { name: "stuck", ...hog, ending: "overdue" },
      { name: "small", memoryMi: 1, requestMi: 5, priority: 1_999_999_999 },
    ]),
    "default/small",
  );
  assert.equal(first([{ name: "static", ...hog, isStatic: true }]), undefined);
});

for (const [what, pods, expected] of [
  [
    "a request saves a pod whose neighbour exceeds its own",
    [
      { name: "a", memoryMi: 90 },
      { name: "b", requestMi: 10, memoryMi: 20 },
    ],
    { request: 90 * 2 ** 20, priority: 1 },
  ],
  [
    "a higher priority does not save a pod that alone exceeds its request",
    [
      { name: "a", memoryMi: 90 },
      { name: "b", requestMi: 30, memoryMi: 20, priority: 5 },
    ],
    {},
  ],
  ["nothing saves the only pod", [{ name: "a", memoryMi: 90 }], {}],
  [
    "a pod that was not measured was not saved by anything",
    [
      { name: "a", unmeasured: true },
      { name: "b", requestMi: 10, memoryMi: 20 },
    ],
    {},
  ],
] as const satisfies readonly (readonly [string, readonly TestPod[], object])[])
  test(`remedyFor: ${what}`, () => {
    const ranking = rankPods("memory.available", pods.map(candidateOf), "single");
    const victim = firstEvictable(ranking);
    assert.ok(victim);
    assert.deepEqual(remedyFor("memory.available", ranking, victim), expected);
  });

const SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "pid.available",
] as const;
const small = fc.integer({ min: 0, max: 3 });
const anyPods = fc
  .array(
    fc.record({
      priority: small,
      requestMi: small,
      storageRequestMi: small,
      memoryMi: small,
      rootfsMi: small,
      inodes: small,
      tasks: small,
      unmeasured: fc.boolean(),
    }),
    { maxLength: 12 },
  )
  .map((pods) =>
    pods.map(({ unmeasured, ...pod }, at): TestPod => {
      const name = `p${at}`;
      return unmeasured ? { ...pod, name, unmeasured: true } : { ...pod, name };
    }),
  );

test("the order is total and does not depend on the order in which pods are found", () => {
  fc.assert(
    fc.property(
      anyPods,
      fc.constantFrom(...SIGNALS),
      fc.infiniteStream(fc.nat()),
      (pods, signal, keys) => {
        const shuffled = pods
          .map((pod) => ({ pod, key: keys.next().value ?? 0 }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ pod }) => pod);
        assert.equal(order(signal, shuffled), order(signal, pods));
        assert.equal(order(signal, pods).split(" ").filter(Boolean).length, pods.length);
      },
    ),
  );
});
