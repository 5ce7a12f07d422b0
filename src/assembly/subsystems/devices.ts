import { deriveRootLayout } from "../../config/derive.ts";
import { topologyOf } from "../../config/topology.ts";
import { Devices } from "../../subsystems/devices/devices.ts";
import type { Events } from "../../subsystems/events/events.ts";
import type { Journal } from "../../subsystems/journal/journal.ts";
import type { Foundation } from "../foundation.ts";

/** Default time that a pod waits for a plugin. */
const DEVICE_WAIT_MS = 120_000;
/** Default timeout of a plugin's `Allocate`. */
const DEVICE_ALLOCATE_MS = 30_000;

/**
 * Devices: what was granted before a restart is known, plugins may come. Throws `UsageError`.
 */
export async function assembleDevices(
  base: Foundation,
  { events, journal }: { readonly events: Events; readonly journal: Journal },
): Promise<Devices> {
  const { options, outside, scope, state, metrics, podFacts, news, node } = base;
  const { config, rootFolder, devices: settings = {} } = options;
  const { clock, host, grpc } = outside;
  const layout = deriveRootLayout(rootFolder, config.podLogsDir);
  const log = outside.log.child("devices");
  const devices = new Devices(
    {
      folder: layout.devicePlugins.directory,
      numaNodes: topologyOf(config, (path) => host.readKernel(path)).nodes,
      deferMs: settings.waitMs ?? DEVICE_WAIT_MS,
      allocateMs: settings.allocateMs ?? DEVICE_ALLOCATE_MS,
      keepInitDevices: settings.keepInitDevices ?? false,
    },
    {
      grpc,
      clock,
      scope,
      state,
      metrics,
      news,
      pods: podFacts,
      files: host.files,
      log,
      advertised: (resource) => node.get()?.status?.capacity?.[resource],
      events,
      decisions: journal,
    },
  );
  await devices.start();
  return devices;
}
