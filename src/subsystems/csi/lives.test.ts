// Lives of a volume: which calls a driver gets, in which order, at which time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DriverCall, DriverFault } from "../../../test/support/csi-driver.ts";
import { CsiWorld, type CsiWorldOptions, DRIVER, podOfClaims } from "../../../test/support/csi-world.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";

const NEVER = new AbortController().signal;

/** A world with one volume `v`, and faults that tests switch. */
async function begin(options: CsiWorldOptions = {}) {
  const faults = new Map<DriverCall, DriverFault>();
  const timed: string[] = [];
  let world: CsiWorld;
  const start = await CsiWorld.start({
    ...options,
    driver: {
      fault: (call) => faults.get(call),
      onCall: (call) => {
        if (call !== "C" && call !== "Gi")
          timed.push(`${call}@${Math.round(world?.clock.monotonic() ?? 0)}`);
      },
      ...options.driver,
    },
  });
  world = start;
  world.addVolume("v");
  const calls = () =>
    world.driver.calls.filter((call) => call !== "Gi" && call !== "stats").join(" ");
  const mounted = async (pod: IdentifiedPod) => {
    assert.equal(await world.done(world.mount(pod).over), true);
  };
  const unmounted = async (pod: IdentifiedPod) => {
    await world.done(world.unmount(pod, NEVER));
    await world.clock.advance(50);
  };
  return { world, faults, timed, calls, mounted, unmounted };
}

/** Pauses between calls in seconds, to a tenth. */
function pauses(timed: readonly string[], call: string): readonly number[] {
  const times = timed
    .filter((each) => each.startsWith(`${call}@`))
    .map((each) => Number(each.split("@")[1]));
  return times.slice(1).map((at, i) => Math.round((at - (times[i] ?? 0)) / 100) / 10);
}

/** Nothing of the driver is left: no mount, no folder, no volume in use. */
async function isClean(world: CsiWorld): Promise<void> {
  assert.deepEqual(world.driver.violations, []);
  assert.deepEqual(world.driver.present, []);
  assert.deepEqual(world.host.volumes.mounted, []);
  assert.deepEqual(world.csi.volumes.list(), []);
  assert.deepEqual(world.csi.volumesInUse(), []);
  assert.deepEqual((await world.host.files.list("/r/plugins/kubernetes.io/csi/d.csi")) ?? [], []);
}

test("1: attach, stage, publish; unpublish, unstage; in use from before the one until after the other", async () => {
  const { world, calls, mounted, unmounted } = await begin();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  assert.equal(calls(), "St Pb");
  assert.deepEqual(world.csi.volumesInUse(), ["kubernetes.io/csi/d.csi^h-v"]);
  const [stage] = world.driver.stages;
  assert.deepEqual(stage?.publishContext, { lun: "1" });
  const [publish] = world.driver.publishes;
  assert.equal(publish?.targetPath, "/r/pods/p/volumes/kubernetes.io~csi/v/mount");
  assert.equal(publish?.stagingTargetPath, stage?.stagingTargetPath);
  await unmounted(pod);
  assert.equal(calls(), "St Pb Up Us");
  assert.deepEqual(world.events, []);
  await isClean(world);
});

test("2: a driver that needs no attaching is never in use for a controller", async () => {
  const { world, calls, mounted, unmounted } = await begin({
    object: { attachRequired: false },
    attaches: false,
  });
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  assert.deepEqual(world.csi.volumesInUse(), []);
  assert.equal(world.objects.asked.includes("volumeattachments"), false);
  await unmounted(pod);
  assert.equal(calls(), "St Pb Up Us");
  await isClean(world);
});

test("3: a driver that stages nothing publishes alone, and leaves no folder", async () => {
  const { world, calls, mounted, unmounted } = await begin({
    driver: { abilities: { stages: false } },
  });
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  assert.equal(world.driver.publishes[0]?.stagingTargetPath, "");
  await unmounted(pod);
  assert.equal(calls(), "Pb Up");
  await isClean(world);
});

