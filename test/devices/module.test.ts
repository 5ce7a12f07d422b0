import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../src/api/observation.ts";
import { DevicesNotReady } from "../../src/subsystems/devices/devices.ts";
import { decodeCheckpoint } from "../../src/subsystems/devices/ledger/checkpoint.ts";
import { DeviceWorld, FOLDER, GPU, gpus, podOf, runningContainer } from "./world.ts";

const CHECKPOINT = `${FOLDER}/kubelet_internal_checkpoint`;
const NIC = "v.com/nic";
const forever = new AbortController().signal;

/** What runs of a pod, as the runtime lists it at start. */
function found(uid: string, ...containers: ReturnType<typeof runningContainer>[]) {
  return {
    kind: "observed" as const,
    uid: uid as PodUid,
    describe: () => podOf(uid, "c=0"),
    observed: { asOf: 0 as never, sandboxes: [], containers },
  };
}

async function kept(world: DeviceWorld): Promise<string> {
  return (await world.host.files.readText(CHECKPOINT, { maxBytes: 1e6 })) ?? "";
}

test("a plugin registers, a pod gets devices, an ended pod gives them back", async () => {
  const world = await new DeviceWorld().open();
  const { plugin } = await world.startPlugin(gpus(4));
  assert.deepEqual(world.devices.capacity.get().counts.get(GPU), { capacity: 4, allocatable: 4 });
  const pod = podOf("a", "c=2");
  assert.deepEqual(await world.grant(pod), { kind: "granted" });
  assert.equal(world.held("a"), "c=g0+g1");
  assert.deepEqual(plugin.allocated, [["g0", "g1"]]);
  assert.match(await kept(world), /"PodUID":"a"/);
  world.observe(pod, { running: new Set(["c"]) });
  assert.equal(world.free(), 2);
  world.observe(pod, { ended: true });
  assert.equal(world.held("a"), "");
  assert.equal(world.free(), 4);
  await world.close();
});

test("a new agent knows what was granted, offers nothing until plugins are back, frees what nobody knows", async () => {
  const world = await new DeviceWorld().open();
  const first = await world.startPlugin(gpus(4));
  await world.grant(podOf("a", "c=2"));
  await world.grant(podOf("b", "c=1"));
  world.kill();
  first.process.kill();
  await world.open([found("a", runningContainer("c", `{"${GPU}":{"g0":[],"g1":[]}}`))]);
  assert.equal(world.held("a"), "c=g0+g1");
  assert.deepEqual(world.devices.capacity.get().counts.get(GPU), { capacity: 0, allocatable: 0 });
  world.devices.sourcesSeen((uid) => uid === "a");
  assert.equal(world.held("b"), "");
  const second = await world.startPlugin(gpus(4));
  assert.deepEqual(world.devices.capacity.get().counts.get(GPU), { capacity: 4, allocatable: 4 });
  assert.deepEqual(await world.grant(podOf("c", "c=2")), { kind: "granted" });
  assert.equal(world.held("c"), "c=g2+g3");
  assert.deepEqual(second.plugin.allocated, [["g2", "g3"]]);
  await world.close();
});

for (const [name, broken] of [
  ["cut short", (text: string) => text.slice(0, 40)],
  ["changed", (text: string) => text.replace('"g0"', '"g9"')],
  ["gone", () => undefined],
] as const)
  test(`a checkpoint that is ${name}: what runs is found by its notes, and nothing is given twice`, async () => {
    const world = await new DeviceWorld().open();
    await world.startPlugin(gpus(2));
    await world.grant(podOf("a", "c=1"));
    world.kill();
    const text = broken(await kept(world));
    if (text === undefined) await world.host.files.remove(CHECKPOINT);
    else await world.host.files.writeAtomic(CHECKPOINT, text, 0o600);
    await world.open([found("a", runningContainer("c", `{"${GPU}":{"g0":[]}}`))]);
    await world.startPlugin(gpus(2));
    assert.equal(world.held("a"), "c=g0");
    await world.grant(podOf("b", "c=1"));
    assert.equal(world.held("b"), "c=g1");
    if (text !== undefined) assert.match(world.devices.report().notes.join(), /could not be read/);
    assert.equal(decodeCheckpoint(await kept(world)).kind, "read");
    await world.close();
  });

