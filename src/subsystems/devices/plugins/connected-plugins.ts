/**
 * The plugins that are connected, one per resource. A registration that fails leaves the one before it
 * alone; one that succeeds takes its place, and messages of the replaced one are ignored from then on.
 */

import { isExtendedResource } from "../../../api/validation/resources.ts";
import type { Counter } from "../../../kit/metrics.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import type { Device } from "../inventory.ts";
import { PluginConnection, type PluginDeps, type PluginTarget } from "./plugin.ts";

/** How a connection ended. */
export interface PluginEnd {
  readonly why: string;
  /** Its list of devices could not be taken. */
  readonly isRefused: boolean;
}

/** Events of plugins, in order. */
interface PluginEvents {
  onArrived(plugin: PluginConnection): void;
  onListed(plugin: PluginConnection, devices: readonly Device[]): void;
  /** The plugin that was there has gone, and no other has taken its place. */
  onLeft(plugin: PluginConnection, end: PluginEnd): void;
}

interface ConnectedPluginsDeps extends PluginDeps {
  readonly scope: TaskScope;
  readonly events: PluginEvents;
  /** Every registration that was tried, by resource (`device_plugin_registration_total`). */
  readonly registrations: Counter;
}

/** The only version of the interface there is. */
export const API_VERSION = "v1beta1";

/** More resources than any node has; a plugin gone wild must not fill our memory. */
const MAX_RESOURCES = 512;
/** Plugins that may be dialled at once. */
const MAX_AT_ONCE = 64;

/** A plugin's registration request. */
export interface Registration extends PluginTarget {
  readonly version: string;
}

/** The connections; see above. */
export class ConnectedPlugins {
  readonly #deps: ConnectedPluginsDeps;
  readonly #plugins = new Map<
    string,
    { readonly plugin: PluginConnection; readonly turn: number }
  >();
  #turns = 0;
  #dialling = 0;

  constructor(deps: ConnectedPluginsDeps) {
    this.#deps = deps;
  }

  /** The connected plugin of a resource. */
  find(resource: string): PluginConnection | undefined {
    return this.#plugins.get(resource)?.plugin;
  }

  list(): readonly PluginConnection[] {
    return [...this.#plugins.values()].map(({ plugin }) => plugin);
  }

  /** Makes a plugin known: it is dialled and asked for its options before this resolves. Throws the error to report to it. */
  async register({ version, resource, socketPath }: Registration): Promise<void> {
    this.#deps.registrations.add({ resource_name: resource });
    checkVersion(version);
    checkResource(resource);
    if (!this.#plugins.has(resource) && this.#plugins.size >= MAX_RESOURCES)
      throw new Error(`more than ${MAX_RESOURCES} resources are registered`);
    if (this.#dialling >= MAX_AT_ONCE)
      throw new Error(`more than ${MAX_AT_ONCE} plugins register at once; try again`);
    this.#turns += 1;
    const turn = this.#turns;
    this.#dialling += 1;
    try {
      const plugin = await PluginConnection.open(
        { resource, socketPath },
        this.#deps,
        this.#deps.scope.signal,
      );
      this.#install(plugin, turn);
    } catch (error) {
      this.#deps.log.warn("failed to register a device plugin", {
        resource,
        socketPath,
        error,
      });
      throw error;
    } finally {
      this.#dialling -= 1;
    }
  }

  /** The latest to have begun wins, whichever is done first. */
  #install(plugin: PluginConnection, turn: number): void {
    const { resource } = plugin.target;
    const before = this.#plugins.get(resource);
    if (before && before.turn > turn) {
      plugin.end("a later registration of the same resource came first");
      throw new Error(`a later registration of ${resource} came first`);
    }
    this.#plugins.set(resource, { plugin, turn });
    before?.plugin.end("another plugin has registered for the resource");
    this.#deps.log.info("device plugin registered", { ...plugin.target, ...plugin.options });
    this.#deps.events.onArrived(plugin);
    this.#deps.scope.spawn("device plugin", "restart", () => this.#follow(plugin));
  }

  async #follow(plugin: PluginConnection): Promise<void> {
    const { resource } = plugin.target;
    const isCurrent = () => this.find(resource) === plugin;
    const { signal } = this.#deps.scope;
    const onLeaving = () => plugin.end("the agent is shutting down");
    signal.addEventListener("abort", onLeaving, { once: true });
    await plugin.follow((devices) => {
      if (isCurrent()) this.#deps.events.onListed(plugin, devices);
    });
    signal.removeEventListener("abort", onLeaving);
    if (!isCurrent() || signal.aborted) return;
    this.#plugins.delete(resource);
    const state = plugin.state.get();
    const end = state.kind === "ended" ? state : { why: "", isRefused: false };
    this.#deps.log.warn("device plugin disconnected", { ...plugin.target, why: end.why });
    this.#deps.events.onLeft(plugin, end);
  }
}

/** Throws the Go kubelet's text for a version that is not spoken. */
function checkVersion(version: string): void {
  if (version !== API_VERSION)
    throw new Error(
      `requested API version ${JSON.stringify(version)} is not supported by kubelet. Supported version is ["${API_VERSION}"]`,
    );
}

/** Throws the Go kubelet's text for a name that no extended resource can have. */
function checkResource(resource: string): void {
  if (!isExtendedResource(resource))
    throw new Error(`the ResourceName ${JSON.stringify(resource)} is invalid`);
}
