// pure
import type { Pod, Volume } from "../../api/generated/types.ts";
import type { Observation } from "../../api/observation.ts";
import type { WallMs } from "../../kit/clock.ts";

type Span = readonly [from: WallMs, to: WallMs];

/** Volumes that a pod may have and still counts as one without state (pod startup latency SLI). */
const STATELESS: readonly (keyof Volume)[] = [
  "secret",
  "configMap",
  "downwardAPI",
  "projected",
  "emptyDir",
];

/** Whether the pod keeps nothing on volumes of its own: others are not in the objective for starts. */
export function isStateless({ spec }: Pod): boolean {
  return (spec?.volumes ?? []).every((volume) =>
    Object.keys(volume).every((key) => key === "name" || STATELESS.includes(key as keyof Volume)),
  );
}

/** Time that went into pulling images and into init containers, which the objective leaves out; overlaps count once. */
export function slowPartsMs({ containers }: Observation, pulls: readonly Span[]): number {
  const ended = containers.flatMap(({ startedAtMs, finishedAtMs, state }): readonly Span[] =>
    state === "exited" && startedAtMs !== undefined && finishedAtMs !== undefined
      ? [[startedAtMs, finishedAtMs]]
      : [],
  );
  let sum = 0;
  let until = 0;
  for (const [from, to] of [...pulls, ...ended].sort(([a], [b]) => a - b)) {
    sum += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return sum;
}