test("a container of another agent, without note or checkpoint, keeps all devices from others until it ends", async () => {
  const world = await new DeviceWorld().open([found("old", runningContainer("c"))]);
  const pod = podOf("old", "c=1");
  world.observe(pod, { running: new Set(["c"]) });
  await world.startPlugin(gpus(2));
  const verdict = await world.grant(podOf("new", "c=1"));
  assert.equal(verdict.kind, "deferred");
  assert.match("message" in verdict ? verdict.message : "", /pod default\/old runs with devices/);
  world.observe(pod, { ended: true });
  assert.deepEqual(await world.grant(podOf("new", "c=1")), { kind: "granted" });
  await world.close();
});

test("a pod waits for a plugin that is known, is notified, and is refused when its time is over", async () => {
  const world = await new DeviceWorld().open();
  const pod = podOf("a", "c=1");
  const first = await world.grant(pod);
  assert.equal(first.kind === "deferred" && first.reason, "WaitingForDevices");
  assert.match(
    first.kind === "deferred" ? first.message : "",
    /^waiting for the plugin of v.com\/gpu to register \(until 2026-/,
  );
  const { process } = await world.startPlugin(gpus(1));
  await world.clock.advance(1_000);
  assert.deepEqual(world.changed.filter((each) => each === "a admission").length > 0, true);
  assert.deepEqual(await world.grant(pod), { kind: "granted" });
  world.observe(pod, { ended: true });
  process.kill();
  await world.clock.advance(1_000);
  assert.equal((await world.grant(podOf("b", "c=1"))).kind, "deferred");
  await world.clock.advance(120_000);
  assert.deepEqual(await world.grant(podOf("b", "c=1")), {
    kind: "refused",
    reason: "UnexpectedAdmissionError",
    message:
      "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices v.com/gpu, which is unexpected",
  });
  await world.close();
});

test("without waiting a pod is refused at once, and runs without devices that nobody ever offered", async () => {
  const world = await new DeviceWorld({ deferMs: 0 }).open();
  assert.deepEqual(await world.grant(podOf("a", "c=1")), { kind: "granted" });
  assert.equal(world.held("a"), "");
  const { process } = await world.startPlugin(gpus(1));
  process.kill();
  await world.clock.advance(10);
  assert.equal((await world.grant(podOf("b", "c=1"))).kind, "refused");
  await world.close();
});

test("a resource of no plugin that the node shows: pods run at once, after a lost checkpoint 2 minutes later at most", async () => {
  const ofApi = (uid: string) => {
    const { metadata, ...pod } = podOf(uid, "c=1", "v.com/dongle");
    return { ...pod, metadata: { ...metadata, annotations: {} } };
  };
  const world = await new DeviceWorld().open();
  world.advertised.set("v.com/dongle", "4");
  // No checkpoint: it may be the resource of a plugin that has yet to register.
  assert.equal((await world.grant(ofApi("a"))).kind, "deferred");
  await world.clock.advance(120_000);
  assert.deepEqual(await world.grant(ofApi("a")), { kind: "granted" });
  assert.deepEqual(await world.grant(ofApi("b")), { kind: "granted" });
  // A plugin of another resource leaves a checkpoint.
  await world.startPlugin(gpus(1));
  await world.grant(podOf("gpu", "c=1"));
  await world.close();
  await world.open();
  assert.deepEqual(await world.grant(ofApi("c")), { kind: "granted" });
  // What is shown as none was offered by a plugin that has gone.
  world.advertised.set("v.com/dongle", "0");
  assert.equal((await world.grant(ofApi("d"))).kind, "deferred");
  await world.clock.advance(120_000);
  assert.equal((await world.grant(ofApi("d"))).kind, "refused");
  await world.close();
});

test("a plugin that refuses: what other plugins gave the pod before is given back at once", async () => {
  const world = await new DeviceWorld().open();
  await world.startPlugin(gpus(2));
  await world.startPlugin(gpus(2, "n"), {
    resource: NIC,
    socketName: "nic.sock",
    before: async (call) => {
      if (call === "allocate") throw new Error("out of order");
    },
  });
  await world.clock.advance(130_000);
  const pod = podOf("a", "c=2");
  const both = {
    ...pod,
    spec: { containers: [{ name: "c", resources: { limits: { [GPU]: "2", [NIC]: "1" } } }] },
  };
  const verdict = await world.grant(both);
  assert.equal(
    verdict.kind === "refused" && verdict.message,
    "Allocate failed due to rpc error: code = Unknown desc = out of order, which is unexpected",
  );
  assert.deepEqual([world.free(), world.free(NIC)], [2, 2]);
  await world.close();
});

for (const keepInitDevices of [false, true])
  test(`8 devices, init 4 and app 2: ${keepInitDevices ? "kept until the pod ends" : "two are free after init"}`, async () => {
    const world = await new DeviceWorld({ keepInitDevices }).open();
    await world.startPlugin(gpus(8));
    const pod = podOf("a", "i:prep=4 app=2");
    await world.grant(pod);
    assert.equal(world.held("a"), "prep=g0+g1+g2+g3 app=g0+g1");
    assert.equal(world.free(), 4);
    world.observe(pod, { initsDone: true });
    assert.equal(world.free(), keepInitDevices ? 4 : 6);
    assert.deepEqual(world.faults(), []);
    world.observe(pod, { ended: true });
    assert.equal(world.free(), 8);
    await world.close();
  });

test("while one plugin is silent, its pod waits and others get theirs; no device is promised twice", async () => {
  const world = await new DeviceWorld().open();
  const gate = Promise.withResolvers<void>();
  await world.startPlugin(gpus(2), {
    before: async (call, ids) => {
      if (call === "allocate" && ids.includes("g0")) await gate.promise;
    },
  });
  const slow = await world.grant(podOf("slow", "c=1"));
  assert.equal(
    slow.kind === "deferred" && slow.message,
    "waiting for an answer of the plugins of v.com/gpu",
  );
  assert.deepEqual(await world.grant(podOf("quick", "c=1")), { kind: "granted" });
  assert.equal(world.held("quick"), "c=g1");
  const third = await world.grant(podOf("third", "c=1"));
  assert.match(third.kind === "refused" ? third.message : "", /Requested: 1, Available: 0/);
  gate.resolve();
  await world.clock.advance(10);
  assert.deepEqual(await world.grant(podOf("slow", "c=1")), { kind: "granted" });
  assert.equal(world.held("slow"), "c=g0");
  await world.close();
});

test("a plugin that registers again takes its own place; a failed registration harms nobody", async () => {
  const world = await new DeviceWorld().open();
  const old = await world.startPlugin(gpus(2));
  const next = await world.startPlugin(gpus(3), { socketName: "gpu2.sock" });
  assert.equal(world.devices.capacity.get().counts.get(GPU)?.allocatable, 3);
  // The end of the stream of the one that was replaced must not tear down the one that is there.
  old.process.kill();
  await world.clock.advance(5_000);
  assert.equal(world.devices.capacity.get().counts.get(GPU)?.allocatable, 3);
  const bad = world.plugin(gpus(9), {
    socketName: "gpu3.sock",
    before: async (call) => {
      if (call === "options") throw new Error("not yet");
    },
  });
  await assert.rejects(
    world.settled(bad.plugin.start()),
    /failed to get device plugin options: .*not yet/,
  );
  assert.deepEqual(await world.grant(podOf("a", "c=3")), { kind: "granted" });
  assert.equal(next.plugin.allocated.length, 1);
  await world.close();
});

test("a container's parts are the plugin's answer, with a word before every start; unknown answers are asked for again", async () => {
  const world = await new DeviceWorld().open();
  const { plugin, process } = await world.startPlugin(gpus(2), {
    preStart: true,
    answer: (ids) => ({
      envs: { IDS: ids.join(",") },
      devices: [{ containerPath: "/dev/x", hostPath: "/dev/null", permissions: "rw" }],
      mounts: [{ containerPath: "/m", hostPath: "/h", readOnly: true }],
      annotations: { note: "1" },
      cdiDevices: [{ name: "v.com/gpu=g0" }],
    }),
  });
  const pod = podOf("a", "c=1");
  await world.grant(pod);
  const parts = () => world.parts(pod);
  assert.deepEqual(await parts(), {
    env: [{ name: "IDS", value: "g0" }],
    devices: [{ containerPath: "/dev/x", hostPath: "/dev/null", permissions: "rw" }],
    mounts: [{ containerPath: "/m", hostPath: "/h", readonly: true }],
    annotations: { note: "1", "io.nodelet.devices": `{"${GPU}":{"g0":[]}}` },
    cdiDevices: ["v.com/gpu=g0"],
  });
  await parts();
  assert.deepEqual(plugin.preStarted, [["g0"], ["g0"]]);
  assert.equal(plugin.allocated.length, 1);
  process.kill();
  await world.clock.advance(10);
  await assert.rejects(
    parts(),
    (error) => error instanceof DevicesNotReady && /register again/.test(error.message),
  );
  await world.close();
});

test("health turns: the pod's status shows it, its owner gets an event, and the pod keeps its devices", async () => {
  const world = await new DeviceWorld().open();
  const { plugin } = await world.startPlugin(gpus(2));
  const pod = podOf("a", "c=1");
  await world.grant(pod);
  const status = () => world.devices.allocatedResources("a" as PodUid, "c");
  assert.deepEqual(status(), [{ name: GPU, resources: [{ resourceID: "g0", health: "Healthy" }] }]);
  plugin.setHealth("g0", false);
  await world.clock.advance(1);
  assert.deepEqual(status(), [
    { name: GPU, resources: [{ resourceID: "g0", health: "Unhealthy" }] },
  ]);
  assert.deepEqual(
    world.podEvents.map(({ reason, message }) => `${reason}: ${message}`),
    ["DeviceUnhealthy: v.com/gpu g0 became unhealthy"],
  );
  assert.deepEqual(world.changed, ["a health"]);
  assert.deepEqual(world.devices.capacity.get().counts.get(GPU), { capacity: 2, allocatable: 1 });
  assert.equal(world.held("a"), "c=g0");
  await world.close();
});

test("a plugin that is gone: nothing to give for 5 minutes, then the resource is none", async () => {
  const world = await new DeviceWorld().open();
  const { process } = await world.startPlugin(gpus(2));
  process.kill();
  await world.clock.advance(1_000);
  assert.deepEqual(world.devices.capacity.get().counts.get(GPU), { capacity: 2, allocatable: 0 });
  await world.clock.advance(299_500);
  assert.deepEqual(world.devices.capacity.get(), {
    counts: new Map(),
    removed: [GPU],
    fresh: true,
  });
  assert.deepEqual(
    world.nodeEvents.map(({ reason }) => reason),
    ["DevicePluginRegistered", "DevicePluginGone"],
  );
  await world.close();
});

test("at start only sockets are removed; a socket that is removed later is recreated", async () => {
  const world = new DeviceWorld();
  const { files } = world.host;
  await files.makeDirectory(`${FOLDER}/folder`, 0o750);
  await files.writeAtomic(`${FOLDER}/file`, "", 0o600);
  files.addSocket(`${FOLDER}/old.sock`);
  await world.open();
  const names = async () => (await files.list(FOLDER))?.map(({ name }) => name);
  assert.deepEqual(await names(), ["file", "folder", "kubelet.sock"]);
  await files.remove(`${FOLDER}/kubelet.sock`);
  await world.clock.advance(2_000);
  assert.ok((await names())?.includes("kubelet.sock"));
  await world.startPlugin(gpus(1));
  await world.close();
});

test("the agent is killed during Allocate, 100 times: consistent every time", async () => {
  const world = await new DeviceWorld().open();
  let wait = 0;
  let { process } = await world.startPlugin(gpus(8), {});
  for (let round = 0; round < 100; round += 1) {
    process.kill();
    const pods = ["x", "y", "z"].map((name) => podOf(`${name}${round}`, "i:i=2 c=1 d=1"));
    ({ process } = await world.startPlugin(gpus(8), {
      before: (call) =>
        call === "allocate" ? world.clock.sleep(wait, forever) : Promise.resolve(),
    }));
    wait = round % 7;
    for (const pod of pods) {
      world.pods.set(pod.metadata?.uid as PodUid, pod);
      void world.topology.grant(pod).catch(() => {});
    }
    await world.clock.advance(round % 23);
    world.kill();
    await world.open();
    assert.deepEqual(world.faults(), [], `round ${round}`);
    const known = new Set(pods.slice(0, round % 4).map(({ metadata }) => metadata?.uid));
    world.devices.sourcesSeen((uid) => known.has(uid));
    process.kill();
    wait = 0;
    ({ process } = await world.startPlugin(gpus(8)));
    for (const pod of pods) {
      const verdict = await world.grant(pod);
      assert.ok(verdict.kind === "granted" || pod !== pods[0], JSON.stringify(verdict));
      if (verdict.kind === "granted")
        assert.match(world.held(pod.metadata?.uid ?? ""), /i=g\d\+g\d/);
    }
    assert.deepEqual(world.faults(), []);
    for (const pod of pods) world.observe(pod, { ended: true });
    assert.equal(world.free(), 8, `leaked in round ${round}`);
  }
  await world.close();
});
