/**
 * Plugins that do not register themselves: they put their socket into the registry folder and are found there, asked
 * for their info, and notified of the result (KEP-595; pluginmanager). A plugin whose kind has no handler is left alone.
 *
 * Example: `startPluginRegistry("/var/lib/kubelet/plugins_registry", { ...deps, handlers: { DevicePlugin: devices.plugins } })`.
 */
import { METRICS } from "../../api/metrics/metrics.ts";
import type {
  PluginHandler,
  PluginHandlers,
  RegisteredPlugin,
} from "../../api/ports/plugin-handler.ts";
import { Cell } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, messageOf, OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { runControlLoop } from "../../kit/loops/control-loop.ts";
import type { MetricsRegistry, Sample } from "../../kit/metrics.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Grpc } from "../../outside/grpc/grpc.ts";
import type { Files } from "../../outside/host/host.ts";
import { dialPlugin } from "../../outside/plugins/dial-plugin.ts";
import { PLUGIN_REGISTRATION } from "../../outside/plugins/plugins.ts";

interface PluginRegistryDeps {
  /** Without it no plugin can be asked. */
  readonly grpc: Grpc | undefined;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly handlers: Partial<PluginHandlers>;
}

/** A plugin that is registered, with what ends that. */
interface Registered {
  readonly plugin: RegisteredPlugin;
  readonly handler: PluginHandler;
}

interface Known {
  /** Of the socket; another one is another plugin. */
  readonly modifiedMs: number;
  /** `undefined` while it is not registered, or when nothing handles its kind. */
  readonly registered: Registered | undefined;
  /** Not asked again before; `undefined` when there is nothing more to ask. */
  readonly retryAt: number | undefined;
}

const FOLDER_MODE = 0o750;
const INFO_MS = 1_000;
const NOTIFY_MS = 5_000;
/** A plugin that could not be registered is asked again after this; the folder is listed as often. */
const RECONCILE_MS = 1_000;
const RETRY_MS = 5_000;
/** More than any node has; what is beyond is left alone. Sockets may be any number of folders below. */
const MAX_SOCKETS = 256;
const MAX_FOLDERS = 256;

/**
 * Follows the folder as long as the scope is open. In the metric each socket is counted as desired and, once it is
 * registered, as actual (pluginmanager/metrics).
 */
export function startPluginRegistry(folder: string, deps: PluginRegistryDeps): void {
  const { grpc, files, clock, scope, metrics } = deps;
  let samples: readonly Sample[] = [];
  metrics.collected(METRICS.plugin_manager_total_plugins, () => samples);
  if (!grpc) return;
  scope.spawn("plugin registry", "restart", async (signal) => {
    await files.makeDirectory(folder, FOLDER_MODE);
    const known = new Map<string, Known>();
    const changes = new Cell(0);
    files.watchDirectory(folder, () => changes.set(changes.get() + 1), signal);
    let everyMs = Number.POSITIVE_INFINITY;
    await runControlLoop<FoundSockets>(
      {
        name: "plugin registry",
        wakeOn: [changes],
        everyMs: () => everyMs,
        plan: () => findSockets(folder, files),
        act: async (found) => {
          const onAnswered = () => changes.set(changes.get() + 1);
          reconcile(found, known, { ...deps, grpc, signal, onAnswered });
          const registered = [...known].filter(([, plugin]) => plugin.registered);
          samples = [
            ...counted("actual_state_of_world", registered),
            ...counted("desired_state_of_world", [...known]),
          ];
          // Changes in subfolders are not reported, and failed registrations are retried.
          const folders = ((await files.list(folder)) ?? []).some(
            ({ kind }) => kind === "directory",
          );
          const open = [...known.values()].some(({ retryAt }) => retryAt !== undefined);
          everyMs = folders || open ? RECONCILE_MS : Number.POSITIVE_INFINITY;
        },
      },
      clock,
      signal,
    );
  });
}

const counted = (state: string, sockets: readonly (readonly [path: string, Known])[]): Sample[] =>
  sockets
    .map(([path]) => path)
    .sort()
    .map((socket_path) => ({ labels: { socket_path, state }, value: 1 }));

interface WatchDeps extends PluginRegistryDeps {
  readonly grpc: Grpc;
  readonly signal: AbortSignal;
  /** Called when a plugin was registered, or could not be. */
  readonly onAnswered: () => void;
}

