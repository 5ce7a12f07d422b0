// pure
import type { ReadingMap } from "../kit/cell-map.ts";
import type { Observation, PodUid } from "./observation.ts";
import type { IdentifiedPod } from "./pod-identity.ts";

/** Life of a pod; it only moves forward. */
export type PodLifeName = "waiting" | "running" | "terminating" | "terminated" | "released";

/** Facts about one pod for other modules. Immutable. */
export interface PodFact {
  readonly uid: PodUid;
  /** With the resources that it was given. */
  readonly pod: IdentifiedPod;
  readonly life: PodLifeName;
  /** Whether something is being done for it that nothing holds up: it is observed right after that. */
  readonly busy: boolean;
  /** Its last observation. */
  readonly observed: Observation;
}

/** Everything that other modules may know of pods, by UID. The pipeline is its writer. */
export type PodFacts = ReadingMap<PodUid, PodFact>;

/** Whether nothing that modules may know of the pod has changed. */
export function isSameFact(before: PodFact, now: PodFact): boolean {
  return (
    before.pod === now.pod &&
    before.life === now.life &&
    before.busy === now.busy &&
    before.observed === now.observed
  );
}

/** Whether the pod holds what the node has. */
export function isActive({ life }: PodFact): boolean {
  return life === "running" || life === "terminating";
}

/** Pods that hold what the node has: admitted, and not seen ended. */
export function activePods(facts: Pick<PodFacts, "values">): readonly IdentifiedPod[] {
  return facts
    .values()
    .filter(isActive)
    .map(({ pod }) => pod);
}

/** Pods that have or may get containers: their images are kept. */
export function desiredPods(facts: Pick<PodFacts, "values">): readonly IdentifiedPod[] {
  return facts
    .values()
    .filter(({ life }) => life === "waiting" || life === "running")
    .map(({ pod }) => pod);
}
