// Plugins that do it wrong: each gets an error that says so or is worked around, and a good one beside it is not harmed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../src/kit/cell.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { streamCall, unaryCall } from "../../src/outside/grpc/grpc.ts";
import type { Device } from "../../src/outside/plugins/plugins.ts";
import { DEVICE_PLUGIN, DEVICE_REGISTRATION } from "../../src/outside/plugins/plugins.ts";
import { DeviceWorld, FOLDER, GPU, gpus, podOf } from "./world.ts";

const BAD = "bad.com/x";

/** A good plugin beside the bad one, which must not be harmed. */
async function beside(options: { readonly allocateMs?: number } = {}): Promise<DeviceWorld> {
  const world = await new DeviceWorld({ deferMs: 0, ...options }).open();
  await world.startPlugin(gpus(2));
  return world;
}

async function stillWell(world: DeviceWorld): Promise<void> {
  assert.deepEqual(await world.grant(podOf("good", "c=1")), { kind: "granted" });
  assert.equal(world.held("good"), "c=g0");
  assert.deepEqual(world.faults(), []);
  await world.close();
}

const REFUSED: readonly (readonly [
  name: string,
  resource: string,
  version: string,
  text: string,
])[] = [
  [
    "another version",
    BAD,
    "v2",
    `requested API version "v2" is not supported by kubelet. Supported version is ["v1beta1"]`,
  ],
  [
    "no version",
    BAD,
    "",
    `requested API version "" is not supported by kubelet. Supported version is ["v1beta1"]`,
  ],
  [
    "a name of Kubernetes' own",
    "kubernetes.io/x",
    "v1beta1",
    `the ResourceName "kubernetes.io/x" is invalid`,
  ],
  ["a name without a domain", "cpu", "v1beta1", `the ResourceName "cpu" is invalid`],
  ["no name", "", "v1beta1", `the ResourceName "" is invalid`],
  [
    "a name for quotas",
    "requests.v.com/x",
    "v1beta1",
    `the ResourceName "requests.v.com/x" is invalid`,
  ],
  [
    "nobody at its socket",
    BAD,
    "v1beta1",
    `failed to dial device plugin: nothing listens at ${FOLDER}/nobody.sock`,
  ],
];

for (const [name, resourceName, version, text] of REFUSED)
  test(`registration with ${name} is refused in words`, async () => {
    const world = await beside();
    const { grpc } = world.net.process();
    const channel = grpc.connect({ target: `unix://${FOLDER}/kubelet.sock` });
    const signal = new AbortController().signal;
    await world.settled(until(channel.state, (link) => link === "ready", signal));
    const request = { version, resourceName, endpoint: "nobody.sock", options: undefined };
    const call = channel.unary(
      DEVICE_REGISTRATION.methods.register,
      DEVICE_REGISTRATION.fullName,
      request,
      { signal },
    );
    await assert.rejects(world.settled(call), (error: Error) => error.message.endsWith(text));
    await stillWell(world);
  });

const LISTS: readonly (readonly [
  name: string,
  raw: readonly Device[],
  capacity: number,
  allocatable: number,
])[] = [
  ["nothing", [], 0, 0],
  ["an ID twice", [device("a"), device("a", "Unhealthy"), device("b")], 2, 1],
  ["a device without an ID", [device(""), device("a")], 1, 1],
  [
    "a health that is no word for it",
    [device("a", "fine"), device("b", "healthy"), device("c")],
    3,
    1,
  ],
  ["a NUMA node below 0", [{ ...device("a"), topology: { nodes: [{ ID: -5n }] } }], 1, 1],
  ["100,000 devices", Array.from({ length: 100_000 }, (_, i) => device(`d${i}`)), 100_000, 100_000],
];

function device(ID: string, health = "Healthy"): Device {
  return { ID, health, topology: undefined };
}

for (const [name, raw, capacity, allocatable] of LISTS)
  test(`a list with ${name} is taken as far as it makes sense`, async () => {
    const world = await beside();
    await world.startPlugin([{ id: "x" }], {
      resource: BAD,
      socketName: "bad.sock",
      raw: () => raw,
    });
    assert.deepEqual(world.devices.capacity.get().counts.get(BAD), { capacity, allocatable });
    await stillWell(world);
  });

