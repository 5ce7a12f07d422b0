import assert from "node:assert/strict";
import { test } from "node:test";
import type { VolumeMount } from "../../api/generated/types.ts";
import type { MadeVolume } from "./kind.ts";
import {
  type MountFeatures,
  type MountPlan,
  type PlannedMount,
  planMounts,
} from "./plan-mounts.ts";

const MADE: ReadonlyMap<string, MadeVolume> = new Map([
  ["data", { hostPath: "/v/data", readOnly: false }],
  ["config", { hostPath: "/v/config", readOnly: true }],
  ["picture", { hostPath: "", readOnly: true, image: { reference: "i:1", pullPolicy: "Always" } }],
]);
const ALL: MountFeatures = { recursiveReadOnly: true, imageVolumes: true, imageSubPaths: true };
const NONE: MountFeatures = { recursiveReadOnly: false, imageVolumes: false, imageSubPaths: false };
const ENV = [
  { name: "POD", value: "web-0" },
  { name: "EMPTY", value: "" },
  { name: "UP", value: "../../etc" },
];

function plan(mount: Partial<VolumeMount>, features = ALL): MountPlan {
  const volumeMounts = [{ name: "data", mountPath: "/data", ...mount }];
  return planMounts({ name: "c", volumeMounts }, { made: MADE, env: ENV, features });
}

function one(mount: Partial<VolumeMount>, features = ALL): PlannedMount {
  const found = plan(mount, features);
  assert.equal(found.kind, "mounts", JSON.stringify(found));
  return found.mounts[0] as PlannedMount;
}

test("planMounts takes all of a volume by default", () => {
  assert.deepEqual(one({}), {
    containerPath: "/data",
    volumeName: "data",
    made: MADE.get("data"),
    subPath: "",
    index: 0,
    readOnly: false,
    recursiveReadOnly: false,
    propagation: "None",
    options: [],
  });
  assert.deepEqual(one({ bindMountOptions: ["noexec", "nodev"] }).options, ["noexec", "nodev"]);
  assert.equal(one({ mountPath: "relative" }).containerPath, "/relative");
});

test("planMounts lets nobody write where the volume is read-only (CVE-2017-1002102)", () => {
  assert.equal(one({ name: "config", readOnly: false }).readOnly, true);
  assert.equal(one({ readOnly: true }).readOnly, true);
});

test("planMounts expands sub paths by the environment", () => {
  assert.equal(one({ subPathExpr: "logs/$(POD)" }).subPath, "logs/web-0");
  assert.equal(one({ subPath: "logs/$(POD)" }).subPath, "logs/$(POD)");
  assert.equal(one({ mountPropagation: "Bidirectional" }).propagation, "Bidirectional");
});

/** Mount, what the runtime can, and what is reported. */
const FAULTS: readonly (readonly [Partial<VolumeMount>, MountFeatures, string])[] = [
  [{ subPathExpr: "$(NONE)/$(EMPTY)/$(POD)" }, ALL, "missing value for EMPTY, NONE"],
  [{ subPathExpr: "$(UP)" }, ALL, "unable to provision SubPath `../../etc`: must not contain '..'"],
  [{ subPath: "/etc" }, ALL, "error SubPath `/etc` must not be an absolute path"],
  [{ name: "gone" }, ALL, 'cannot find volume "gone" to mount into container "c"'],
  [
    { readOnly: true, recursiveReadOnly: "Enabled" },
    NONE,
    'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
  ],
  [
    { recursiveReadOnly: "Enabled" },
    ALL,
    'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not read-only',
  ],
  [
    { readOnly: true, recursiveReadOnly: "IfPossible", mountPropagation: "HostToContainer" },
    ALL,
    'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not compatible with propagation "HostToContainer"',
  ],
  [
    { name: "picture", subPath: "etc" },
    { ...NONE, imageVolumes: true },
    'volume "picture": this container runtime cannot mount parts of images',
  ],
  [{ name: "picture" }, NONE, 'volume "picture": this container runtime cannot mount images'],
];

for (const [mount, features, message] of FAULTS)
  test(`planMounts refuses ${JSON.stringify(mount)}`, () => {
    assert.deepEqual(plan(mount, features), { kind: "fault", message });
  });

test("planMounts: recursive read-only where it is asked for and to be had", () => {
  const of = (mode: string, features: MountFeatures) =>
    one({ readOnly: true, recursiveReadOnly: mode }, features).recursiveReadOnly;
  assert.deepEqual(
    [of("Enabled", ALL), of("IfPossible", ALL), of("IfPossible", NONE), of("Disabled", ALL)],
    [true, true, false, false],
  );
});
