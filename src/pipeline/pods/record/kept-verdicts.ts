// pure
import type { PodStatus } from "../../../api/generated/types.ts";
import type { Observation } from "../../../api/observation.ts";
import type { ProbeVerdicts, TrackedContainers } from "./record.ts";

/**
 * Probe results from before the agent was started again, read from the status that was published
 * then: a container that was started or ready, and still is the same one, stays so until its probes say
 * otherwise. The Go kubelet goes by ages instead (10 s) and lets younger containers fall back; a
 * container's id leaves no doubt.
 */
export function keptVerdicts(
  observed: Observation,
  published: PodStatus | undefined,
): TrackedContainers["probes"] {
  const statuses = [
    ...(published?.containerStatuses ?? []),
    ...(published?.initContainerStatuses ?? []),
  ];
  const kept: Record<string, ProbeVerdicts> = {};
  for (const { name, containerID, started, ready } of statuses) {
    const containerId = containerID?.replace(/^[^:]*:\/\//, "");
    const runs = observed.containers.some(
      (attempt) =>
        attempt.id === containerId && attempt.name === name && attempt.state === "running",
    );
    if (!runs || containerId === undefined || started !== true) continue;
    kept[name] = {
      containerId,
      startup: "success",
      ...(ready ? { readiness: "success" } : {}),
    };
  }
  return kept;
}
