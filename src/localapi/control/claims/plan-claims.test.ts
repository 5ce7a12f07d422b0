import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from "../../../api/generated/types.ts";
import type { Stored } from "../../api-object.ts";
import {
  type ClaimsView,
  claimObstacle,
  newVolume,
  PROVISIONER,
  planClaims,
} from "./plan-claims.ts";

const LOCAL: Stored<StorageClass> = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "local", uid: "s1" },
  provisioner: PROVISIONER,
  volumeBindingMode: "WaitForFirstConsumer",
};
const IMMEDIATE: Stored<StorageClass> = {
  ...LOCAL,
  metadata: { name: "now", uid: "s2" },
  volumeBindingMode: "Immediate",
};
const OTHER: Stored<StorageClass> = {
  ...LOCAL,
  metadata: { name: "cloud", uid: "s3" },
  provisioner: "cloud.test",
};

const claim = (
  spec: PersistentVolumeClaim["spec"] = {},
  more: Partial<Stored<PersistentVolumeClaim>> = {},
): Stored<PersistentVolumeClaim> => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: {
    name: "data",
    namespace: "default",
    uid: "u1",
    finalizers: ["kubernetes.io/pvc-protection"],
  },
  spec: {
    storageClassName: "local",
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    ...spec,
  },
  status: { phase: "Pending" },
  ...more,
});

const volume = (name: string, spec: PersistentVolume["spec"] = {}): Stored<PersistentVolume> => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name, uid: `uid-${name}` },
  spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], ...spec },
  status: { phase: "Available" },
});

const user = (phase = "Pending"): Stored<Pod> => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default", uid: "p1" },
  spec: {
    containers: [],
    volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }],
  },
  status: { phase },
});