/** A plugin that takes its time to answer holds up no other: it is asked in the background, once at a time. */
function reconcile(
  { sockets, unreadable }: FoundSockets,
  known: Map<string, Known>,
  deps: WatchDeps,
): void {
  for (const [path, { modifiedMs, registered }] of known) {
    if (sockets.get(path) === modifiedMs) continue;
    // A plugin is not gone because it cannot be seen.
    if (unreadable.some((each) => path === each || path.startsWith(`${each}/`))) continue;
    known.delete(path);
    registered?.handler.deregister(registered.plugin);
  }
  const now = deps.clock.monotonic();
  for (const [path, modifiedMs] of sockets) {
    const before = known.get(path);
    if (before && (before.retryAt === undefined || before.retryAt > now)) continue;
    const asked: Known = { modifiedMs, registered: undefined, retryAt: undefined };
    known.set(path, asked);
    void introduce(path, deps).then(({ registered, retryAt }) => {
      // Its socket is gone, or another one is there by now.
      if (known.get(path) !== asked) registered?.handler.deregister(registered.plugin);
      else known.set(path, { modifiedMs, registered, retryAt });
      deps.onAnswered();
    });
  }
}

/** Calls GetInfo of a plugin, registers it, and notifies it of the result. */
async function introduce(path: string, deps: WatchDeps): Promise<Omit<Known, "modifiedMs">> {
  const { grpc, clock, log, handlers, signal } = deps;
  const channel = grpc.connect({ target: `unix://${path}` });
  try {
    await dialPlugin(channel, clock, `nothing listens at ${path}`, signal);
    const info = await channel.unary(
      PLUGIN_REGISTRATION.methods.getInfo,
      PLUGIN_REGISTRATION.fullName,
      {},
      { signal, timeoutMs: INFO_MS },
    );
    const handler = new Map<string, PluginHandler>(Object.entries(handlers)).get(info.type);
    if (!handler) return { registered: undefined, retryAt: undefined };
    const socketPath = info.endpoint === "" ? path : info.endpoint;
    const plugin = { name: info.name, socketPath, versions: info.supportedVersions };
    const problem = await handler.register(plugin).then(() => "", messageOf);
    const notified = channel.unary(
      PLUGIN_REGISTRATION.methods.notifyRegistrationStatus,
      PLUGIN_REGISTRATION.fullName,
      { pluginRegistered: problem === "", error: problem },
      { signal, timeoutMs: NOTIFY_MS },
    );
    if (problem !== "") {
      await notified;
      throw new OutsideError("invalid", problem);
    }
    try {
      await notified;
    } catch (error) {
      // It does not know that it is registered, and will begin again (GenerateRegisterPluginFunc).
      handler.deregister(plugin);
      throw error;
    }
    return { registered: { plugin, handler }, retryAt: undefined };
  } catch (error) {
    if (!signal.aborted)
      log.warn("a plugin in the registry folder could not be registered", {
        path,
        error,
      });
    return { registered: undefined, retryAt: clock.monotonic() + RETRY_MS };
  } finally {
    channel.close();
  }
}

/** Content of the folder. */
interface FoundSockets {
  /** Sockets by path with the time they were made. */
  readonly sockets: Map<string, number>;
  /** Names below the folder that could not be read; they hide no other. */
  readonly unreadable: string[];
  folders: number;
}

/** Finds the sockets in the folder and below it; names that begin with a dot are left out. */
async function findSockets(folder: string, files: Files): Promise<FoundSockets> {
  const found: FoundSockets = { sockets: new Map(), unreadable: [], folders: 0 };
  await addSockets(folder, files, found);
  return found;
}

async function addSockets(folder: string, files: Files, found: FoundSockets): Promise<void> {
  found.folders += 1;
  for (const { name, kind } of (await files.list(folder)) ?? []) {
    if (name.startsWith(".") || found.sockets.size >= MAX_SOCKETS) continue;
    const path = `${folder}/${name}`;
    try {
      if (kind === "directory" && found.folders < MAX_FOLDERS) await addSockets(path, files, found);
      if (kind !== "socket") continue;
      const facts = await files.facts(path);
      if (facts) found.sockets.set(path, facts.modifiedMs);
    } catch (error) {
      if (!isOutside(error)) throw error;
      found.unreadable.push(path);
    }
  }
}
