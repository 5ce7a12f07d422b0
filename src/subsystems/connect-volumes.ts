import type { LabelSet } from "../api/labels.ts";
import type { ResourceAmounts } from "../api/pod-resources.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type {
  KubeClient,
  ObjectSource,
  ServiceAccountTokens,
  ServiceList,
} from "../outside/kube/kube.ts";
import type { Outside } from "../outside/outside.ts";
import { generateKeyOfType } from "../outside/x509/x509.ts";
import { Environments } from "./environment/environment.ts";
import type { Events } from "./events/events.ts";
import { PodCertificates, type VolumeEvent, Volumes } from "./volumes/volumes.ts";

/** What volumes and environments are told. */
export interface VolumeSettings {
  readonly config: KubeletConfig;
  readonly nodeName: string;
  readonly rootFolder: string;
}

/** What they stand on. */
export interface VolumeGround {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  /** What pods may use of the node. */
  readonly allocatable: ResourceAmounts;
  readonly objects?: ObjectSource;
  readonly tokens?: ServiceAccountTokens;
  readonly services?: ServiceList;
  readonly client?: KubeClient;
  /** Labels of the node's object; absent where there is no API server. */
  readonly nodeLabels?: () => LabelSet | undefined;
}

/** Volumes, and environments, which read files of volumes. */
export function connectVolumes(
  { config, nodeName, rootFolder }: VolumeSettings,
  ground: VolumeGround,
  events: Pick<Events, "ofPod" | "record">,
): { readonly volumes: Volumes; readonly environments: Environments } {
  const { outside, scope, metrics, allocatable, objects, tokens, services, client } = ground;
  const { nodeLabels } = ground;
  const { clock, random, host } = outside;
  const certificates =
    client &&
    new PodCertificates({
      ...{ client, clock, random, scope, metrics, nodeName, newKey: generateKeyOfType },
      log: outside.log.child("podcertificate"),
      say: (pod, event) => events.ofPod(pod, event),
    });
  const roots = { root: rootFolder, logs: config.podLogsDir };
  const volumes = new Volumes(
    { roots, clusterDomain: config.clusterDomain, allocatable },
    {
      ...{ clock, files: host.podFiles, volumes: host.volumes },
      ...(objects ? { objects } : {}),
      ...(tokens ? { tokens } : {}),
      ...(certificates ? { certificates } : {}),
      ...{ metrics, diskUsage: (path: string) => host.diskUsage(path) },
      readKernel: (path) => host.readKernel(path),
      ...(nodeLabels ? { nodeLabels } : {}),
      onFault: (pod, message, reason) => events.ofPod(pod, { type: "Warning", reason, message }),
      say: (event) => sayOf(event, events),
    },
  );
  scope.spawn("volumes", "restart", (signal) => volumes.keepFresh(signal));
  const environments = new Environments(
    { nodeName, allocatable },
    {
      ...(objects ? { objects } : {}),
      ...(services ? { services } : {}),
      readVolumeFile: (pod, volume, path) => volumes.readFile(pod, volume, path),
    },
  );
  return { volumes, environments };
}

function sayOf(event: VolumeEvent, events: Pick<Events, "ofPod" | "record">): void {
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
