// pure
import { isHostNetworkPod } from "../../../api/pod/pod.ts";
import { livingContainers, newestSandbox } from "./observed.ts";
import type { PodRecord } from "./record.ts";
import { hasRegularAttempt, type PodStandings } from "./standing.ts";

/** Why no container can be started in what a pod has of sandboxes, in the words of decisions. */
type SandboxFault =
  | "no sandbox"
  | "several ready sandboxes"
  | "sandbox not ready"
  | "network mode changed"
  | "sandbox has no address";

/** Problems with the pod's sandboxes; `undefined` when the newest can be used. */
export function sandboxFault(
  record: PodRecord,
): SandboxFault | "pod cgroup was missing" | undefined {
  const { observed, prerequisites } = record;
  const isOutsideCgroup =
    prerequisites.cgroup === "absent" && livingContainers(observed).length > 0;
  if (newestSandbox(observed) && isOutsideCgroup) return "pod cgroup was missing";
  return observedFault(record);
}

/** What is wrong with the sandboxes at the runtime, in the Go kubelet's order (kuberuntime util PodSandboxChanged). */
function observedFault({
  observed,
  pod,
}: Pick<PodRecord, "observed" | "pod">): SandboxFault | undefined {
  const newest = newestSandbox(observed);
  if (!newest) return "no sandbox";
  if (observed.sandboxes.filter(({ ready }) => ready).length > 1) return "several ready sandboxes";
  if (!newest.ready) return "sandbox not ready";
  if (newest.hostNetwork !== isHostNetworkPod(pod)) return "network mode changed";
  if (!newest.hostNetwork && newest.ips.length === 0) return "sandbox has no address";
  return undefined;
}

const NOT_READY: Readonly<Record<SandboxFault, string>> = {
  "no sandbox": "no pod sandbox exists",
  "several ready sandboxes": "multiple pod sandboxes are ready and need to be reconciled",
  "sandbox not ready": "pod sandbox is not ready",
  "network mode changed": "network namespace mode changed and sandbox needs to be recreated",
  "sandbox has no address": "pod sandbox has no IP address",
};

/** Why the pod's containers cannot be started yet, in the Go kubelet's words; `undefined` when they can. */
export function sandboxNotReady(record: Pick<PodRecord, "observed" | "pod">): string | undefined {
  const fault = observedFault(record);
  return fault && NOT_READY[fault];
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
