/**
 * Takes back addresses and network namespaces of sandboxes that the runtime forgot when it was killed while it made
 * them: nobody else ever would, and on a busy node addresses run out. In: the network library's files, the sandboxes
 * the runtime has, its own description. Invariants: nothing is touched that is younger than the runtime's present life,
 * that a sandbox has, or that was not made for a pod.
 */
import type { Reading } from "../../kit/cell.ts";
import type { ControlLoop } from "../../kit/control-loop.ts";
import { runControlLoop } from "../../kit/control-loop.ts";
import { messageOf } from "../../kit/errors.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Outside } from "../../outside/outside.ts";
import {
  type Allocation,
  parseAllocation,
  parseGivenNetwork,
  parseRuntimeNetworks,
  type RuntimeNetworks,
} from "./cni-files.ts";
import {
  type Dated,
  type ForgottenNetwork,
  type ForgottenNetworks,
  type Namespace,
  type NetworkGround,
  planForgotten,
} from "./plan-forgotten.ts";

/** What taking back stands on. */
export interface NetworksDeps {
  readonly outside: Outside;
  readonly scope: TaskScope;
  /** Whether the runtime answers. */
  readonly health: Reading<{ readonly ready: boolean }>;
}

/** Where libcni keeps what it gave, host-local what it gave away, and containerd its namespaces. */
const GIVEN = "/var/lib/cni/results";
const ALLOCATED = "/var/lib/cni/networks";
const NAMESPACES = "/run/netns";
/** containerd names its namespaces so; those of others stay. */
const OWN_NAMESPACE = /^cni-/;
const MAX_FILE_BYTES = 256 * 1024;
const PERIOD_MS = 60_000;
/** What is younger may belong to a sandbox that another runtime is making. */
const YOUNG_MS = 30_000;
const PLUGIN_MS = 30_000;
const PLUGIN_OUTPUT_BYTES = 64 * 1024;

