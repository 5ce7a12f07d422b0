import type { ContainerState, ContainerStatus, PodStatus } from "../../api/generated/types.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";

type Terminated = NonNullable<ContainerState["terminated"]>;

/**
 * Counts containers that have ended, by what their status shows now and did not show before (status_manager.go
 * TerminatedContainersTotal). One whose successor is already waiting or running is seen in `lastState` and counts, too.
 */
export function terminationCounter(
  metrics: MetricsRegistry,
): (before: PodStatus | undefined, now: PodStatus) => void {
  const total = metrics.counter(METRICS.kubelet_terminated_containers_total);
  return (before, now) => {
    for (const [container_type, list] of [
      ["init_container", "initContainerStatuses"],
      ["container", "containerStatuses"],
      ["ephemeral_container", "ephemeralContainerStatuses"],
    ] as const)
      for (const { exitCode, reason = "" } of endedSince(before?.[list], now[list]))
        total.add({ container_type, exit_code: String(exitCode), reason });
  };
}

function endedSince(
  before: readonly ContainerStatus[] = [],
  now: readonly ContainerStatus[] = [],
): readonly Terminated[] {
  return now.flatMap((status) => {
    const earlier = before.find(({ name }) => name === status.name);
    // What came before the first status is of before the agent observed the pod.
    const ended = earlier
      ? [status.state?.terminated, status.lastState?.terminated]
      : [status.state?.terminated];
    const known = [earlier?.state?.terminated, earlier?.lastState?.terminated];
    const distinct = ended.filter(
      (one, i) => one && !ended.slice(0, i).some((other) => isSameEnd(one, other)),
    );
    return distinct.flatMap((one) =>
      one && !known.some((other) => isSameEnd(one, other)) ? [one] : [],
    );
  });
}

/** A status is derived again, and what is known of an end may become more: it is known by its container. */
function isSameEnd(one: Terminated, other: Terminated | undefined): boolean {
  if (!other) return false;
  if (one.containerID !== undefined && other.containerID !== undefined)
    return one.containerID === other.containerID;
  return one.exitCode === other.exitCode && one.finishedAt === other.finishedAt;
}
