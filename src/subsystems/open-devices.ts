/** Opens the room of devices, and the socket at which monitors ask who has which. */
import type { Pod } from "../api/generated/types.ts";
import type { PodUid } from "../api/observation.ts";
import { podDisplayName } from "../api/pod.ts";
import { deriveRootLayout } from "../config/derive.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { StateFiles } from "../kit/state-files.ts";
import type { Outside } from "../outside/outside.ts";
import {
  Devices,
  followPluginFolder,
  NUMA_NODES_FILE,
  servePodResources,
  topologyOf,
} from "./devices/devices.ts";
import type { Events } from "./events/events.ts";
import type { Journal } from "./journal/journal.ts";

/** How devices are treated, beside what the configuration says. */
export interface DeviceSettings {
  /** How long a pod waits for a plugin that is known but not there; 2 minutes, 0 as the reference. */
  readonly waitMs?: number;
  /** What only init containers needed stays with the pod until it ends, as in the reference. */
  readonly keepInitDevices?: boolean;
}

/** How long a pod waits for a plugin when nobody says how long. */
const DEVICE_WAIT_MS = 120_000;

/** What opening the room takes from the agent's options. */
export interface DeviceOptions {
  readonly config: KubeletConfig;
  readonly rootFolder: string;
  readonly devices?: DeviceSettings;
}

/** What the room is joined with. */
export interface OpenDevicesDeps {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly state: StateFiles;
  readonly metrics: MetricsRegistry;
  readonly events: Events;
  readonly journal: Journal;
  readonly podOf: (uid: PodUid) => Pod | undefined;
  /** Pods that hold what the node has: admitted, and not seen ended. */
  readonly activePods: () => readonly Pod[];
  /** Whether the node's object shows the resource, so that its plugin is worth waiting for. */
  readonly advertised: (resource: string) => boolean;
  /** A pod's devices are well or sick now, or admission's word on them may be another. */
  readonly onDevices: (uid: PodUid, what: "health" | "admission") => void;
}

/** Opens the room: what an earlier life granted is known, plugins may come. Throws `UsageError`. */
export async function openDevices(
  { config, rootFolder, devices = {} }: DeviceOptions,
  deps: OpenDevicesDeps,
): Promise<Devices> {
  const { outside, scope, state, metrics, events, journal } = deps;
  const { podOf, activePods, onDevices, advertised } = deps;
  const { clock, host, grpc } = outside;
  const layout = deriveRootLayout(rootFolder, config.podLogsDir);
  const room = new Devices(
    {
      folder: layout.devicePlugins.directory,
      topology: topologyOf(config, host.readKernel(NUMA_NODES_FILE)),
      deferMs: devices.waitMs ?? DEVICE_WAIT_MS,
      keepInitDevices: devices.keepInitDevices ?? false,
    },
    {
      ...{ grpc, clock, scope, state, metrics, podOf, advertised, files: host.files },
      log: outside.log.child("devices"),
      say: {
        ofNode: (said) => events.ofNode(said),
        ofPod: (pod, said) => events.ofPod(pod, said),
      },
      decide: (pod, because) =>
        journal.record(
          { kind: "pod", name: podDisplayName(pod), uid: pod.metadata?.uid ?? "" },
          because,
        ),
      onPodChanged: onDevices,
    },
  );
  await room.start();
  if (!grpc) return room;
  const log = outside.log.child("devices");
  const common = { grpc, clock, scope, log, files: host.files };
  followPluginFolder(layout.pluginsRegistry, { ...common, plugins: room.plugins });
  servePodResources(layout.podResources.directory, {
    ...{ ...common, metrics, state: room.state, pods: activePods },
  });
  return room;
}
