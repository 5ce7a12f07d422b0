// pure
import { isHostNetworkPod } from "../../../api/pod/pod.ts";
import { livingContainers, newestSandbox } from "./observed.ts";
import type { PodRecord } from "./record.ts";
import { hasRegularAttempt, type PodStandings } from "./standing.ts";

/** Problems with the pod's sandboxes; `undefined` when the newest can be used. */
export function sandboxFault(record: PodRecord): string | undefined {
  const { observed, pod, prerequisites } = record;
  const newest = newestSandbox(observed);
  if (!newest) return "no sandbox";
  if (prerequisites.cgroup === "absent" && livingContainers(observed).length > 0)
    return "pod cgroup was missing";
  if (observed.sandboxes.filter(({ ready }) => ready).length > 1) return "several ready sandboxes";
  if (!newest.ready) return "sandbox not ready";
  if (newest.hostNetwork !== isHostNetworkPod(pod)) return "network mode changed";
  if (!newest.hostNetwork && newest.ips.length === 0) return "sandbox has no address";
  return undefined;
}

/**
 * Whether the sandbox is gone for good: it is not replaced when nothing would run in the new one, or when
 * something already ran and the pod must never start anything twice.
 */
export function cannotGoOn(record: PodRecord, standings: PodStandings): boolean {
  const { observed, pod } = record;
  if (observed.sandboxes.length === 0 || sandboxFault(record) === undefined) return false;
  const anyStarted = observed.containers.some(({ state }) => state !== "created");
  if (pod.spec?.restartPolicy === "Never" && anyStarted) return true;
  const isDone = standings.regular.every(({ restart }) => restart?.restart === false);
  return isDone && hasRegularAttempt(standings);
}
