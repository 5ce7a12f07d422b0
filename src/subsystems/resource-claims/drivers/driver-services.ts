/** Which services of a driver are called, of those that it named when it registered. */
import type { RegisteredPlugin } from "../../../api/ports/plugin-handler.ts";
import { DRA_HEALTH, DRA_PLUGIN } from "../../../outside/plugins/plugins.ts";

/** Full names of the services of a driver. */
export interface DriverServices {
  readonly plugin: string;
  /** Where the health of devices is reported; `undefined` when the driver does not. */
  readonly health: string | undefined;
}

/** Drivers name services without their packages; of these two the first that the driver names is called. */
const PLUGIN_SERVICES: ReadonlyMap<string, string> = new Map([
  ["v1.DRAPlugin", DRA_PLUGIN.fullName],
  ["v1beta1.DRAPlugin", DRA_PLUGIN.fullName.replace(".v1.", ".v1beta1.")],
]);

/** In the order in which we prefer them. */
const HEALTH_SERVICES = [DRA_HEALTH.fullName, DRA_HEALTH.fullName.replace("v1.", "v1alpha1.")];

/** The services to call. Throws the error to report to the driver. */
export function servicesOf({ name, socketPath, versions }: RegisteredPlugin): DriverServices {
  const chosen = versions.find((version) => PLUGIN_SERVICES.has(version));
  const plugin = chosen === undefined ? undefined : PLUGIN_SERVICES.get(chosen);
  if (plugin === undefined) {
    const whose = `invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${socketPath}`;
    if (versions.length === 0)
      throw new Error(`${whose}: empty list of supported gRPC services (aka supported versions)`);
    throw new Error(
      `${whose}: none of services supported by the plugin (${list(versions)}) are supported by the kubelet (${list([...PLUGIN_SERVICES.keys()])})`,
    );
  }
  return { plugin, health: HEALTH_SERVICES.find((service) => versions.includes(service)) };
}

/** As Go prints a list of quoted strings. */
const list = (names: readonly string[]): string =>
  `[${names.map((name) => JSON.stringify(name)).join(" ")}]`;