test("a list that is refused is a problem until the plugin sends another one", async () => {
  const world = await beside();
  const { grpc } = world.net.process();
  const { methods, fullName } = DEVICE_PLUGIN;
  const why = "grpc: received message larger than max (23000000 vs. 16777216)";
  let isLarge = true;
  const end = new AbortController();
  await grpc.listen({
    path: `${FOLDER}/bad.sock`,
    onBroken: () => {},
    calls: [
      unaryCall(fullName, methods.getDevicePluginOptions, async () => ({
        preStartRequired: false,
        getPreferredAllocationAvailable: false,
      })),
      streamCall(fullName, methods.listAndWatch, async function* (_, signal) {
        if (isLarge) throw new OutsideError("exhausted", why);
        yield { devices: [device("a")] };
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
          end.signal.addEventListener("abort", resolve);
        });
      }),
    ],
  });
  const register = async () => {
    const socketPath = `${FOLDER}/bad.sock`;
    const registration = { name: BAD, socketPath, versions: ["v1beta1"] };
    await world.settled(world.devices.plugins.register(registration));
    await world.clock.advance(1);
  };
  for (let times = 0; times < 2; times += 1) {
    await register();
    const [problem, ...others] = world.devices.plugins.problems.get();
    assert.equal(problem?.origin, `device plugin of ${BAD}`);
    assert.ok(problem?.message.startsWith("its list of devices was refused: "));
    assert.ok(problem?.message.includes(why), problem?.message);
    assert.deepEqual(others, []);
  }
  isLarge = false;
  await register();
  assert.deepEqual(world.devices.plugins.problems.get(), []);
  end.abort();
  await world.clock.advance(1);
  assert.deepEqual(world.devices.plugins.problems.get(), [], "that it ends is none");
  await stillWell(world);
});

test("an empty answer to Allocate refuses the pod and gives its devices back", async () => {
  const world = await beside();
  const { grpc } = world.net.process();
  const { methods, fullName } = DEVICE_PLUGIN;
  await grpc.listen({
    path: `${FOLDER}/bad.sock`,
    onBroken: () => {},
    calls: [
      unaryCall(fullName, methods.getDevicePluginOptions, async () => ({
        preStartRequired: false,
        getPreferredAllocationAvailable: true,
      })),
      unaryCall(fullName, methods.getPreferredAllocation, async () => ({ containerResponses: [] })),
      unaryCall(fullName, methods.allocate, async () => ({ containerResponses: [] })),
      streamCall(fullName, methods.listAndWatch, async function* (_, signal) {
        yield { devices: [device("a"), device("b")] };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }),
    ],
  });
  await world.settled(
    world.devices.plugins.register({
      name: BAD,
      socketPath: `${FOLDER}/bad.sock`,
      versions: ["v1beta1"],
    }),
  );
  await world.clock.advance(1);
  const verdict = await world.grant(podOf("bad", "c=1", BAD));
  assert.equal(
    verdict.kind === "refused" && verdict.message,
    "Allocate failed due to no containers return in allocation response, which is unexpected",
  );
  assert.equal(world.free(BAD), 2);
  await stillWell(world);
});

/** A world with a plugin that never answers Allocate. */
async function besideHanging(options: { readonly allocateMs?: number } = {}) {
  const world = await beside(options);
  await world.startPlugin([{ id: "x" }], {
    resource: BAD,
    socketName: "bad.sock",
    before: (call) => (call === "allocate" ? new Promise(() => {}) : Promise.resolve()),
  });
  return world;
}

test("a call that hangs ends at its deadline, and holds up nobody else", async () => {
  const world = await besideHanging();
  const pod = podOf("bad", "c=1", BAD);
  assert.equal((await world.grant(pod)).kind, "deferred");
  await world.clock.advance(31_000);
  const verdict = await world.grant(pod);
  assert.match(
    verdict.kind === "refused" ? verdict.message : "",
    /code = DeadlineExceeded.*: no answer to Allocate within 30 s \(--device-allocate-timeout\)/,
  );
  assert.equal(world.free(BAD), 1);
  await stillWell(world);
});

test("the deadline of Allocate is a setting; without one it is waited for", async () => {
  for (const [allocateMs, kinds] of [
    [90_000, ["deferred", "deferred", "refused"]],
    [0, ["deferred", "deferred", "deferred"]],
  ] as const) {
    const world = await besideHanging({ allocateMs });
    const pod = podOf("bad", "c=1", BAD);
    for (const kind of kinds) {
      const verdict = await world.grant(pod);
      assert.equal(verdict.kind, kind, `${allocateMs} ms`);
      await world.clock.advance(50_000);
    }
    await stillWell(world);
  }
});

test("a stream of lists without end costs a list per pause, not our time", async () => {
  const world = await beside();
  const bad = await world.startPlugin([{ id: "x" }], { resource: BAD, socketName: "bad.sock" });
  let changes = 0;
  const stop = world.devices.capacity.subscribe(() => {
    changes += 1;
  });
  for (let i = 0; i < 5_000; i += 1) {
    bad.plugin.devices = gpus(i % 7, "x");
    await world.clock.advance(1);
  }
  stop();
  assert.ok(changes < 100, `${changes} lists were taken in within 5 s`);
  assert.equal(world.devices.capacity.get().counts.get(GPU)?.allocatable, 2);
  await stillWell(world);
});
