// pure
import type { ObservedContainer, ObservedSandbox } from "../../api/observation.ts";

/** Sandboxes of a pod, newest first: by their number, since the clock may have been set back between two of them. */
export function newestSandboxFirst(
  sandboxes: readonly ObservedSandbox[],
): readonly ObservedSandbox[] {
  return sandboxes.toSorted((a, b) => b.attempt - a.attempt || b.createdAtMs - a.createdAtMs);
}

/**
 * Containers of a pod, newest first. Of one name it is first their sandbox that decides, then the restart count, whatever
 * the times say: where the clock was set back, a container was created before the one that it follows. The sandbox comes
 * first because counts can restart in a new one. Between names it is the time.
 * `sandboxes` are those of the pod, newest first; a container without any of them is older than all others.
 */
export function newestContainerFirst(
  containers: readonly ObservedContainer[],
  sandboxes: readonly Pick<ObservedSandbox, "id">[],
): readonly ObservedContainer[] {
  const places = new Map(sandboxes.map(({ id }, place) => [id, place]));
  const placeOf = ({ sandboxId }: ObservedContainer) => places.get(sandboxId) ?? sandboxes.length;
  const byTime = containers.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  const byName = new Map<string, ObservedContainer[]>();
  for (const container of byTime)
    byName.set(container.name, [...(byName.get(container.name) ?? []), container]);
  for (const attempts of byName.values())
    attempts.sort((a, b) => placeOf(a) - placeOf(b) || b.restartCount - a.restartCount);
  return byTime.flatMap(({ name }) => byName.get(name)?.shift() ?? []);
}
