import { VOLUMES_PROGRESS } from "../../api/pod-news.ts";
import { generateKeyOfType } from "../../outside/x509/x509.ts";
import type { Events } from "../../subsystems/events/events.ts";
import { PodCertificates, type VolumeEvent, Volumes } from "../../subsystems/volumes/volumes.ts";
import type { ApiClients } from "../clients.ts";
import type { Foundation } from "../foundation.ts";

/** Volumes of pods, kept fresh in the scope. */
export function assembleVolumes(
  base: Foundation,
  { client, objects, tokens }: Pick<ApiClients, "client" | "objects" | "tokens">,
  { events }: { readonly events: Events },
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
  const volumes = new Volumes(
    { roots, clusterDomain: config.clusterDomain, allocatable },
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
      recordFailure: (pod, message, reason) => {
        events.ofPod(pod, { type: "Warning", reason, message });
        const uid = pod.metadata.uid;
        news.publish({ kind: "progress", uid, container: VOLUMES_PROGRESS, message });
      },
      recordEvent: (event) => recordVolumeEvent(event, events),
    },
  );
  scope.spawn("volumes", "restart", (signal) => volumes.keepFresh(signal));
  return volumes;
}

function recordVolumeEvent(event: VolumeEvent, events: Pick<Events, "ofPod" | "record">): void {
  const { reason, message } = event;
  switch (event.reason) {
    case "SuccessfulMountVolume":
      events.ofPod(event.about, { type: "Normal", reason, message });
      break;
    case "AlreadyMountedVolume":
      events.ofPod(event.about, { type: "Warning", reason, message });
      break;
    case "FailedMountOnFilesystemMismatch": {
      const { name = "", uid = "" } = event.about.metadata ?? {};
      const volume = { apiVersion: "v1", kind: "PersistentVolume", name, uid };
      events.record(volume, { type: "Warning", reason, message });
      break;
    }
    default:
      event satisfies never;
  }
}
