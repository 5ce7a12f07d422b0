/**
 * The plugins that are connected, by resource and socket. Of several for one resource, as there are during a rolling
 * update, the one that registered last serves; the others stand by, and the latest of them takes over when it goes. A
 * registration that fails leaves those before it alone.
 */

import { isExtendedResource } from "../../../api/validation/resources.ts";
import { messageOf } from "../../../kit/errors.ts";
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
  /** The plugin that served has gone. `next` serves from now on; `listed` are its devices, once it has named them. */
  onReplaced(
    plugin: PluginConnection,
    end: PluginEnd,
    next: { readonly plugin: PluginConnection; readonly listed: readonly Device[] | undefined },
  ): void;
  /** The plugin that served has gone, and there is no other. */
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

/** More plugins than any node has; one gone wild must not fill our memory. */
const MAX_PLUGINS = 512;
/** Plugins that may be dialled at once. */
const MAX_AT_ONCE = 64;

/** A plugin's registration request. */
export interface Registration extends PluginTarget {
  readonly version: string;
}

/** One connected plugin of a resource. */
interface Endpoint {
  readonly plugin: PluginConnection;
  /** When its registration began, among all others. */
  readonly turn: number;
  /** The devices that it named last. */
  listed?: readonly Device[];
}

/** The connections; see above. */
export class ConnectedPlugins {
  readonly #deps: ConnectedPluginsDeps;
  /** In the order of their turns: the last one serves. */
  readonly #endpoints = new Map<string, readonly Endpoint[]>();
  #turns = 0;
  #dialling = 0;

  constructor(deps: ConnectedPluginsDeps) {
    this.#deps = deps;
  }

  /** The plugin that serves a resource. */
  find(resource: string): PluginConnection | undefined {
    return this.#endpoints.get(resource)?.at(-1)?.plugin;
  }

  /** The plugin of a resource at that socket, also one that stands by. */
  findAt({ resource, socketPath }: PluginTarget): PluginConnection | undefined {
    return this.#endpoints
      .get(resource)
      ?.find(({ plugin }) => plugin.target.socketPath === socketPath)?.plugin;
  }

  /** The plugins that serve. */
  list(): readonly PluginConnection[] {
    return [...this.#endpoints.values()].flatMap((endpoints) => endpoints.at(-1)?.plugin ?? []);
  }

  /** Makes a plugin known: it is dialled and asked for its options before this resolves. Throws the error to report to it. */
  async register({ version, resource, socketPath }: Registration): Promise<void> {
    this.#deps.registrations.add({ resource_name: resource });
    checkVersion(version);
    checkResource(resource);
    this.#refuseTwice({ resource, socketPath });
    if ([...this.#endpoints.values()].flat().length >= MAX_PLUGINS)
      throw new Error(`more than ${MAX_PLUGINS} device plugins are registered`);
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

  /** Throws the Go kubelet's text where the socket is connected for the resource already. */
  #refuseTwice(target: PluginTarget): void {
    if (this.findAt(target))
      throw new Error(`device plugin already connected: ${target.socketPath}`);
  }

  /** The latest to have begun serves, whichever is done first. */
  #install(plugin: PluginConnection, turn: number): void {
    const { resource } = plugin.target;
    try {
      this.#refuseTwice(plugin.target);
    } catch (error) {
      plugin.end(messageOf(error));
      throw error;
    }
    const endpoint: Endpoint = { plugin, turn };
    const others = this.#endpoints.get(resource) ?? [];
    this.#endpoints.set(
      resource,
      [...others, endpoint].toSorted((a, b) => a.turn - b.turn),
    );
    this.#deps.log.info("device plugin registered", { ...plugin.target, ...plugin.options });
    if (this.find(resource) === plugin) this.#deps.events.onArrived(plugin);
    this.#deps.scope.spawn("device plugin", "restart", () => this.#follow(endpoint));
  }

  async #follow(endpoint: Endpoint): Promise<void> {
    const { plugin } = endpoint;
    const { resource } = plugin.target;
    const { signal } = this.#deps.scope;
    const onLeaving = () => plugin.end("the agent is shutting down");
    signal.addEventListener("abort", onLeaving, { once: true });
    await plugin.follow((devices) => {
      endpoint.listed = devices;
      if (this.find(resource) === plugin) this.#deps.events.onListed(plugin, devices);
    });
    signal.removeEventListener("abort", onLeaving);
    if (!signal.aborted) this.#remove(plugin);
  }

  #remove(plugin: PluginConnection): void {
    const { resource } = plugin.target;
    const served = this.find(resource) === plugin;
    const left = (this.#endpoints.get(resource) ?? []).filter((each) => each.plugin !== plugin);
    if (left.length > 0) this.#endpoints.set(resource, left);
    else this.#endpoints.delete(resource);
    const state = plugin.state.get();
    const end = state.kind === "ended" ? state : { why: "", isRefused: false };
    this.#deps.log.warn("device plugin disconnected", { ...plugin.target, why: end.why });
    if (!served) return;
    const next = left.at(-1);
    if (next) {
      this.#deps.log.info("another device plugin takes over", { ...next.plugin.target });
      this.#deps.events.onReplaced(plugin, end, { plugin: next.plugin, listed: next.listed });
    } else this.#deps.events.onLeft(plugin, end);
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
