// What modules may know of pods, as tests set it.
import type { PodFact, PodFacts } from "../../src/api/pod-facts.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { MonotonicMs } from "../../src/kit/clock.ts";

/** A pod that runs, with what else the test says. */
export function aFact(pod: IdentifiedPod, more: Partial<PodFact> = {}): PodFact {
  return {
    uid: pod.metadata.uid,
    pod,
    life: "running",
    busy: false,
    observed: { asOf: 0 as MonotonicMs, sandboxes: [], containers: [] },
    ...more,
  };
}

/** Nothing is known of any pod. */
export const NO_FACTS: Pick<PodFacts, "get" | "values"> = {
  get: () => undefined,
  values: () => [],
};

/** Pods that run, as `list` says at the time. */
export function factsOf(list: () => Iterable<IdentifiedPod>): Pick<PodFacts, "get" | "values"> {
  const values = () => [...list()].map((pod) => aFact(pod));
  return { get: (uid) => values().find((fact) => fact.uid === uid), values };
}
