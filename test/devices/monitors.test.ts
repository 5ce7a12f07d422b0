// The other two sockets: monitors that ask who has what, and plugins that wait to be found.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../src/kit/cell.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { startPluginRegistry } from "../../src/node/plugin-registry/plugin-registry.ts";
import { startPodResources } from "../../src/node/pod-resources/pod-resources.ts";
import { unaryCall } from "../../src/outside/grpc/grpc.ts";
import {
  PLUGIN_REGISTRATION,
  POD_RESOURCES,
  POD_RESOURCES_V1ALPHA1,
} from "../../src/outside/plugins/plugins.ts";
import { DeviceWorld, FOLDER, GPU, gpus, podOf } from "./world.ts";

const signal = new AbortController().signal;

test("pod resources: v1 and v1alpha1 list, one pod, what can be given, and a limit", async () => {
  const world = await new DeviceWorld().open();
  await world.startPlugin([{ id: "g0", nodes: [1] }, { id: "g1" }, { id: "g2", healthy: false }]);
  await world.grant(podOf("a", "i:prep=1 s:side=1 c=1"));
  await world.grant(podOf("b", "c=0"));
  const { clock, host, metrics } = world;
  const scope = new TaskScope("monitors", { clock, log: silentLog });
  const { grpc } = world.net.process();
  startPodResources("/pr", {
    grpc,
    clock,
    scope,
    metrics,
    files: host.files,
    log: silentLog,
    providers: { devices: world.devices.held },
    pods: () => [...world.pods.values()],
  });
  const channel = world.net.process().grpc.connect({ target: "unix:///pr/kubelet.sock" });
  await world.settled(until(channel.state, (link) => link === "ready", signal));
  const { fullName, methods } = POD_RESOURCES;
  const device = (id: string, node?: bigint) => ({
    resourceName: GPU,
    deviceIds: [id],
    topology: node === undefined ? undefined : { nodes: [{ ID: node }] },
  });
  const shared = { cpuIds: [], memory: [] };
  const rest = { ...shared, dynamicResources: [] };
  const a = {
    name: "a",
    namespace: "default",
    containers: [
      { name: "side", devices: [device("g0", 1n)], ...rest },
      { name: "c", devices: [device("g1")], ...rest },
    ],
    ...shared,
  };
  const containers = [{ name: "c", devices: [], ...rest }];
  const b = { name: "b", namespace: "default", containers, ...shared };
  const list = () => world.settled(channel.unary(methods.list, fullName, {}, { signal }));
  assert.deepEqual((await list()).podResources, [a, b]);
  const get = (podName: string) =>
    world.settled(
      channel.unary(methods.get, fullName, { podName, podNamespace: "default" }, { signal }),
    );
  assert.deepEqual((await get("a")).podResources, a);
  await assert.rejects(get("x"), /code = NotFound desc = pod x in namespace default not found/);
  const all = await world.settled(
    channel.unary(methods.getAllocatableResources, fullName, {}, { signal }),
  );
  assert.deepEqual(all, { devices: [device("g0", 1n), device("g1")], cpuIds: [], memory: [] });
  const alpha = POD_RESOURCES_V1ALPHA1;
  const old = await world.settled(
    channel.unary(alpha.methods.list, alpha.fullName, {}, { signal }),
  );
  assert.deepEqual(old.podResources[0]?.containers[0], {
    name: "side",
    devices: [{ resourceName: GPU, deviceIds: ["g0"] }],
  });
  for (let i = 0; i < 5; i += 1) await list();
  await assert.rejects(list(), /code = ResourceExhausted desc = rejected by rate limit/);
  await clock.advance(1_000);
  await list();
  assert.match(
    metrics.expose(),
    /kubelet_pod_resources_endpoint_errors_get\{server_api_version="v1"\} 1/,
  );
  await world.settled(scope[Symbol.asyncDispose]());
  await world.close();
});

