// Lives of a volume: which calls a driver gets, in which order, at which time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DriverCall, DriverFault } from "../../../test/support/csi-driver.ts";
import { CsiWorld, type CsiWorldOptions, podOfClaims } from "../../../test/support/csi-world.ts";
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
  const calls = () => world.driver.calls.filter((call) => call !== "Gi").join(" ");
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
