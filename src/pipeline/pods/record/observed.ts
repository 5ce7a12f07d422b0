// pure
import type { Observation, ObservedContainer, ObservedSandbox } from "../../../api/observation.ts";
import type { PodRecord } from "./record.ts";

/** The sandbox that counts: the newest. */
export function newestSandbox(observed: Observation): ObservedSandbox | undefined {
  return observed.sandboxes[0];
}

/** The newest attempt of a container that counts, within one sandbox. */
export function attemptIn(
  observed: Observation,
  sandboxId: string,
  name: string,
): ObservedContainer | undefined {
  return observed.containers.find(
    (container) =>
      container.name === name && container.sandboxId === sandboxId && container.outdated !== true,
  );
}

/** Attempts that (may) have a living process. */
export function livingContainers(observed: Observation): readonly ObservedContainer[] {
  return observed.containers.filter(({ state }) => state === "running" || state === "unknown");
}

/**
 * Whether nothing of the pod is left on the node but its dead containers and its folders: the API may
 * let it go.
 */
export function isReleasable({ life, observed, prerequisites }: PodRecord): boolean {
  if (life.kind === "released") return true;
  return (
    life.kind === "terminated" &&
    prerequisites.volumes === "absent" &&
    prerequisites.cgroup === "absent" &&
    !observed.sandboxes.some(({ ready }) => ready)
  );
}
