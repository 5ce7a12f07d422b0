// pure
import type { Container, EphemeralContainer, Pod } from "../../api/generated/types.ts";
import { allContainers, isRestartableInit } from "../../api/pod/pod.ts";
import { type ContainerDemand, type ContainerRole, readContainerDemand } from "./plan/demand.ts";

/** What a container is to its pod, by the list it stands in; one that is not there counts as regular. */
export function roleOf(pod: Pod, name: string): ContainerRole {
  const placed = allContainers(pod).find(({ container }) => container.name === name);
  if (placed?.kind !== "init") return placed?.kind ?? "container";
  return isRestartableInit(placed.container) ? "sidecar" : "init";
}

/** What a container of the pod asks for. `UsageError` on a value that is no quantity. */
export const containerDemand = (
  pod: Pod,
  container: Container | EphemeralContainer,
): ContainerDemand => readContainerDemand(container, roleOf(pod, container.name));
