import { Environments } from "../../subsystems/environment/environment.ts";
import type { Events } from "../../subsystems/events/events.ts";
import type { Volumes } from "../../subsystems/volumes/volumes.ts";
import type { ApiClients } from "../clients.ts";
import type { Foundation } from "../foundation.ts";

/** Environments of containers, which read files of volumes. */
export function assembleEnvironments(
  { options, capacity }: Foundation,
  { objects, services }: Pick<ApiClients, "objects" | "services">,
  { events, volumes }: { readonly events: Events; readonly volumes: Volumes },
): Environments {
  return new Environments(
    { nodeName: options.nodeName, allocatable: capacity.allocatable },
    {
      ...(objects ? { objects } : {}),
      ...(services ? { services } : {}),
      readVolumeFile: (pod, volume, path) => volumes.readFile(pod, volume, path),
      events,
    },
  );
}
