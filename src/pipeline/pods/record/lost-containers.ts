// pure
import type { PodStatus } from "../../../api/generated/types.ts";
import type { Observation, ObservedContainer } from "../../../api/observation.ts";
import type { LostContainers, PodRecord } from "./record.ts";
import { EXIT_CODE_UNKNOWN } from "./restart.ts";

/** Containers that the record observed and that `now` is without. */
export function lostSince({ pod, observed, tracked }: PodRecord, now: Observation): LostContainers {
  const next: Record<string, number> = {};
  for (const { name } of pod.spec?.containers ?? []) {
    if (now.containers.some((attempt) => attempt.name === name)) continue;
    const seen = observed.containers.find((each) => each.name === name && each.outdated !== true);
    if (seen && seen.state !== "created") next[name] = exitCodeOf(seen);
    else if (tracked.lost[name] !== undefined) next[name] = tracked.lost[name];
  }
  return next;
}

function exitCodeOf({ state, exitCode }: ObservedContainer): number {
  return state === "exited" ? exitCode : EXIT_CODE_UNKNOWN;
}

/** Containers that were lost while no agent ran, judged by the status that was published last. */
export function lostBefore(
  published: PodStatus | undefined,
  observed: Pick<Observation, "containers">,
): LostContainers {
  const lost: Record<string, number> = {};
  for (const { name, state, lastState } of published?.containerStatuses ?? []) {
    if (observed.containers.some((attempt) => attempt.name === name)) continue;
    const ended = state?.terminated ?? (state?.running ? undefined : lastState?.terminated);
    if (ended) lost[name] = ended.exitCode;
    else if (state?.running) lost[name] = EXIT_CODE_UNKNOWN;
  }
  return lost;
}
