import { gatesInForce } from "../../config/gates/feature-gates.ts";
import { generateKeyOfType } from "../../outside/x509/x509.ts";
import type { Csi } from "../../subsystems/csi/csi.ts";
import type { Events } from "../../subsystems/events/events.ts";
import { PodCertificates, Volumes } from "../../subsystems/volumes/volumes.ts";
import type { ApiClients } from "../clients.ts";
import type { Foundation } from "../foundation.ts";

/** Volumes of pods, kept fresh in the scope. */
export function assembleVolumes(
  base: Foundation,
  { client, objects, tokens }: Pick<ApiClients, "client" | "objects" | "tokens">,
  { csi, events }: { readonly csi: Csi; readonly events: Events },
): Volumes {
  const { options, outside, scope, metrics, capacity, node, news } = base;
  const { config, nodeName, rootFolder } = options;
  const { clock, random, host } = outside;
  const certificates =
    client &&
    new PodCertificates({
      client,
      clock,
      random,
      scope,
      metrics,
      nodeName,
      newKey: generateKeyOfType,
      log: outside.log.child("podcertificate"),
      events,
    });
  const roots = { root: rootFolder, logs: config.podLogsDir };
  const { allocatable } = capacity;
  const emptyDirModes = gatesInForce(config).isEnabled("EmptyDirVolumeMode");
  const volumes = new Volumes(
    { roots, clusterDomain: config.clusterDomain, allocatable, emptyDirModes },
    {
      clock,
      files: host.podFiles,
      volumes: host.volumes,
      ...(objects ? { objects } : {}),
      ...(tokens ? { tokens } : {}),
      ...(certificates ? { certificates } : {}),
      metrics,
      diskUsage: (path: string) => host.diskUsage(path),
      readKernel: (path) => host.readKernel(path),
      nodeLabels: () => node.get()?.metadata?.labels,
      csi: csi.volumes,
      events,
      news,
    },
  );
  scope.spawn("volumes", "restart", (signal) => volumes.keepFresh(signal));
  return volumes;
}
