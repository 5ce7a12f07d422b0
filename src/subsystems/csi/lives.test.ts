// Lives of a volume: which calls a driver gets, in which order, at which time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { podOfClaims } from "../../../test/support/csi-disk.ts";
import type { DriverCall, DriverFault } from "../../../test/support/csi-driver.ts";
import { assertClean, beginLife, NEVER, pauses } from "../../../test/support/csi-life.ts";
import { DRIVER } from "../../../test/support/csi-world.ts";

test("1: attach, stage, publish; unpublish, unstage; in use from before the one until after the other", async () => {
  const { world, calls, mounted, unmounted } = await beginLife();
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
  await assertClean(world);
});

test("2: a driver that needs no attaching is never in use for a controller", async () => {
  const { world, calls, mounted, unmounted } = await beginLife({
    object: { attachRequired: false },
    attaches: false,
  });
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  assert.deepEqual(world.csi.volumesInUse(), []);
  assert.equal(world.objects.asked.includes("volumeattachments"), false);
  await unmounted(pod);
  assert.equal(calls(), "St Pb Up Us");
  await assertClean(world);
});

test("3: a driver that stages nothing publishes alone, and leaves no folder", async () => {
  const { world, calls, mounted, unmounted } = await beginLife({
    driver: { abilities: { stages: false } },
  });
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  assert.equal(world.driver.publishes[0]?.stagingTargetPath, "");
  await unmounted(pod);
  assert.equal(calls(), "Pb Up");
  await assertClean(world);
});

test("4: an inline volume is published under a handle of its own", async () => {
  const { world, calls, mounted, unmounted } = await beginLife({
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
  await assertClean(world);
});

test("5: a second pod of a volume gets what is staged; the last that goes unstages it", async () => {
  const { world, calls, mounted, unmounted } = await beginLife();
  const [a, b] = [podOfClaims("a", ["v"]), podOfClaims("b", ["v"])];
  await mounted(a);
  await mounted(b);
  assert.equal(calls(), "St Pb Pb");
  await unmounted(a);
  assert.equal(calls(), "St Pb Pb Up");
  await unmounted(b);
  assert.equal(calls(), "St Pb Pb Up Up Us");
  await assertClean(world);
});

test("6: staging that gets no answer in time is tried again after 0.5, 1, 2 s", async () => {
  const { world, faults, timed, calls, mounted, unmounted } = await beginLife();
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
  await assertClean(world);
});

/** Tries to mount for some time, then ends the pod. */
async function attempted(
  { world, unmounted }: Awaited<ReturnType<typeof beginLife>>,
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
    const life = await beginLife();
    life.faults.set(call, fault);
    await attempted(life, 5_000);
    const calls = life.calls().split(" ");
    assert.equal(calls.filter((each, i) => each !== calls[i - 1]).join(" "), expect);
    await assertClean(life.world);
  });

test("9: staging that got no answer and then was refused is not undone", async () => {
  const life = await beginLife();
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
  await assertClean(life.world);
});

test("12: a volume that could not be given to the pod's group is taken away again", async () => {
  const life = await beginLife();
  life.world.addVolume("v", { csi: { fsType: "ext4" } });
  life.world.faulty.add("giveToGroup");
  const pod = podOfClaims("p", ["v"], { securityContext: { fsGroup: 42 } });
  const mount = life.world.mount(pod);
  await life.world.clock.advance(400);
  mount.stop();
  await mount.over;
  await life.unmounted(pod);
  assert.equal(life.calls(), "St Pb Up Us");
  await assertClean(life.world);
});

test("13: a volume whose driver has not registered waits for it, and goes on at once when it has", async () => {
  const { world, timed, calls, mounted, unmounted } = await beginLife();
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
  await assertClean(world);
});

test("14: unpublishing that fails is tried again after 0.5 and 1 s; a new pod in between is published", async () => {
  const { world, faults, timed, calls, mounted } = await beginLife();
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
  await assertClean(world);
});

test("15: a new pod that comes while unstaging fails is staged and published at once", async () => {
  const { world, faults, calls, mounted, unmounted } = await beginLife();
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
  await assertClean(world);
});
