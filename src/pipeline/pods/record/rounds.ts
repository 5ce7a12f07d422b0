// pure
/**
 * Rounds: how often all containers of a pod were restarted (restart rule RestartAllContainers). Every
 * attempt carries the round it was made in; one that ended by such a rule ends its round. The round is read
 * from what the runtime has, so that an agent that dies half way goes on where it was.
 */

import type { Container, Pod } from "../../../api/generated/types.ts";
import type { Observation, ObservedContainer } from "../../../api/observation.ts";
import { mayRestartAll, restartVerdict } from "../../../api/pod/pod.ts";
import { largest } from "../../../kit/limits/lists.ts";

/** The containers that a round restarts: all but ephemeral ones. */
const roundOf = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

/** Whether this end has all containers of the pod restarted. */
export function restartsAll(pod: Pod, container: Container, attempt: ObservedContainer): boolean {
  if (attempt.state !== "exited") return false;
  return restartVerdict(pod, container, attempt.exitCode) === "restartAllContainers";
}

/** The round that attempts made now belong to. */
export function currentRound(pod: Pod, { containers }: Observation): number {
  if (!mayRestartAll(pod)) return 0;
  const own = roundOf(pod);
  const rounds = containers.flatMap((attempt) => {
    const container = own.find(({ name }) => name === attempt.name);
    if (!container) return [];
    return [(attempt.round ?? 0) + (restartsAll(pod, container, attempt) ? 1 : 0)];
  });
  return largest(rounds, 0);
}

/** The observation with the attempts marked that belong to a round that is over. */
export function inRounds(pod: Pod, observed: Observation): Observation {
  const round = currentRound(pod, observed);
  if (round === 0) return observed;
  const names = new Set(roundOf(pod).map(({ name }) => name));
  const containers = observed.containers.map((attempt) =>
    names.has(attempt.name) && (attempt.round ?? 0) < round
      ? { ...attempt, outdated: true as const }
      : attempt,
  );
  return { ...observed, containers };
}

/** Attempts of a round that is over which (may) have a living process. */
export function livingOutdated({ containers }: Observation): readonly ObservedContainer[] {
  return containers.filter(
    ({ outdated, state }) => outdated === true && (state === "running" || state === "unknown"),
  );
}

/** Whether a round is over and the next one has not begun. */
export function isBetweenRounds(pod: Pod, observed: Observation): boolean {
  if (!observed.containers.some(({ outdated }) => outdated === true)) return false;
  if (livingOutdated(observed).length > 0) return true;
  const names = new Set(roundOf(pod).map(({ name }) => name));
  return !observed.containers.some(({ name, outdated }) => names.has(name) && outdated !== true);
}
