/** Everything that concerns plugins: their socket, their connections, and what their coming and going changes. */

import { METRICS } from "../../../api/metrics/metrics.ts";
import type { NodeEvents } from "../../../api/ports/events.ts";
import type { PluginHandler, RegisteredPlugin } from "../../../api/ports/plugin-handler.ts";
import { Cell, type Reading } from "../../../kit/cell.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { MetricsRegistry } from "../../../kit/metrics.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import type { Grpc } from "../../../outside/grpc/grpc.ts";
import type { Files } from "../../../outside/host/host.ts";
import { arrive, leave, listDevices } from "../inventory.ts";
import type { Holding } from "../ledger/ledger.ts";
import type { DeviceState } from "../state.ts";
import { API_VERSION, ConnectedPlugins, type PluginEnd } from "./connected-plugins.ts";
import type { PluginConnection, PluginTarget } from "./plugin.ts";
import { RegistrationService } from "./registration.ts";

/** Problem with a plugin, as it is shown. */
interface PluginProblem {
  /** Whose it is: `device plugin of <resource>`. */
  readonly origin: string;
  readonly message: string;
}

/** Problems that are remembered; each is of another resource. */
const MAX_PROBLEMS = 100;

interface PluginSideDeps {
  /** Without it no plugin can come. */
  readonly grpc: Grpc | undefined;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly state: DeviceState;
  readonly events: NodeEvents;
}

/** Settings of the plugins' side. */
interface PluginSideOptions {
  readonly folder: string;
  /** How long after the start a plugin of which nothing is known yet is waited for. */
  readonly deferMs: number;
  /** How long `Allocate` may take; 0 waits forever, as the Go kubelet. */
  readonly allocateMs: number;
}

/** Plugins, as the rest of the module sees them. Handles those that the registry folder has. */
export class PluginSide implements PluginHandler {
  readonly #options: PluginSideOptions;
  readonly #deps: PluginSideDeps;
  readonly #connected: ConnectedPlugins | undefined;
  readonly #registration: RegistrationService | undefined;
  /** Whether the plugin of a resource requires PreStartContainer, as far as known. */
  readonly #preStart = new Map<string, boolean>();
  readonly #startedAt: number;
  readonly #problems = new Cell<readonly PluginProblem[]>([]);

  constructor(options: PluginSideOptions, deps: PluginSideDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#startedAt = deps.clock.monotonic();
    const registrations = deps.metrics.counter(METRICS.kubelet_device_plugin_registration_total);
    if (!deps.grpc) return;
    const { state } = deps;
    this.#connected = new ConnectedPlugins({
      ...deps,
      grpc: deps.grpc,
      registrations,
      allocateMs: options.allocateMs,
      events: {
        onArrived: (plugin) => this.#arrived(plugin),
        onListed: ({ target: { resource } }, devices) => {
          this.#noteProblem(resource, undefined);
          state.setInventory(listDevices(state.inventory.get(), resource, devices));
        },
        onReplaced: ({ target: { resource } }, end, next) => {
          this.#noteRefusal(resource, end);
          this.#preStart.set(resource, next.plugin.options.preStartRequired);
          const inventory = state.inventory.get();
          state.setInventory(
            next.listed
              ? listDevices(inventory, resource, next.listed)
              : arrive(inventory, resource, deps.clock.monotonic()),
          );
        },
        onLeft: (plugin, end) => this.#left(plugin, end),
      },
    });
    this.#registration = new RegistrationService(options.folder, {
      ...deps,
      grpc: deps.grpc,
      connected: this.#connected,
    });
  }

  /** Lets plugins come. */
  async open(): Promise<void> {
    await this.#registration?.open();
  }

  /** Problem with the registration socket; `undefined` when there is none. */
  get problem(): Reading<string | undefined> | undefined {
    return this.#registration?.problem;
  }

  /** Lists of devices that could not be taken, until their plugin sends one that can. */
  get problems(): Reading<readonly PluginProblem[]> {
    return this.#problems;
  }

  find(resource: string): PluginConnection | undefined {
    return this.#connected?.find(resource);
  }

  list(): readonly PluginTarget[] {
    return (this.#connected?.list() ?? []).map(({ target }) => target);
  }

  async register({ name: resource, socketPath, versions }: RegisteredPlugin): Promise<void> {
    if (!this.#connected) throw new Error("device plugins cannot register here");
    const version = versions.includes(API_VERSION) ? API_VERSION : (versions[0] ?? "");
    await this.#connected.register({ version, resource, socketPath });
  }

  /** Ends the plugin of the resource at that socket. */
  deregister({ name: resource, socketPath }: RegisteredPlugin): void {
    this.#connected?.findAt({ resource, socketPath })?.end("it was taken out of the registry");
  }

  /**
   * Whether the plugin of a resource requires PreStartContainer, to be kept for the next run. That it does not only
   * matters where somebody has devices; without this limit the list would grow with every plugin that ever came.
   */
  get preStart(): ReadonlyMap<string, boolean> {
    const { owners } = this.#deps.state.ledger;
    return new Map(
      [...this.#preStart].filter(([resource, required]) => required || owners.has(resource)),
    );
  }

  /** State from a previous run. */
  remember(preStart: ReadonlyMap<string, boolean>): void {
    for (const [resource, required] of preStart) this.#preStart.set(resource, required);
  }

  /**
   * Calls PreStartContainer of the plugin, where it requires that, before a container with the devices starts. Answers what the container
   * has to wait for when the plugin is not there and may require one.
   */
  async beforeStart(
    { resource, devices }: Holding,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const plugin = this.find(resource);
    if (plugin) {
      const ids = devices.map(({ id }) => id);
      if (plugin.options.preStartRequired) await plugin.preStart(ids, signal);
      return undefined;
    }
    const required = this.#preStart.get(resource);
    const early = this.#deps.clock.monotonic() - this.#startedAt < this.#options.deferMs;
    return required === true || (required === undefined && early)
      ? `waiting for the plugin of ${resource} to register again`
      : undefined;
  }

  #arrived(plugin: PluginConnection): void {
    const { state, clock, events } = this.#deps;
    const { resource } = plugin.target;
    this.#preStart.set(resource, plugin.options.preStartRequired);
    state.setInventory(arrive(state.inventory.get(), resource, clock.monotonic()));
    const message = `Device plugin of ${resource} registered`;
    events.ofNode({ type: "Normal", reason: "DevicePluginRegistered", message });
  }

  #left({ target: { resource } }: PluginConnection, end: PluginEnd): void {
    this.#noteRefusal(resource, end);
    const { state, clock, events } = this.#deps;
    state.setInventory(leave(state.inventory.get(), resource, clock.monotonic()));
    const message = `Device plugin of ${resource} disconnected: ${end.why}`;
    events.ofNode({ type: "Warning", reason: "DevicePluginGone", message });
  }

  #noteRefusal(resource: string, { why, isRefused }: PluginEnd): void {
    if (isRefused) this.#noteProblem(resource, `its list of devices was refused: ${why}`);
  }

  #noteProblem(resource: string, message: string | undefined): void {
    const origin = `device plugin of ${resource}`;
    const before = this.#problems.get();
    const others = before.filter((problem) => problem.origin !== origin);
    if (message === undefined && others.length === before.length) return;
    const now = message === undefined ? others : [...others, { origin, message }];
    this.#problems.set(now.slice(-MAX_PROBLEMS));
  }
}