test("4: an inline volume is published under a handle of its own", async () => {
  const { world, calls, mounted, unmounted } = await begin({
    object: { volumeLifecycleModes: ["Ephemeral"], podInfoOnMount: true },
  });
  const pod = podOfClaims("p", ["data"], {
    volumes: [{ name: "data", csi: { driver: DRIVER, volumeAttributes: { a: "b" } } }],
  });
  await mounted(pod);
  const [publish] = world.driver.publishes;
  assert.match(publish?.volumeId ?? "", /^csi-[0-9a-f]{64}$/);
  assert.deepEqual(publish?.volumeContext, {
    a: "b",
    "csi.storage.k8s.io/pod.name": "p",
    "csi.storage.k8s.io/pod.namespace": "default",
    "csi.storage.k8s.io/pod.uid": "p",
    "csi.storage.k8s.io/serviceAccount.name": "default",
    "csi.storage.k8s.io/ephemeral": "true",
  });
  assert.equal(world.objects.asked.includes("volumeattachments"), false);
  await unmounted(pod);
  assert.equal(calls(), "Pb Up");
  await isClean(world);
});

test("5: a second pod of a volume gets what is staged; the last that goes unstages it", async () => {
  const { world, calls, mounted, unmounted } = await begin();
  const [a, b] = [podOfClaims("a", ["v"]), podOfClaims("b", ["v"])];
  await mounted(a);
  await mounted(b);
  assert.equal(calls(), "St Pb Pb");
  await unmounted(a);
  assert.equal(calls(), "St Pb Pb Up");
  await unmounted(b);
  assert.equal(calls(), "St Pb Pb Up Up Us");
  await isClean(world);
});

test("6: staging that gets no answer in time is tried again after 0.5, 1, 2 s", async () => {
  const { world, faults, timed, calls, mounted, unmounted } = await begin();
  let left = 3;
  Object.assign(faults, {
    get: (call: DriverCall) => {
      if (call !== "St" || left === 0) return undefined;
      left -= 1;
      return { status: "DeadlineExceeded" } as const;
    },
  });
  await mounted(podOfClaims("p", ["v"]));
  assert.deepEqual(pauses(timed, "St"), [0.5, 1, 2]);
  assert.equal(calls(), "St St St St Pb");
  const said = `Warning FailedMount: MountVolume.MountDevice failed for volume "v" : rpc error: code = DeadlineExceeded desc = as the test asks`;
  assert.deepEqual(world.events, [said, said, said]);
  await unmounted(podOfClaims("p", ["v"]));
  await isClean(world);
});

/** Tries to mount for some time, then ends the pod. */
async function attempted(
  { world, unmounted }: Awaited<ReturnType<typeof begin>>,
  ms: number,
): Promise<void> {
  const pod = podOfClaims("p", ["v"]);
  const mount = world.mount(pod);
  await world.clock.advance(ms);
  mount.stop();
  await mount.over;
  await unmounted(pod);
}

const ENDED_WHILE_FAILING: readonly {
  readonly name: string;
  readonly call: DriverCall;
  readonly fault: DriverFault;
  /** Calls without repetitions. */
  readonly expect: string;
}[] = [
  {
    name: "7: staging without an answer, pod deleted: unstaged, never unpublished",
    call: "St",
    fault: { status: "DeadlineExceeded" },
    expect: "St Us",
  },
  {
    name: "8: staging refused, pod deleted: neither unpublished nor unstaged",
    call: "St",
    fault: { status: "InvalidArgument" },
    expect: "St",
  },
  {
    name: "10: publishing without an answer, pod deleted: unpublished, then unstaged",
    call: "Pb",
    fault: { status: "DeadlineExceeded" },
    expect: "St Pb Up Us",
  },
  {
    name: "10b: published, but the answer is lost",
    call: "Pb",
    fault: { status: "Unavailable", done: true },
    expect: "St Pb Up Us",
  },
  {
    name: "11: publishing refused, pod deleted: only unstaged",
    call: "Pb",
    fault: { status: "Internal" },
    expect: "St Pb Us",
  },
];

for (const { name, call, fault, expect } of ENDED_WHILE_FAILING)
  test(name, async () => {
    const life = await begin();
    life.faults.set(call, fault);
    await attempted(life, 5_000);
    const calls = life.calls().split(" ");
    assert.equal(calls.filter((each, i) => each !== calls[i - 1]).join(" "), expect);
    await isClean(life.world);
  });

test("9: staging that got no answer and then was refused is not undone", async () => {
  const life = await begin();
  life.faults.set("St", { status: "DeadlineExceeded" });
  const pod = podOfClaims("p", ["v"]);
  const mount = life.world.mount(pod);
  await life.world.clock.advance(600);
  life.faults.set("St", { status: "InvalidArgument" });
  await life.world.clock.advance(2_000);
  mount.stop();
  await mount.over;
  await life.unmounted(pod);
  assert.equal(life.calls().includes("Us"), false);
  await isClean(life.world);
});

