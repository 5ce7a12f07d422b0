import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { hasLocalLimits, localExcesses } from "./local-limits.ts";
import { candidateOf, type TestPod } from "./pods.vectors.ts";
import type { DiskLayout } from "./signals.ts";

type Spec = Partial<NonNullable<Pod["spec"]>>;

const limited = (limit: string): Spec => ({
  containers: [{ name: "c", resources: { limits: { "ephemeral-storage": limit } } }],
});
const withVolume = (sizeLimit: string, medium?: string): Spec => ({
  volumes: [{ name: "v", emptyDir: { sizeLimit, ...(medium ? { medium } : {}) } }],
});

const VECTORS: readonly (readonly [
  what: string,
  pod: Omit<TestPod, "name">,
  message: string | undefined,
  layout?: DiskLayout,
])[] = [
  [
    "an emptyDir beyond its limit",
    { volumeMi: 40, spec: withVolume("5Mi") },
    'Usage of EmptyDir volume "v" exceeds the limit "5Mi". ',
  ],
  [
    "an emptyDir that is as large as its limit",
    { volumeMi: 5, spec: withVolume("5Mi") },
    undefined,
  ],
  ["an emptyDir with a limit of 0 has none", { volumeMi: 5, spec: withVolume("0") }, undefined],
  [
    "an emptyDir in memory is held to its size by the kernel",
    { volumeMi: 40, spec: withVolume("5Mi", "Memory") },
    undefined,
  ],
  [
    "the layer of the only container",
    { rootfsMi: 50, spec: limited("20Mi") },
    "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ",
  ],
  [
    "logs and volumes of the pod",
    { logsMi: 11, volumeMi: 10, spec: limited("20Mi") },
    "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ",
  ],
  [
    "what the container wrote to its /etc/hosts (CVE-2020-8557)",
    { managedMi: 21, spec: limited("20Mi") },
    "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ",
  ],
  [
    "a sum is written with decimal suffixes where its parts are",
    { rootfsMi: 50, spec: limited("20M") },
    "Pod ephemeral local storage usage exceeds the total limit of containers 20M. ",
  ],
  ["as much as the limit", { rootfsMi: 20, spec: limited("20Mi") }, undefined],
  [
    "one container within the sum of the pod",
    {
      rootfsMi: 30,
      spec: {
        containers: [
          { name: "c", resources: { limits: { "ephemeral-storage": "20Mi" } } },
          { name: "d", resources: { limits: { "ephemeral-storage": "500Mi" } } },
        ],
      },
    },
    'Container c exceeded its local ephemeral storage limit "20Mi". ',
  ],
  [
    "layers on a file system of their own count for the pod, not for the container",
    {
      rootfsMi: 30,
      spec: {
        containers: [
          { name: "c", resources: { limits: { "ephemeral-storage": "20Mi" } } },
          { name: "d", resources: { limits: { "ephemeral-storage": "500Mi" } } },
        ],
      },
    },
    undefined,
    "dedicated",
  ],
  [
    "a sidecar within the sum of the pod",
    {
      rootfsMi: 30,
      spec: {
        initContainers: [
          {
            name: "c",
            restartPolicy: "Always",
            resources: { limits: { "ephemeral-storage": "20Mi" } },
          },
        ],
        containers: [{ name: "d", resources: { limits: { "ephemeral-storage": "500Mi" } } }],
      },
    },
    'Container c exceeded its local ephemeral storage limit "20Mi". ',
  ],
  [
    "an init container that ends, within the sum of the pod",
    {
      rootfsMi: 30,
      spec: {
        initContainers: [{ name: "c", resources: { limits: { "ephemeral-storage": "20Mi" } } }],
        containers: [{ name: "d", resources: { limits: { "ephemeral-storage": "500Mi" } } }],
      },
    },
    undefined,
  ],
  ["no limits", { rootfsMi: 900, volumeMi: 900 }, undefined],
  ["nothing measured", { unmeasured: true, spec: limited("1Mi") }, undefined],
  ["a pod that ends", { rootfsMi: 50, spec: limited("20Mi"), ending: "deleted" }, undefined],
  ["a static pod", { rootfsMi: 50, spec: limited("20Mi"), isStatic: true }, undefined],
];

for (const [what, pod, message, layout = "single"] of VECTORS)
  test(`localExcesses: ${what}`, () => {
    const found = localExcesses([candidateOf({ name: "p", ...pod })], layout);
    assert.deepEqual(
      found.map((excess) => excess.message),
      message === undefined ? [] : [message],
    );
  });

test("every pod that exceeds a limit is found, each with its first one", () => {
  const spec = { ...limited("20Mi"), ...withVolume("5Mi") };
  const pods = [
    { name: "a", volumeMi: 40, rootfsMi: 40, spec },
    { name: "b", volumeMi: 1, spec },
    { name: "c", rootfsMi: 40, spec },
  ].map(candidateOf);
  assert.deepEqual(
    localExcesses(pods, "single").map(({ candidate, limit }) => [candidate.uid, limit]),
    [
      ["uid-a", "emptydirfs.limit"],
      ["uid-c", "ephemeralpodfs.limit"],
    ],
  );
});

test("hasLocalLimits: limits of containers and of volumes on disk", () => {
  const asked = (spec: Spec) => hasLocalLimits(candidateOf({ name: "p", spec }).pod);
  assert.equal(asked(limited("1Mi")), true);
  assert.equal(asked(withVolume("1Mi")), true);
  assert.equal(asked(withVolume("1Mi", "Memory")), false);
  assert.equal(asked({ volumes: [{ name: "v", emptyDir: {} }] }), false);
  assert.equal(asked({}), false);
});
