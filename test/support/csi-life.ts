/** One volume of a driver in memory, whose calls tests compare with tables. */
import assert from "node:assert/strict";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { DriverCall, DriverFault } from "./csi-driver.ts";
import { CsiWorld, type CsiWorldOptions } from "./csi-world.ts";

/** A signal that is never aborted. */
export const NEVER = new AbortController().signal;

/** A world with one volume `v`, and faults that tests switch. */
export async function beginLife(options: CsiWorldOptions = {}) {
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
export function pauses(timed: readonly string[], call: string): readonly number[] {
  const times = timed
    .filter((each) => each.startsWith(`${call}@`))
    .map((each) => Number(each.split("@")[1]));
  return times.slice(1).map((at, i) => Math.round((at - (times[i] ?? 0)) / 100) / 10);
}

/** Nothing of the driver is left: no mount, no folder, no volume in use. */
export async function assertClean(world: CsiWorld): Promise<void> {
  assert.deepEqual(world.driver.violations, []);
  assert.deepEqual(world.driver.present, []);
  assert.deepEqual(world.host.volumes.mounted, []);
  assert.deepEqual(world.csi.volumes.list(), []);
  assert.deepEqual(world.csi.volumesInUse(), []);
  assert.deepEqual((await world.host.files.list("/r/plugins/kubernetes.io/csi/d.csi")) ?? [], []);
}
