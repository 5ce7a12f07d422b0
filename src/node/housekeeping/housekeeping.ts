/**
 * Removes folders, logs and cgroups of pods that are no longer known. In: what the
 * machine holds, which pods are known. Invariants: nothing is removed before every source was seen, and nothing
 * of another agent's pods; what a mount still holds is left alone and reported.
 *
 * Example: `startHousekeeping({ roots }, { ...deps, isKnown: (uid) => pipeline.pods.knows(uid) })`.
 */
import { METRICS } from "../../api/metrics/metrics.ts";
import type { Reading } from "../../kit/cell.ts";
import { isOutside } from "../../kit/errors.ts";
import { type ControlLoop, runControlLoop } from "../../kit/loops/control-loop.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Outside } from "../../outside/outside.ts";
import type { Cgroups, FoundPodGroup } from "../../subsystems/cgroups/cgroups.ts";
import type { Neighbors } from "../../subsystems/neighbors/neighbors.ts";
import type { Volumes } from "../../subsystems/volumes/volumes.ts";
import { type OrphanedPodRemains, planOrphans, uidOfLogFolder } from "./plan-orphans.ts";

/** Root folder of the agent and folder of the pods' logs. */
interface HousekeepingOptions {
  readonly roots: { readonly root: string; readonly logs: string };
}

interface HousekeepingDeps {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly cgroups: Cgroups;
  readonly neighbors: Pick<Neighbors, "podsOfOthers">;
  readonly volumes: Pick<Volumes, "clearOrphan">;
  /** Whether every source was seen. */
  readonly seen: Reading<boolean>;
  /** Rises whenever a pod was released. */
  readonly released: Reading<number>;
  readonly isKnown: (uid: string) => boolean;
  readonly metrics: MetricsRegistry;
}

/** Interval between passes when nothing triggers one earlier. */
const PERIOD_MS = 60_000;

/** Starts the loop in the given scope. */
export function startHousekeeping(options: HousekeepingOptions, deps: HousekeepingDeps): void {
  const { clock } = deps.outside;
  const { root } = options.roots;
  const measurePass = orphanMeasures(deps.metrics);
  const loop: ControlLoop<OrphanedPodRemains & { readonly groups: readonly FoundPodGroup[] }> = {
    name: "housekeeping",
    wakeOn: [deps.seen, deps.released],
    everyMs: PERIOD_MS,
    plan: async () => {
      if (!deps.seen.get()) return undefined;
      const found = await findPodRemains(options.roots, deps);
      if (!planOrphans(found, deps.isKnown)) {
        measurePass(NOTHING_CLEARED);
        return undefined;
      }
      // Later than what there is: a pod has its folder before anything else.
      const own = new Set(found.podFolders);
      const others = await deps.neighbors.podsOfOthers();
      const isKept = (uid: string) =>
        deps.isKnown(uid) || (!own.has(uid) && (others?.has(uid) ?? true));
      const orphans = planOrphans(found, isKept);
      return orphans && { ...orphans, groups: found.cgroups.filter(({ uid }) => !isKept(uid)) };
    },
    act: async (orphans) => {
      for (const { uid, qos } of orphans.groups) {
        await remove(deps, uid, `cgroup of pod ${uid}`, () => removeGroup(deps, uid, qos));
      }
      const cleared = { done: 0, failed: 0 };
      for (const uid of orphans.podFolders) {
        const folder = `${root}/pods/${uid}`;
        await remove(deps, uid, folder, async () => {
          await deps.volumes.clearOrphan(uid).catch((error: unknown) => {
            cleared.failed += 1;
            throw error;
          });
          cleared.done += 1;
          await deps.outside.host.podFiles.removeTree(folder);
        });
      }
      measurePass(cleared);
      for (const name of orphans.logFolders) {
        await removeFolder(deps, uidOfLogFolder(name) ?? "", `${options.roots.logs}/${name}`);
      }
    },
  };
  deps.scope.spawn("housekeeping", "restart", async (signal) => {
    await runControlLoop(loop, clock.coalesced, signal);
  });
}

const NOTHING_CLEARED = { done: 0, failed: 0 };

/** Counts what a pass did with volumes of pods that are no longer known. */
function orphanMeasures(
  metrics: MetricsRegistry,
): (cleared: { readonly done: number; readonly failed: number }) => void {
  const done = metrics.gauge(METRICS.kubelet_orphan_pod_cleaned_volumes);
  const failed = metrics.gauge(METRICS.kubelet_orphan_pod_cleaned_volumes_errors);
  const atStart = metrics.counter(METRICS.force_cleaned_failed_volume_operations_total);
  const atStartErrors = metrics.counter(METRICS.force_cleaned_failed_volume_operation_errors_total);
  let isFirst = true;
  return (cleared) => {
    done.set(cleared.done);
    failed.set(cleared.failed);
    if (isFirst) {
      atStart.add({}, cleared.done);
      atStartErrors.add({}, cleared.failed);
    }
    isFirst = false;
  };
}

/**
 * Lists the remains of pods. From a place that cannot be listed nothing is removed, the others are cleaned up all
 * the same; but folders of pods stay as long as it is not known which processes may still write to them.
 */
async function findPodRemains(roots: HousekeepingOptions["roots"], deps: HousekeepingDeps) {
  const foldersAt = (path: string) => listed(deps, path, () => folders(deps.outside, path));
  const cgroups = await listed(deps, "cgroups of pods", () => deps.cgroups.listPods());
  return {
    podFolders: (cgroups && (await foldersAt(`${roots.root}/pods`))) ?? [],
    logFolders: (await foldersAt(roots.logs)) ?? [],
    cgroups: cgroups ?? [],
  };
}

/** Result of `list`; `undefined` when it fails, which is logged. */
async function listed<T>(
  { outside }: HousekeepingDeps,
  place: string,
  list: () => Promise<readonly T[]>,
): Promise<readonly T[] | undefined> {
  try {
    return await list();
  } catch (error) {
    if (!isOutside(error)) throw error;
    outside.log.warn("failed to list leftovers of orphaned pods", { place, error });
    return undefined;
  }
}

async function folders({ host }: Outside, path: string): Promise<readonly string[]> {
  const entries = (await host.podFiles.list(path)) ?? [];
  return entries.filter(({ kind }) => kind === "directory").map(({ name }) => name);
}

function removeFolder(deps: HousekeepingDeps, uid: string, path: string): Promise<void> {
  return remove(deps, uid, path, () => deps.outside.host.podFiles.removeTree(path));
}

/** Removes a pod's cgroup; when processes in it do not exit, throttles their CPU. Throws as `removePod`. */
async function removeGroup(
  { cgroups }: HousekeepingDeps,
  uid: string,
  qos: FoundPodGroup["qos"],
): Promise<void> {
  try {
    await cgroups.removePod(uid, qos);
  } catch (error) {
    await cgroups.squeezePod(uid, qos);
    throw error;
  }
}

/** Asks once more right before: a pod may have come back while others were removed. */
async function remove(
  deps: HousekeepingDeps,
  uid: string,
  what: string,
  act: () => Promise<void>,
): Promise<void> {
  if (deps.isKnown(uid)) return;
  try {
    await act();
    deps.outside.log.verbose(2, "removed leftovers of an orphaned pod", { what });
  } catch (error) {
    deps.outside.log.warn("failed to remove leftovers of an orphaned pod", {
      what,
      error,
    });
  }
}
