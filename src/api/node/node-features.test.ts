import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod, PodSpec } from "../generated/types.ts";
import { featuresForPod, featuresForUpdate, missingFeatures } from "./node-features.ts";

const c: Container = { name: "c", image: "i" };
const rules = (action: string): Container => ({
  ...c,
  restartPolicy: "Never",
  restartPolicyRules: [{ action, exitCodes: { operator: "In", values: [42] } }],
});
const pod = (spec: Partial<PodSpec>): Pod => ({ spec: { containers: [c], ...spec } });
const cpu = (amount: string) => ({ resources: { requests: { cpu: amount } } });
const init = (amount: string, more: Partial<Container> = {}): Partial<PodSpec> => ({
  initContainers: [{ ...c, name: "i", ...cpu(amount), ...more }],
});

const RESTART_ALL = "RestartAllContainersOnContainerExits";
const POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling";
const INIT = "InPlacePodVerticalScalingInitContainers";
const USERNS = "UserNamespacesHostNetworkSupport";

const PODS: readonly (readonly [string, Partial<PodSpec>, readonly string[]])[] = [
  ["an ordinary pod", {}, []],
  ["restart of all containers", { containers: [rules("RestartAllContainers")] }, [RESTART_ALL]],
  [
    "the same in an init container",
    { initContainers: [rules("RestartAllContainers")] },
    [RESTART_ALL],
  ],
  ["restart of one container", { containers: [rules("Restart")] }, []],
  ["the node's network", { hostNetwork: true }, []],
  ["the node's network, the node's users", { hostNetwork: true, hostUsers: true }, []],
  ["own users", { hostUsers: false }, []],
  ["own users in the node's network", { hostUsers: false, hostNetwork: true }, [USERNS]],
  [
    "options of a bind mount, in a container of any kind",
    {
      initContainers: [
        { ...c, volumeMounts: [{ name: "v", mountPath: "/v", bindMountOptions: ["noexec"] }] },
      ],
    },
    ["VolumeBindMountOptions"],
  ],
  [
    "no options of a bind mount",
    {
      containers: [{ ...c, volumeMounts: [{ name: "v", mountPath: "/v", bindMountOptions: [] }] }],
    },
    [],
  ],
  [
    "several",
    { hostUsers: false, hostNetwork: true, containers: [rules("RestartAllContainers")] },
    [RESTART_ALL, USERNS],
  ],
];

for (const [name, spec, needed] of PODS)
  test(`featuresForPod: ${name}`, () => assert.deepEqual(featuresForPod(pod(spec)), needed));

const UPDATES: readonly (readonly [
  string,
  Partial<PodSpec>,
  Partial<PodSpec>,
  readonly string[],
])[] = [
  ["nothing", {}, {}, []],
  [
    "a container",
    { containers: [{ ...c, ...cpu("1") }] },
    { containers: [{ ...c, ...cpu("2") }] },
    [],
  ],
  ["the pod as a whole", cpu("1"), cpu("2"), [POD_LEVEL]],
  ["resources for a pod that had none", {}, cpu("2"), [POD_LEVEL]],
  ["another spelling", cpu("1"), cpu("1000m"), []],
  ["an init container", init("1"), init("2"), [INIT]],
  ["a sidecar", init("1", { restartPolicy: "Always" }), init("2", { restartPolicy: "Always" }), []],
  ["both", { ...cpu("1"), ...init("1") }, { ...cpu("2"), ...init("2") }, [POD_LEVEL, INIT]],
];

for (const [name, before, now, needed] of UPDATES)
  test(`featuresForUpdate: ${name}`, () =>
    assert.deepEqual(featuresForUpdate(pod(before), pod(now)), needed));

test("missingFeatures: names what a node has not declared", () => {
  assert.equal(missingFeatures([], []), undefined);
  assert.equal(missingFeatures([POD_LEVEL], [INIT, POD_LEVEL]), undefined);
  assert.equal(missingFeatures([POD_LEVEL, INIT], []), `${POD_LEVEL}, ${INIT}`);
  assert.equal(missingFeatures([POD_LEVEL, INIT], [INIT]), POD_LEVEL);
});