test("a plugin in the registry folder is found, registered, notified, and dropped with its socket", async () => {
  const world = await new DeviceWorld().open();
  const { clock, host } = world;
  const scope = new TaskScope("registry", { clock, log: silentLog });
  startPluginRegistry("/registry", {
    clock,
    scope,
    files: host.files,
    log: silentLog,
    grpc: world.net.process().grpc,
    metrics: world.metrics,
    handlers: { DevicePlugin: world.devices.plugins },
  });
  await clock.advance(10);
  const { plugin } = world.plugin(gpus(2));
  await plugin.listen();
  const statuses: object[] = [];
  const { fullName, methods } = PLUGIN_REGISTRATION;
  const info = {
    type: "DevicePlugin",
    name: GPU,
    endpoint: `${FOLDER}/gpu.sock`,
    supportedVersions: ["v1beta1"],
  };
  const introduce = (path: string, more: Partial<typeof info>) =>
    world.net.process().grpc.listen({
      path,
      onBroken: () => {},
      calls: [
        unaryCall(fullName, methods.getInfo, async () => ({ ...info, ...more })),
        unaryCall(fullName, methods.notifyRegistrationStatus, async (status) => {
          statuses.push(status);
          return {};
        }),
      ],
    });
  // A folder beside it that cannot be read hides nobody.
  await host.files.makeDirectory("/registry/a-broken", 0o755);
  const list = host.files.list.bind(host.files);
  let broken = "/registry/a-broken";
  host.files.list = (path) =>
    path === broken ? Promise.reject(new OutsideError("io", "input/output error")) : list(path);
  await host.files.makeDirectory("/registry/gpu", 0o755);
  const listener = await introduce("/registry/gpu/gpu-reg.sock", {});
  await clock.advance(2_000);
  assert.deepEqual(statuses, [{ pluginRegistered: true, error: "" }]);
  assert.equal(world.devices.capacity.get().counts.get(GPU)?.allocatable, 2);
  broken = "/registry/gpu";
  await clock.advance(5_000);
  assert.equal(
    world.devices.capacity.get().counts.get(GPU)?.allocatable,
    2,
    "not seen is not gone",
  );
  assert.equal(statuses.length, 1, "and it is not registered again");
  broken = "";
  await introduce("/registry/old.sock", { supportedVersions: ["v1alpha1"] });
  await introduce("/registry/csi.sock", { type: "CSIPlugin" });
  await clock.advance(2_000);
  assert.deepEqual(statuses[1], {
    pluginRegistered: false,
    error: `requested API version "v1alpha1" is not supported by kubelet. Supported version is ["v1beta1"]`,
  });
  assert.equal(statuses.length, 2);
  await listener.close();
  await clock.advance(2_000);
  assert.equal(world.devices.capacity.get().counts.get(GPU)?.allocatable, 0);
  await world.settled(scope[Symbol.asyncDispose]());
  await world.close();
});

test("a plugin any number of folders below the registry is found; one that is not notified of its registration is not registered", async () => {
  const world = await new DeviceWorld().open();
  const { clock, host } = world;
  const scope = new TaskScope("registry", { clock, log: silentLog });
  const { plugin } = world.plugin(gpus(2));
  await plugin.listen();
  const folder = "/registry/example.com/drivers/gpu";
  await host.files.makeDirectory(folder, 0o755);
  const statuses: object[] = [];
  let answers = false;
  const { fullName, methods } = PLUGIN_REGISTRATION;
  const info = {
    type: "DevicePlugin",
    name: GPU,
    endpoint: `${FOLDER}/gpu.sock`,
    supportedVersions: ["v1beta1"],
  };
  await world.net.process().grpc.listen({
    path: `${folder}/gpu-reg.sock`,
    onBroken: () => {},
    calls: [
      unaryCall(fullName, methods.getInfo, async () => info),
      unaryCall(fullName, methods.notifyRegistrationStatus, async (status) => {
        statuses.push(status);
        if (!answers) throw new OutsideError("unavailable", "not now");
        return {};
      }),
    ],
  });
  startPluginRegistry("/registry", {
    clock,
    scope,
    files: host.files,
    log: silentLog,
    grpc: world.net.process().grpc,
    metrics: world.metrics,
    handlers: { DevicePlugin: world.devices.plugins },
  });
  const allocatable = () => world.devices.capacity.get().counts.get(GPU)?.allocatable ?? 0;
  await clock.advance(2_000);
  assert.deepEqual(statuses, [{ pluginRegistered: true, error: "" }]);
  assert.equal(allocatable(), 0);
  const shown = () =>
    world.metrics.expose().match(/(?<=^plugin_manager_total_plugins\{.*state=")\w+(?="\} 1$)/gm);
  assert.deepEqual(shown(), ["desired_state_of_world"]);
  answers = true;
  await clock.advance(6_000);
  assert.equal(statuses.length, 2, "it is notified again");
  assert.equal(allocatable(), 2);
  assert.deepEqual(shown(), ["actual_state_of_world", "desired_state_of_world"]);
  await world.settled(scope[Symbol.asyncDispose]());
  await world.close();
});