test("12: a volume that could not be given to the pod's group is taken away again", async () => {
  const life = await begin();
  life.world.addVolume("v", { csi: { fsType: "ext4" } });
  life.world.faulty.add("giveToGroup");
  const pod = podOfClaims("p", ["v"], { securityContext: { fsGroup: 42 } });
  const mount = life.world.mount(pod);
  await life.world.clock.advance(400);
  mount.stop();
  await mount.over;
  await life.unmounted(pod);
  assert.equal(life.calls(), "St Pb Up Us");
  await isClean(life.world);
});

test("13: a volume whose driver has not registered waits for it, and goes on at once when it has", async () => {
  const { world, timed, calls, mounted, unmounted } = await begin();
  world.killDriver();
  const pod = podOfClaims("p", ["v"]);
  const mount = world.mount(pod);
  await world.clock.advance(20_000);
  assert.equal(calls(), "");
  assert.match(
    world.events[0] ?? "",
    /driver name d.csi not found in the list of registered CSI drivers$/,
  );
  await world.startDriver();
  const began = world.clock.monotonic();
  assert.equal(await world.done(mount.over), true);
  assert.ok(Number(timed[0]?.split("@")[1]) - began < 1_000, `${timed} after ${began}`);
  await mounted(pod);
  await unmounted(pod);
  await isClean(world);
});

test("14: unpublishing that fails is tried again after 0.5 and 1 s; a new pod in between is published", async () => {
  const { world, faults, timed, calls, mounted } = await begin();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  faults.set("Up", { status: "Internal" });
  const gone = world.unmount(pod, NEVER);
  await world.clock.advance(1_600);
  assert.deepEqual(pauses(timed, "Up"), [0.5, 1]);
  faults.clear();
  await world.done(gone);
  await world.clock.advance(10);
  assert.equal(calls(), "St Pb Up Up Up Up Us");
  await isClean(world);
});

test("15: a new pod that comes while unstaging fails is staged and published at once", async () => {
  const { world, faults, calls, mounted, unmounted } = await begin();
  await mounted(podOfClaims("a", ["v"]));
  faults.set("Us", { status: "Internal" });
  await unmounted(podOfClaims("a", ["v"]));
  await world.clock.advance(10_000);
  const before = world.clock.monotonic();
  await mounted(podOfClaims("b", ["v"]));
  assert.ok(world.clock.monotonic() - before < 200);
  faults.clear();
  await unmounted(podOfClaims("b", ["v"]));
  await world.clock.advance(20_000);
  assert.match(calls(), /^St Pb Up (Us )+St Pb Up Us$/);
  await isClean(world);
});

test("16: a restart of the agent stages and publishes again, and takes nothing away", async () => {
  const { world, calls, mounted, unmounted } = await begin();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  world.killAgent();
  await world.startAgent();
  assert.deepEqual(world.csi.volumesInUse(), ["kubernetes.io/csi/d.csi^h-v"]);
  await world.registerAgain();
  await mounted(pod);
  assert.equal(calls(), "St Pb St Pb");
  await unmounted(pod);
  assert.equal(calls(), "St Pb St Pb Up Us");
  await isClean(world);
});

test("17, 18: a pod that was deleted while the agent was down is cleaned up, once the driver is there", async () => {
  const { world, calls, mounted } = await begin();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  world.killAgent();
  await world.startAgent();
  const cleared = world.unmount(pod, NEVER);
  await world.clock.advance(5_000);
  assert.equal(calls(), "St Pb");
  assert.deepEqual(world.csi.volumesInUse(), ["kubernetes.io/csi/d.csi^h-v"]);
  await world.registerAgain();
  await world.done(cleared);
  await world.clock.advance(50);
  assert.equal(calls(), "St Pb Up Us");
  await isClean(world);
});

test("a volume that was unpublished and not yet unstaged when the agent was killed is unstaged by the next", async () => {
  const { world, faults, calls, mounted, unmounted } = await begin();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  faults.set("Us", { status: "Internal" });
  await unmounted(pod);
  world.killAgent();
  faults.clear();
  await world.startAgent();
  assert.deepEqual(world.csi.volumesInUse(), ["kubernetes.io/csi/d.csi^h-v"]);
  await world.registerAgain();
  await world.clock.advance(1_000);
  assert.match(calls(), /^St Pb Up Us Us$/);
  await isClean(world);
});

