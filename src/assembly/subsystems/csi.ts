import { SELINUX_FILE } from "../../config/paths.ts";
import { Csi } from "../../subsystems/csi/csi.ts";
import type { Events } from "../../subsystems/events/events.ts";
import type { ApiClients } from "../clients.ts";
import type { Foundation } from "../foundation.ts";

/** Volumes of CSI drivers: those of an agent before this one are known, drivers may come. */
export async function assembleCsi(
  { options, outside, scope, metrics, node }: Foundation,
  { client, objects, tokens }: Pick<ApiClients, "client" | "objects" | "tokens">,
  { events }: { readonly events: Events },
): Promise<Csi> {
  const { config, nodeName, rootFolder } = options;
  const { clock, grpc, host } = outside;
  const csi = new Csi(
    {
      root: rootFolder,
      nodeName,
      controllerAttaches: config.enableControllerAttachDetach,
      hasSelinux: host.readKernel(SELINUX_FILE) !== undefined,
    },
    {
      grpc,
      clock,
      scope,
      metrics,
      node,
      events,
      files: host.podFiles,
      volumes: host.volumes,
      log: outside.log.child("csi"),
      ...(client ? { client } : {}),
      ...(objects ? { objects } : {}),
      ...(tokens ? { tokens } : {}),
    },
  );
  await csi.start();
  return csi;
}
