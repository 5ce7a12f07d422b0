// pure
import type { PodStatus } from "../../../api/generated/types.ts";
import type { Observation, ObservedContainer } from "../../../api/observation.ts";
import { latestAttempt } from "./observed.ts";
import type { LostContainers, PodRecord } from "./record.ts";
import { type EndedAttempt, EXIT_CODE_UNKNOWN, regularContainers } from "./restart.ts";

/** Containers that the record observed and `now` lacks. */
export function lostSince({ pod, observed, tracked }: PodRecord, now: Observation): LostContainers {
  const next: Record<string, number> = {};
  for (const { container } of regularContainers(pod)) {
    const { name } = container;
    if (now.containers.some((attempt) => attempt.name === name)) continue;
    const seen = latestAttempt(observed, name);
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

/** How the container last ended, if it has and nothing of it is there since. */
export function lastEnd({ observed, tracked }: PodRecord, name: string): EndedAttempt | undefined {
  const attempt = latestAttempt(observed, name);
  if (attempt) return attempt.state === "exited" ? attempt : undefined;
  const exitCode = tracked.lost[name];
  return exitCode === undefined ? undefined : { exitCode };
}
