// pure
import type { Container, EphemeralContainer, Pod } from "../../../api/generated/types.ts";
import { type ContainerKind, findContainer, initContainerKind } from "../../../api/pod/pod.ts";
import { type ContainerDemand, readContainerDemand } from "./demand.ts";

/** How a container counts in its pod; one that its spec does not name counts as regular. */
function kindOf(pod: Pod, name: string): ContainerKind {
  const placed = findContainer(pod, name);
  if (placed?.kind === "init") return initContainerKind(placed.container);
  return placed?.kind === "ephemeral" ? "ephemeral" : "regular";
}

/** Requests and limits of a container of the pod. `UsageError` on a value that is not a quantity. */
export const containerDemand = (
  pod: Pod,
  container: Container | EphemeralContainer,
): ContainerDemand => readContainerDemand(container, kindOf(pod, container.name));
