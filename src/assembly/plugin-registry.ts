import type { PluginHandlers } from "../api/ports/plugin-handler.ts";
import { deriveRootLayout } from "../config/derive.ts";
import { startPluginRegistry } from "../node/plugin-registry/plugin-registry.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Foundation } from "./foundation.ts";

/** The folder of plugins that wait to be found, with a handler for each kind of them. */
export function assemblePluginRegistry(
  { options, outside, scope, metrics }: Foundation,
  { csi, devices, resourceClaims }: Pick<Subsystems, "csi" | "devices" | "resourceClaims">,
): void {
  const { clock, grpc, host } = outside;
  const { pluginsRegistry } = deriveRootLayout(options.rootFolder, options.config.podLogsDir);
  const log = outside.log.child("plugins");
  const handlers: PluginHandlers = {
    CSIPlugin: csi.plugins,
    DevicePlugin: devices.plugins,
    DRAPlugin: resourceClaims.drivers,
  };
  startPluginRegistry(pluginsRegistry, {
    grpc,
    files: host.files,
    clock,
    log,
    scope,
    metrics,
    handlers,
  });
}
