import type { PodStatus } from "../../src/api/generated/types.ts";

/** What of all pods must not change when only the agent is another one: phases, conditions, containers, addresses. */
export function essence(statuses: ReadonlyMap<string, PodStatus>): string {
  return JSON.stringify(
    [...statuses]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([uid, { phase, conditions, containerStatuses, podIP, startTime }]) => ({
        uid,
        phase,
        conditions,
        containerStatuses,
        podIP,
        startTime,
      })),
  );
}