test("19: requiresRepublish publishes again each minute; a refusal leaves the pod what it has", async () => {
  const { world, faults, calls, mounted, unmounted } = await begin({
    object: { requiresRepublish: true, tokenRequests: [{ audience: "a" }] },
  });
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  assert.match(
    world.driver.publishes[0]?.volumeContext["csi.storage.k8s.io/serviceAccount.tokens"] ?? "",
    /^\{"a":\{"token":"token for a","expirationTimestamp":"20/,
  );
  await world.clock.advance(61_000);
  assert.equal(calls(), "St Pb Pb");
  faults.set("Pb", { status: "Internal" });
  await world.clock.advance(61_000);
  assert.equal(calls(), "St Pb Pb Pb");
  assert.equal(world.driver.present.length, 2);
  faults.clear();
  await world.clock.advance(61_000);
  assert.equal(calls(), "St Pb Pb Pb Pb");
  await unmounted(pod);
  await isClean(world);
});

test("20: a block volume is staged, published, held, and all of it undone", async () => {
  const { world, calls, mounted, unmounted } = await begin();
  world.addVolume("v", { pv: { volumeMode: "Block" } });
  const pod = podOfClaims("p", [], {
    containers: [{ name: "c", volumeDevices: [{ name: "v", devicePath: "/dev/x" }] }],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: "v" } }],
  });
  await mounted(pod);
  assert.equal(calls(), "St Pb");
  const blocks = "/r/plugins/kubernetes.io/csi/volumeDevices";
  assert.equal(world.driver.stages[0]?.stagingTargetPath, `${blocks}/staging/v`);
  assert.equal(world.driver.publishes[0]?.targetPath, `${blocks}/publish/v/p`);
  assert.deepEqual(world.host.volumes.held, [`${blocks}/v/dev/p`]);
  assert.equal(world.events.length, 2);
  await unmounted(pod);
  assert.equal(calls(), "St Pb Up Us");
  assert.deepEqual(await world.host.files.list(blocks).then((all) => all?.map(({ name }) => name)), [
    "publish",
    "staging",
  ]);
  await world.host.files.removeTree(blocks);
  await isClean(world);
});

test("24: a volume for one pod only waits until the first pod is gone", async () => {
  const { world, calls, mounted, unmounted } = await begin();
  world.addVolume("v", { pv: { accessModes: ["ReadWriteOncePod"] } });
  await mounted(podOfClaims("a", ["v"]));
  const second = world.mount(podOfClaims("b", ["v"]));
  await world.clock.advance(1_000);
  assert.equal(calls(), "St Pb");
  assert.match(
    world.events[0] ?? "",
    /MountVolume.SetUp failed for volume "v" : volume uses the ReadWriteOncePod access mode and is already in use by another pod$/,
  );
  await unmounted(podOfClaims("a", ["v"]));
  assert.equal(await world.done(second.over), true);
  assert.equal(calls(), "St Pb Up Pb");
  await unmounted(podOfClaims("b", ["v"]));
  await isClean(world);
});

test("a volume that no controller has attached waits without an event, and goes on when it is", async () => {
  const { world, calls, mounted, unmounted } = await begin({ attaches: false });
  const pod = podOfClaims("p", ["v"]);
  const mount = world.mount(pod);
  await world.clock.advance(30_000);
  assert.equal(calls(), "");
  assert.deepEqual(world.events, []);
  assert.equal(world.objects.asked.includes("volumeattachments"), false);
  world.attach();
  const began = world.clock.monotonic();
  assert.equal(await world.done(mount.over), true);
  assert.ok(world.clock.monotonic() - began < 500);
  await mounted(pod);
  await unmounted(pod);
  await isClean(world);
});

test("a driver that hangs holds up its own volume only, and is given up after two minutes", async () => {
  const { world, faults, calls, mounted, unmounted } = await begin();
  world.addVolume("w");
  faults.set("St", "hang");
  const stuck = world.mount(podOfClaims("p", ["v"]));
  await world.clock.advance(1_000);
  faults.clear();
  await mounted(podOfClaims("q", ["w"]));
  assert.equal(calls(), "St St Pb");
  await world.clock.advance(121_000);
  assert.equal(await world.done(stuck.over), true);
  assert.match(world.events[0] ?? "", /MountVolume.MountDevice failed .* code = DeadlineExceeded/);
  await unmounted(podOfClaims("p", ["v"]));
  await unmounted(podOfClaims("q", ["w"]));
  await isClean(world);
});