const NEW = newVolume(claim(), LOCAL, { path: "/v/pvc-u1", hostname: "n1" });
const MADE: Stored<PersistentVolume> = { ...NEW, metadata: { ...NEW.metadata, uid: "v1" } };
const GOING = {
  ...claim(),
  metadata: { ...claim().metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
};
const boundTo = (name: string) => claim({ volumeName: name }, { status: { phase: "Bound" } });

const deleted = (volume: Stored<PersistentVolume>): Stored<PersistentVolume> => ({
  ...volume,
  metadata: {
    ...volume.metadata,
    deletionTimestamp: "2026-01-01T00:00:00Z",
    finalizers: ["kubernetes.io/pv-protection"],
  },
});

/** Steps as `kind what`. */
function steps(view: Partial<ClaimsView>): readonly string[] {
  const all = { claims: [], volumes: [], pods: [], classes: [LOCAL, IMMEDIATE, OTHER], ...view };
  return planClaims(all).map((step) => {
    if (step.kind === "event") return `event ${step.reason}`;
    if (step.kind === "bind") return `bind ${step.volume.metadata.name}`;
    if (step.kind === "phase") return `phase ${step.phase}`;
    return step.kind;
  });
}

const CASES: readonly (readonly [string, Partial<ClaimsView>, readonly string[]])[] = [
  ["a claim without a pod waits", { claims: [claim()] }, ["event WaitForFirstConsumer"]],
  ["a claim of a pod gets a volume", { claims: [claim()], pods: [user()] }, ["provision"]],
  [
    "a pod that has ended is no user",
    { claims: [claim()], pods: [user("Succeeded")] },
    ["event WaitForFirstConsumer"],
  ],
  [
    "an immediate class waits for no pod",
    { claims: [claim({ storageClassName: "now" })] },
    ["provision"],
  ],
  ["the volume that was made is bound", { claims: [claim()], volumes: [MADE] }, ["bind pvc-u1"]],
  [
    "another provisioner is waited for",
    { claims: [claim({ storageClassName: "cloud" })] },
    ["event ExternalProvisioning"],
  ],
  [
    "an unknown class is reported",
    { claims: [claim({ storageClassName: "none" })] },
    ["event ProvisioningFailed"],
  ],
  ["no class is reported", { claims: [claim({ storageClassName: "" })] }, ["event FailedBinding"]],
  [
    "no block devices are made",
    { claims: [claim({ volumeMode: "Block" })], pods: [user()] },
    ["event ProvisioningFailed"],
  ],
  [
    "the smallest volume that fits is bound",
    {
      claims: [claim({ storageClassName: "" })],
      volumes: [
        volume("large", { capacity: { storage: "9Gi" } }),
        volume("small", { capacity: { storage: "512Mi" } }),
        volume("right"),
        volume("readonly", { accessModes: ["ReadOnlyMany"] }),
      ],
    },
    ["bind right"],
  ],
  [
    "two claims never get one volume",
    {
      claims: [
        claim({ storageClassName: "" }),
        claim(
          { storageClassName: "" },
          { metadata: { name: "b", namespace: "default", uid: "u2" } },
        ),
      ],
      volumes: [volume("one")],
    },
    ["bind one", "event FailedBinding"],
  ],
  [
    "a volume reserved for another claim is left alone",
    {
      claims: [claim({ storageClassName: "" })],
      volumes: [volume("one", { claimRef: { name: "other", namespace: "default" } })],
    },
    ["event FailedBinding"],
  ],
  [
    "a volume reserved by name is bound",
    {
      claims: [claim({ storageClassName: "x" })],
      volumes: [volume("one", { claimRef: { name: "data", namespace: "default" } })],
    },
    ["bind one"],
  ],
  [
    "a volume reserved by name that is too small is left alone",
    {
      claims: [claim({ storageClassName: "" })],
      volumes: [
        volume("one", {
          claimRef: { name: "data", namespace: "default" },
          capacity: { storage: "1Mi" },
        }),
      ],
    },
    ["event FailedBinding"],
  ],
  [
    "the volume that the claim names is bound, not another that is reserved for it",
    {
      claims: [claim({ storageClassName: "", volumeName: "one" })],
      volumes: [
        volume("reserved", { claimRef: { name: "data", namespace: "default" } }),
        volume("one"),
      ],
    },
    ["bind one"],
  ],
  [
    "a volume that claim and volume name is bound whatever its size",
    {
      claims: [claim({ storageClassName: "x", volumeName: "one" })],
      volumes: [
        volume("one", {
          claimRef: { name: "data", namespace: "default" },
          capacity: { storage: "1Mi" },
        }),
      ],
    },
    ["bind one"],
  ],
  [
    "a claim that names a missing volume waits",
    { claims: [claim({ volumeName: "none" })], volumes: [volume("one")] },
    [],
  ],
  [
    "labels and expressions select volumes",
    {
      claims: [
        claim({
          storageClassName: "",
          selector: {
            matchLabels: { disk: "ssd" },
            matchExpressions: [{ key: "rack", operator: "NotIn", values: ["a", "b"] }],
          },
        }),
      ],
      volumes: [
        volume("plain"),
        { ...volume("a"), metadata: { name: "a", uid: "a", labels: { disk: "ssd", rack: "a" } } },
        { ...volume("c"), metadata: { name: "c", uid: "c", labels: { disk: "ssd", rack: "c" } } },
      ],
    },
    ["bind c"],
  ],
  [
    "no volume is made for a selector",
    { claims: [claim({ selector: { matchLabels: { disk: "ssd" } } })], pods: [user()] },
    ["event ProvisioningFailed"],
  ],
  ["a claim on its way is held by its pod", { claims: [GOING], pods: [user("Running")] }, []],
  [
    "and its finalizer is removed without one",
    { claims: [GOING], pods: [user("Failed")] },
    ["releaseClaim"],
  ],
  ["a bound claim whose volume is gone is lost", { claims: [boundTo("gone")] }, ["markLost"]],
  ["a volume that was made goes with its claim", { volumes: [MADE] }, ["reclaim"]],
  [
    "a volume that was deleted stays as long as it is bound",
    { claims: [boundTo("pvc-u1")], volumes: [deleted(MADE)] },
    [],
  ],
  ["and its data goes when its claim does", { volumes: [deleted(MADE)] }, ["reclaim"]],
  [
    "a volume that was deleted and nobody has is let go",
    { volumes: [deleted(volume("own"))] },
    ["releaseVolume"],
  ],
  [
    "one that is retained is released",
    { volumes: [{ ...MADE, spec: { ...MADE.spec, persistentVolumeReclaimPolicy: "Retain" } }] },
    ["phase Released"],
  ],
  [
    "one that the user made is never removed",
    {
      volumes: [
        volume("own", { claimRef: { uid: "u9" }, persistentVolumeReclaimPolicy: "Delete" }),
      ],
    },
    ["phase Released"],
  ],
  [
    "a new volume is available",
    { volumes: [{ ...volume("own"), status: { phase: "Pending" } }] },
    ["phase Available"],
  ],
];

for (const [what, view, expected] of CASES)
  test(`planClaims: ${what}`, () => assert.deepEqual(steps(view), expected));

for (const [why, more, spec] of [
  ["requested PV is too small", { capacity: { storage: "1Mi" } }, {}],
  ["storageClassName does not match", { storageClassName: "x" }, {}],
  ["incompatible volumeMode", {}, { volumeMode: "Block" }],
  ["incompatible accessMode", {}, { accessModes: ["ReadWriteOnce", "ReadWriteMany"] }],
] as const)
  test(`planClaims: a volume that the claim names and that does not do is reported: ${why}`, () => {
    const wanted = claim({ storageClassName: "", volumeName: "one", ...spec } as const);
    const [step] = planClaims({
      claims: [wanted],
      volumes: [volume("one", more)],
      pods: [],
      classes: [],
    });
    assert.ok(step?.kind === "event");
    assert.equal(step.reason, "VolumeMismatch");
    assert.equal(step.message, `Cannot bind to requested volume "one": ${why}`);
  });

test("planClaims: a volume on its way that the claim names is reported", () => {
  const going = { name: "one", uid: "v1", deletionTimestamp: "2026-01-01T00:00:00Z" };
  const [step] = planClaims({
    claims: [claim({ storageClassName: "", volumeName: "one" })],
    volumes: [{ ...volume("one"), metadata: going }],
    pods: [],
    classes: [],
  });
  assert.ok(step?.kind === "event");
  assert.match(step.message, /: the volume is marked for deletion "one"$/);
});

for (const [what, claims, expected] of [
  ["none", [], /persistentvolumeclaim "data" not found/],
  ["one that goes", [GOING], /is being deleted/],
  ["one that waits", [claim()], /has unbound PersistentVolumeClaims: "data"/],
  ["one that is bound", [boundTo("one")], undefined],
] as const)
  test(`claimObstacle: ${what}`, () => {
    const why = claimObstacle(user(), claims);
    if (expected) assert.match(why ?? "", expected);
    else assert.equal(why, undefined);
  });
