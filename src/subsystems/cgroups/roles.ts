// pure
import type { Pod } from "../../api/generated/types.ts";
import { allContainers, isRestartableInit } from "../../api/pod.ts";
import type { ContainerRole } from "./demand.ts";

/** What a container is to its pod, by the list it stands in; one that is not there counts as regular. */
export function roleOf(pod: Pod, name: string): ContainerRole {
  const placed = allContainers(pod).find(({ container }) => container.name === name);
  if (placed?.kind !== "init") return placed?.kind ?? "container";
  return isRestartableInit(placed.container) ? "sidecar" : "init";
}
