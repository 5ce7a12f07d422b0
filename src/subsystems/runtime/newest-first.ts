// pure
import type { ObservedContainer, ObservedSandbox } from "../../api/observation.ts";

/** Sandboxes of a pod, newest first: by their number, since the clock may have been set back between two of them. */
export function newestSandboxFirst(
  sandboxes: readonly ObservedSandbox[],
): readonly ObservedSandbox[] {
  return sandboxes.toSorted((a, b) => b.attempt - a.attempt || b.createdAtMs - a.createdAtMs);
}

/**
 * Containers of a pod, newest first. Of one name the restart count decides, whatever the times say: where the clock was
 * set back, a container was created before the one that it follows. Between names it is the time.
 */
export function newestContainerFirst(
  containers: readonly ObservedContainer[],
): readonly ObservedContainer[] {
  const byTime = containers.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  const byName = new Map<string, ObservedContainer[]>();
  for (const container of byTime)
    byName.set(container.name, [...(byName.get(container.name) ?? []), container]);
  for (const attempts of byName.values()) attempts.sort((a, b) => b.restartCount - a.restartCount);
  return byTime.flatMap(({ name }) => byName.get(name)?.shift() ?? []);
}