/** Starts the loop in the given scope; does nothing where no programs can be run or the runtime does not describe itself. */
export function startNetworks(runtimeEndpoint: string, deps: NetworksDeps): void {
  const { outside, scope, health } = deps;
  const describe = outside.cri.selfDescription;
  if (!outside.host.runProgram || !describe) return;
  const socket = runtimeEndpoint.replace(/^unix:\/\//, "");
  const loop: ControlLoop<ForgottenNetworks & { readonly folders: readonly string[] }> = {
    name: "networks",
    wakeOn: [health],
    everyMs: PERIOD_MS,
    plan: async () => {
      if (!health.get().ready) return undefined;
      const { signal } = scope;
      try {
        const networks = parseRuntimeNetworks(await describe(signal));
        const since = (await outside.host.files.facts(socket, { follow: true }))?.modifiedMs;
        if (networks === undefined || since === undefined) return undefined;
        const beforeMs = Math.min(since, outside.clock.wall() - YOUNG_MS);
        const forgotten = planForgotten(await look(outside, networks, beforeMs, signal));
        return forgotten && { ...forgotten, folders: networks.folders };
      } catch (error) {
        outside.log.verbose(2, "cannot look for forgotten networks", { error });
        return undefined;
      }
    },
    act: async ({ networks, namespaces, folders }, signal) => {
      const kept = new Set<string>();
      for (const network of networks) {
        const problem = await takeBack(outside, network, folders, signal);
        const what = { sandbox: network.sandboxId, network: network.config.name };
        if (problem === undefined) outside.log.info("took back a forgotten network", what);
        else {
          kept.add(network.namespace);
          outside.log.warn("a forgotten network cannot be taken back", { ...what, problem });
        }
      }
      for (const path of namespaces) if (!kept.has(path)) await giveUp(outside, path);
    },
  };
  scope.spawn("networks", "restart", (signal) => runControlLoop(loop, outside.clock, signal));
}

async function look(
  outside: Outside,
  { configs }: RuntimeNetworks,
  beforeMs: number,
  signal: AbortSignal,
): Promise<NetworkGround> {
  const byName = new Map(configs.map((config) => [config.name, config]));
  const given = await readAll(outside, GIVEN, (file, text) => {
    const read = parseGivenNetwork(text);
    return read && { ...read, file };
  });
  const allocations: Dated<Allocation>[] = [];
  for (const network of byName.keys()) {
    const read = (file: string, text: string) =>
      parseAllocation(network, file.slice(file.lastIndexOf("/") + 1), text);
    allocations.push(...(await readAll(outside, `${ALLOCATED}/${network}`, read)));
  }
  // Asked for after the files: what was made meanwhile is in it.
  const sandboxes = await outside.cri.runtime.listSandboxes({}, signal);
  const ids = new Set(sandboxes.map(({ id }) => id));
  const used = given
    .filter(({ sandboxId }) => ids.has(sandboxId))
    .flatMap((each) => each.namespaces);
  const names = used.map((path) => path.slice(path.lastIndexOf("/") + 1));
  const candidates = { beforeMs, skip: new Set(names) };
  const namespaces = await findNamespaces(outside, candidates, signal);
  return { given, allocations, namespaces, sandboxes: ids, configs: byName, beforeMs };
}

async function readAll<T extends object>(
  { host: { files } }: Outside,
  folder: string,
  parse: (file: string, text: string) => T | undefined,
): Promise<Dated<T>[]> {
  const found: Dated<T>[] = [];
  for (const { name, kind } of (await files.list(folder)) ?? []) {
    if (kind !== "file") continue;
    const file = `${folder}/${name}`;
    const facts = await files.facts(file);
    const text = await files.readText(file, { maxBytes: MAX_FILE_BYTES });
    const read = text === undefined ? undefined : parse(file, text);
    if (read && facts) found.push({ ...read, madeMs: facts.modifiedMs });
  }
  return found;
}

/** Namespaces of runtimes but for young ones and those that are known to be wanted. */
async function findNamespaces(
  outside: Outside,
  { beforeMs, skip }: { readonly beforeMs: number; readonly skip: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<Dated<Namespace>[]> {
  const { files } = outside.host;
  const found: Dated<Namespace>[] = [];
  for (const { name } of (await files.list(NAMESPACES)) ?? []) {
    if (!OWN_NAMESPACE.test(name) || skip.has(name)) continue;
    const path = `${NAMESPACES}/${name}`;
    const madeMs = (await files.facts(path))?.modifiedMs;
    if (madeMs === undefined || madeMs >= beforeMs) continue;
    found.push({ path, madeMs, ...(await lookInto(outside, name, signal)) });
  }
  return found;
}

/** Processes and addresses of a namespace; one that cannot be looked into counts as in use. */
async function lookInto(
  { host }: Outside,
  namespace: string,
  signal: AbortSignal,
): Promise<Pick<Namespace, "ips" | "inUse">> {
  const program = {
    path: "/bin/sh",
    args: ["-c", 'ip netns pids "$0" && ip -netns "$0" -o address show', namespace],
    ...{ env: {}, input: "", timeoutMs: PLUGIN_MS, maxOutputBytes: PLUGIN_OUTPUT_BYTES },
  };
  const said = await host.runProgram?.(program, signal).catch(() => undefined);
  const { code, stdout = "" } = said ?? {};
  const ips = [...stdout.matchAll(/ inet6? ([0-9a-f.:]+)\//g)].map(([, ip]) => ip ?? "");
  return { ips, inUse: code !== 0 || /^\d+$/m.test(stdout) };
}

/** Has every plugin take back what it gave, the last one first; the problem when one of them cannot. */
async function takeBack(
  { host }: Outside,
  network: ForgottenNetwork,
  folders: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { config, sandboxId, interfaceName, namespace, args, file } = network;
  for (const plugin of [...config.plugins].reverse()) {
    const path = await findPlugin(host.files, `${plugin["type"]}`, folders);
    if (path === undefined) return `there is no plugin ${plugin["type"]}`;
    const env = {
      CNI_COMMAND: "DEL",
      CNI_CONTAINERID: sandboxId,
      CNI_NETNS: namespace,
      CNI_IFNAME: interfaceName,
      CNI_ARGS: args,
      CNI_PATH: folders.join(":"),
    };
    const input = JSON.stringify(inputOf(network, plugin));
    const program = { path, args: [], env, input, timeoutMs: PLUGIN_MS };
    try {
      const order = { ...program, maxOutputBytes: PLUGIN_OUTPUT_BYTES };
      const said = await host.runProgram?.(order, signal);
      if (said?.code !== 0) return `${plugin["type"]}: ${said?.stdout || said?.stderr}`;
    } catch (error) {
      return messageOf(error);
    }
  }
  if (file !== undefined) await host.files.remove(file);
  return undefined;
}

function inputOf(
  { config, capabilities, result }: ForgottenNetwork,
  plugin: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const offered = Object.keys((plugin["capabilities"] ?? {}) as object);
  const wanted = Object.entries(capabilities).filter(([name]) => offered.includes(name));
  return {
    ...plugin,
    cniVersion: config.cniVersion,
    name: config.name,
    ...(wanted.length > 0 ? { runtimeConfig: Object.fromEntries(wanted) } : {}),
    ...(result ? { prevResult: result } : {}),
  };
}

async function findPlugin(
  files: Outside["host"]["files"],
  type: string,
  folders: readonly string[],
): Promise<string | undefined> {
  if (!/^[\w.-]+$/.test(type)) return undefined;
  for (const folder of folders)
    if ((await files.facts(`${folder}/${type}`, { follow: true }))?.kind === "file")
      return `${folder}/${type}`;
  return undefined;
}

async function giveUp({ host, log }: Outside, path: string): Promise<void> {
  try {
    await host.volumes.unmount(path);
    await host.files.remove(path);
    log.info("removed a forgotten network namespace", { path });
  } catch (error) {
    log.warn("a forgotten network namespace cannot be removed", {
      path,
      problem: messageOf(error),
    });
  }
}
