// Pods are judged by the features that the node declares, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "../../src/api/generated/types.ts";
import { type ClusterWorld, inCluster, podOf } from "./cluster-world.ts";
import type { StoredObject } from "./fake-api-objects.ts";
import type { Program } from "./programs.ts";

const SLEEP: Program = { kind: "sleep" };
const PODS = { collection: "pods", namespace: "default" };

function createWith(api: ClusterWorld["api"], name: string, more: Partial<PodSpec>): void {
  const template = podOf(name, SLEEP, "Never") as unknown as Pod;
  api.objects.create(PODS, { ...template, spec: { ...template.spec, ...more } });
}

const restartAll = (name: string): Partial<PodSpec> => {
  const [main] = (podOf(name, SLEEP, "Never") as unknown as Pod).spec?.containers ?? [];
  const exitCodes = { operator: "In", values: [42] };
  const rules = [{ action: "RestartAllContainers", exitCodes }];
  return {
    containers: [{ ...main, name: "main", restartPolicy: "Never", restartPolicyRules: rules }],
  };
};

const UNSUPPORTED = "Pod requires node features that are not available: ";
const REJECTED = `Pod was rejected: ${UNSUPPORTED}`;

test("a pod that needs what the node does not declare is refused, others run", () =>
  inCluster(async ({ world, api, pod }) => {
    createWith(api, "userns", { hostNetwork: true, hostUsers: false });
    createWith(api, "rules", restartAll("rules"));
    await world.advance(15_000);
    const { phase, reason, message } = pod("userns")?.status ?? {};
    assert.deepEqual(
      [phase, reason, message],
      ["Failed", "PodFeatureUnsupported", `${REJECTED}UserNamespacesHostNetworkSupport`],
    );
    assert.equal(pod("rules")?.status?.phase, "Running");
  }));

test("without the feature's gate a restart rule for all containers is refused", () =>
  inCluster(
    async ({ world, api, pod }) => {
      createWith(api, "rules", restartAll("rules"));
      await world.advance(15_000);
      const { phase, message } = pod("rules")?.status ?? {};
      assert.deepEqual(
        [phase, message],
        ["Failed", `${REJECTED}RestartAllContainersOnContainerExits`],
      );
    },
    { RestartAllContainersOnContainerExits: false },
  ));

test("own users in the node's network: with gate and runtime the node declares it, and the pod runs", () =>
  inCluster(
    async ({ world, api, pod, node }) => {
      const declared = () => node()?.status?.declaredFeatures ?? [];
      await world.advance(15_000);
      assert.ok(!declared().includes("UserNamespacesHostNetworkSupport"), declared().join());
      world.runtime.options.userNamespacesHostNetwork = true;
      await world.advance(400_000);
      assert.ok(declared().includes("UserNamespacesHostNetworkSupport"), declared().join());
      createWith(api, "userns", { hostNetwork: true, hostUsers: false });
      await world.advance(15_000);
      assert.equal(pod("userns")?.status?.phase, "Running");
    },
    { UserNamespacesHostNetworkSupport: true },
  ));

test("options of bind mounts: with gate and runtime the pod runs and its mounts have them, else it is refused", () =>
  inCluster(
    async ({ world, api, pod }) => {
      const [main] = (podOf("plain", SLEEP, "Never") as unknown as Pod).spec?.containers ?? [];
      const mount = { name: "v", mountPath: "/v", bindMountOptions: ["noexec", "nodev"] };
      const spec = {
        volumes: [{ name: "v", emptyDir: {} }],
        containers: [{ ...main, name: "main", volumeMounts: [mount] }],
      };
      createWith(api, "early", spec);
      await world.advance(15_000);
      const { phase, message } = pod("early")?.status ?? {};
      assert.deepEqual([phase, message], ["Failed", `${REJECTED}VolumeBindMountOptions`]);
      world.runtime.options.mountOptions = true;
      await world.advance(15_000);
      createWith(api, "late", spec);
      await world.advance(15_000);
      assert.equal(pod("late")?.status?.phase, "Running");
      const options = [...world.runtime.containers.values()].flatMap(({ config }) =>
        (config.mounts ?? []).map((each) => [each.containerPath, each.mountOptions?.join()]),
      );
      assert.deepEqual(
        options.filter(([, given]) => given !== undefined && given !== ""),
        [["/v", "noexec,nodev"]],
      );
    },
    { VolumeBindMountOptions: true },
  ));

const GATES = [
  [{ InPlacePodLevelResourcesVerticalScaling: false }, {}, 1],
  // Only 1.36 lets the gate be switched off.
  [
    { NodeDeclaredFeatures: false, InPlacePodLevelResourcesVerticalScaling: false },
    { compat: "1.36" },
    0,
  ],
  [{}, {}, 0],
] as const;

for (const [gates, config, expected] of GATES)
  test(`a resize of the pod as a whole with ${JSON.stringify(gates)} gives ${expected} warnings`, () =>
    inCluster(
      async ({ world, api, pod }) => {
        createWith(api, "web", { resources: { requests: { cpu: "100m" } } });
        await world.advance(15_000);
        const found = pod("web") as Pod;
        const metadata = { ...found.metadata, generation: 2 };
        const spec = { ...found.spec, resources: { requests: { cpu: "200m" } } };
        const place = { ...PODS, name: "web" };
        api.objects.update(place, false, { ...found, metadata, spec } as unknown as StoredObject);
        await world.advance(15_000);
        const events = api.objects
          .list("events")
          .filter(({ reason }) => reason === "FailedNodeDeclaredFeaturesCheck");
        const message = `${UNSUPPORTED}InPlacePodLevelResourcesVerticalScaling`;
        assert.deepEqual(
          events.map(({ type, message: text }) => [type, text]),
          Array.from({ length: expected }, () => ["Warning", message]),
        );
      },
      gates,
      { config },
    ));
