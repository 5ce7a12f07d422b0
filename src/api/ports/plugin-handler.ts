// pure

/** The kinds of plugins that are registered through the registry folder, by the names that plugins give (pluginregistration `PluginInfo.type`). */
type PluginKind = "CSIPlugin" | "DevicePlugin" | "DRAPlugin";

/** A plugin that asks to be registered. */
export interface RegisteredPlugin {
  /** Its name: of a device plugin the resource, of others the driver. */
  readonly name: string;
  /** Where it serves. */
  readonly socketPath: string;
  /** Versions of the interface that it supports. */
  readonly versions: readonly string[];
}

/** Registers the plugins of one kind. */
export interface PluginHandler {
  /** Makes the plugin known. Throws the error to report to it. */
  register(plugin: RegisteredPlugin): Promise<void>;
  /** Ends its use: its socket is gone, or it was not notified of its registration. */
  deregister(plugin: RegisteredPlugin): void;
}

/** A handler for each kind. */
export type PluginHandlers = Readonly<Record<PluginKind, PluginHandler>>;
