// Single fields of pods, seen from the runtime's side of a world without faults.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec, PodStatus } from "../../src/api/generated/types.ts";
import { NamespaceMode, Signal } from "../../src/outside/cri/generated/api.ts";
import { commandOf } from "./programs.ts";
import { MANIFESTS, World, type WorldOptions } from "./world.ts";

const COMMAND = [...commandOf({ kind: "sleep" })];
const IMAGE = "nodelet.test/nodelet-test:1";
const MAIN = { name: "main", image: IMAGE, command: COMMAND };

/** A calm world with an agent and one static pod, ten seconds later. */
async function withPod(
  spec: PodSpec,
  use: (world: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  const world = new World(1, {}, options);
  const text = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec });
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  await world.host.files.writeAtomic(`${MANIFESTS}/p.json`, text, 0o644);
  world.startAgent();
  await world.advance(10_000);
  try {
    await use(world);
  } catch (error) {
    console.log(world.trace.slice(-40).join("\n"));
    throw error;
  } finally {
    world.killAgent();
  }
}

const statusOf = (world: World): PodStatus | undefined =>
  world.agent?.pipeline.statuses.list()[0]?.status;

test("stop signals reach the runtime, and the status shows them where they were asked for", () => {
  const containers = [
    { ...MAIN, name: "asks", lifecycle: { stopSignal: "SIGRTMIN+3" } },
    { ...MAIN, name: "does-not" },
  ];
  return withPod({ os: { name: "linux" }, containers }, async (world) => {
    const signals = [...world.runtime.containers.values()].map(({ config }) => config.stopSignal);
    assert.deepEqual(signals, [Signal.SIGNAL_SIGRTMINPLUS3, Signal.SIGNAL_RUNTIME_DEFAULT]);
    assert.deepEqual(
      statusOf(world)?.containerStatuses?.map(({ name, stopSignal }) => [name, stopSignal]),
      [
        ["asks", "SIGRTMIN+3"],
        ["does-not", undefined],
      ],
    );
  });
});

test("a pod with ids of its own: sandbox, containers and mounts get them", () =>
  withPod({ hostUsers: false, containers: [MAIN] }, async (world) => {
    const ids = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
    const expected = { mode: NamespaceMode.POD, uids: ids, gids: ids };
    const [sandbox] = world.runtime.sandboxes.values();
    const [container] = world.runtime.containers.values();
    const security = sandbox?.config.linux?.securityContext;
    assert.deepEqual(security?.namespaceOptions?.usernsOptions, expected);
    const { linux, mounts = [] } = container?.config ?? {};
    assert.deepEqual(linux?.securityContext?.namespaceOptions?.usernsOptions, expected);
    assert.ok(mounts.length > 0);
    for (const { uidMappings, gidMappings } of mounts)
      assert.deepEqual([uidMappings, gidMappings], [ids, ids]);
  }));

test("a handler that cannot give a pod ids of its own is reported so, by its name", () =>
  withPod(
    { hostUsers: false, runtimeClassName: "vm", containers: [MAIN] },
    async (world) => {
      world.api?.objects.create(
        { collection: "node.k8s.io/runtimeclasses", namespace: undefined },
        { kind: "RuntimeClass", metadata: { name: "vm" }, handler: "kata" },
      );
      await world.advance(20_000);
      const reported = JSON.stringify(world.api?.objects.list("events"));
      assert.match(
        reported,
        /can't set `spec.hostUsers: false`, RuntimeClass handler \\"kata\\" does not support user namespaces/,
      );
      assert.equal(world.runtime.sandboxes.size, 0);
    },
    { cluster: true },
  ));

test("a runtime class without an API server is refused, not left out", () =>
  withPod({ runtimeClassName: "vm", containers: [MAIN] }, async (world) => {
    const { phase, reason, message } = statusOf(world) ?? {};
    assert.deepEqual([phase, reason], ["Failed", "UnsupportedPodField"]);
    assert.match(message ?? "", /spec\.runtimeClassName: runtime classes require an API server/);
    assert.equal(world.runtime.sandboxes.size, 0);
  }));

test("a pod waits for its runtime class and starts with its handler", () => {
  const overhead = { cpu: "250m", memory: "64Mi" };
  const resources = { requests: { cpu: "1" }, limits: { cpu: "1", memory: "1Gi" } };
  return withPod(
    { runtimeClassName: "vm", overhead, containers: [{ ...MAIN, resources }] },
    async (world) => {
      const reported = () => JSON.stringify(world.api?.objects.list("events"));
      assert.match(
        reported(),
        /Failed to create pod sandbox: runtimeclass\.node\.k8s\.io \\"vm\\" not found/,
      );
      assert.equal(statusOf(world)?.phase, "Pending");
      world.api?.objects.create(
        { collection: "node.k8s.io/runtimeclasses", namespace: undefined },
        {
          apiVersion: "node.k8s.io/v1",
          kind: "RuntimeClass",
          metadata: { name: "vm" },
          handler: "kata",
        },
      );
      await world.advance(20_000);
      assert.equal(statusOf(world)?.phase, "Running");
      const [sandbox] = world.runtime.sandboxes.values();
      assert.equal(sandbox?.handler, "kata");
      const { resources: sums, overhead: own } = sandbox?.config.linux ?? {};
      assert.deepEqual([sums?.cpuQuota, sums?.memoryLimitInBytes], [100_000n, 1024n ** 3n]);
      assert.deepEqual([own?.cpuQuota, own?.memoryLimitInBytes], [25_000n, 64n * 1024n ** 2n]);
    },
    { cluster: true },
  );
});
