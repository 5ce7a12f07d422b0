/** The containerd that `up` starts when the machine has none to use. It goes on when `up` ends. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { retryDelayMs } from "../../../kit/backoff.ts";
import { messageOf } from "../../../kit/errors.ts";
import { CliError } from "../../../present/cli-error.ts";
import { type CniPlugins, findCniPlugins, searchPath } from "../../../process/programs.ts";
import { chooseContainerd } from "../../../process/runtime-versions/choose-containerd.ts";
import { PAUSE_IMAGE } from "../../local-images/local-images.ts";
import { queryRuntime } from "../../runtime/query-runtime.ts";
import { OpenLedger } from "../ledger.ts";
import { endOfLog, logTail } from "../log-tail.ts";
import type { UpPaths } from "../paths.ts";
import {
  awaitEnd,
  endProcess,
  isRunning,
  MAX_LOG_BYTES,
  markOf,
  startDetached,
} from "../processes.ts";
import { containerdConfig, ttrpcSocket } from "./containerd-config.ts";
import type { OciHandlers } from "./oci-runtimes.ts";
import {
  BRIDGE,
  CLUSTER_BRIDGE,
  choosePodNetwork,
  NETWORK_FILE,
  type NetworkSource,
  NODE_SUBNET,
  PLUGIN_FOLDERS,
  podNetworkConfig,
  subnetOf,
} from "./pod-network.ts";

interface OwnContainerdOptions {
  readonly paths: UpPaths;
  readonly ledger: OpenLedger;
  readonly mayLowerOomScore: boolean;
  readonly overlayWorks: boolean;
  readonly handlers: OciHandlers;
  readonly network: NetworkSource;
}

/** How long it may take until containerd serves. */
const START_MS = 30_000;
const STOP_MS = 10_000;
const POLL_MS = 50;
const TAIL_LINES = 5;

/**
 * Makes sure that our containerd runs with the configuration of this version; a running one is kept, or
 * started again when its configuration changed, which its containers do not notice.
 */
export async function ensureOwnContainerd(options: OwnContainerdOptions): Promise<void> {
  const { paths, ledger } = options;
  const { containerd } = paths;
  const plugins = findCniPlugins();
  if (plugins === undefined) throw missing("CNI plugins");
  const folders = [containerd.root, containerd.state];
  for (const folder of options.network === "plugin" ? folders : [...folders, containerd.cniConfigs])
    mkdirSync(folder, { recursive: true, mode: 0o711 });
  if (options.network === "plugin") linkPlugins(ledger, plugins);
  else writeNetwork(options, plugins);
  const changed = writeConfig(options, plugins);
  const running = ledger.now.runtime?.kind === "own" ? ledger.now.runtime.process : undefined;
  if (running !== undefined && isRunning(running)) {
    if (!changed && (await queryRuntime(containerd.socket)).kind === "answers") return;
    await endProcess(running, STOP_MS);
  }
  await start(options);
}

function writeConfig(options: OwnContainerdOptions, plugins: CniPlugins): boolean {
  const { paths, ledger, mayLowerOomScore, overlayWorks, handlers, network } = options;
  if (handlers.runtimes.length === 0) throw missing("runc");
  const text = containerdConfig(paths.containerd, {
    sandboxImage: PAUSE_IMAGE,
    handlers,
    cniConfigs: network === "plugin" ? PLUGIN_FOLDERS.configs : paths.containerd.cniConfigs,
    cniPlugins: network === "plugin" ? PLUGIN_FOLDERS.programs : plugins.folder,
    cniTemplate: network === "cluster" ? templateOf(paths) : undefined,
    snapshotter: overlayWorks ? "overlayfs" : "native",
    mayLowerOomScore,
  });
  const { config } = paths.containerd;
  if (existsSync(config) && readFileSync(config, "utf8") === text) return false;
  ledger.writeFile(config, text, 0o644);
  return true;
}

/** The pods' network is chosen once: pods that run keep their addresses. */
function writeNetwork({ paths, ledger, network }: OwnContainerdOptions, plugins: CniPlugins): void {
  if (network === "cluster") {
    const options = { subnet: NODE_SUBNET, bridge: CLUSTER_BRIDGE, plugins: plugins.names };
    ledger.writeFile(templateOf(paths), podNetworkConfig(paths.containerd, options), 0o644);
    return;
  }
  const file = join(paths.containerd.cniConfigs, NETWORK_FILE);
  const before = existsSync(file) ? subnetOf(readFileSync(file, "utf8")) : undefined;
  const subnet = before ?? freePodNetwork();
  ledger.writeFile(
    file,
    podNetworkConfig(paths.containerd, { subnet, bridge: BRIDGE, plugins: plugins.names }),
    0o644,
  );
}

/** A network plugin brings its own program, and takes the usual ones for granted. */
function linkPlugins(ledger: OpenLedger, { folder, names }: CniPlugins): void {
  const { configs, programs } = PLUGIN_FOLDERS;
  ledger.expectFolders([configs, programs]);
  for (const each of [configs, programs]) mkdirSync(each, { recursive: true, mode: 0o755 });
  for (const name of names) {
    const [link, target] = [join(programs, name), join(folder, name)];
    if (existsSync(link)) continue;
    ledger.change(({ links }) => ({ links: { ...links, [link]: target } }));
    symlinkSync(target, link);
  }
}

/** A network for pods that this machine has no route to. Throws `CliError` when all candidates are in use. */
export function freePodNetwork(): string {
  const subnet = choosePodNetwork(takenNetworks());
  if (subnet !== undefined) return subnet;
  throw new CliError("no network is free for pods: all candidates are in use on this machine", {
    fix: "name one with --pod-cidr, or use a containerd with a network of your choice: --containerd <socket>",
  });
}

function templateOf({ stateDir }: UpPaths): string {
  return join(stateDir, "cni", "cluster-network.template");
}

/** Networks that this machine has routes to, its own bridge left out. */
function takenNetworks(): readonly string[] {
  const routes = execFileSync("ip", ["-4", "route", "show", "table", "all"], {
    encoding: "utf8",
    env: { PATH: searchPath() },
  });
  return routes
    .split("\n")
    .filter((line) => !line.includes(` dev ${BRIDGE} `))
    .map(
      (line) =>
        line.replace(/^(unicast|local|broadcast|blackhole|unreachable) /, "").split(" ")[0] ?? "",
    )
    .filter((network) => network !== "default" && network !== "0.0.0.0/0");
}

/** Starts our containerd again with the configuration that is there. */
export async function resumeContainerd(paths: UpPaths, ledger: OpenLedger): Promise<void> {
  await start({ paths, ledger });
}

async function start({
  paths,
  ledger,
}: Pick<OwnContainerdOptions, "paths" | "ledger">): Promise<void> {
  const { containerd } = paths;
  const program = await chooseContainerd();
  if (program === undefined) throw missing("containerd");
  for (const socket of socketsOf(containerd)) rmSync(socket, { force: true });
  const logAt = endOfLog(containerd.log);
  const failed = (message: string) => startFailed(containerd.log, logAt, message);
  const child = startDetached({
    argv: [program.path, "--config", containerd.config],
    // Its own shim first, where the machine has several.
    env: { PATH: `${dirname(program.path)}:${searchPath()}`, HOME: "/root" },
    log: containerd.log,
  });
  const mark = child.pid === undefined ? undefined : markOf(child.pid);
  if (mark === undefined) throw failed("failed to start containerd");
  ledger.change(() => ({ runtime: { kind: "own", socket: containerd.socket, process: mark } }));
  const deadline = performance.now() + START_MS;
  let why = "it does not serve";
  while (performance.now() < deadline) {
    if (!isRunning(mark)) throw failed("containerd exited right after it was started");
    const answer = await queryRuntime(containerd.socket, 0);
    // The network of a cluster comes with the node's part of its addresses, for which the agent is needed.
    const { cluster } = ledger.now;
    const isNeeded = (text: string) => cluster === undefined || !text.startsWith("NetworkReady");
    if (answer.kind === "answers" && !answer.facts.notReady.some(isNeeded)) {
      for (const socket of socketsOf(containerd)) chmodSync(socket, 0o600);
      return;
    }
    if (answer.kind === "answers") why = answer.facts.notReady.join("; ");
    if (answer.kind === "silent") why = answer.why;
    await sleep(POLL_MS);
  }
  await awaitEnd(mark, 0);
  throw failed(`containerd is not ready after ${START_MS / 1000} s: ${why}`);
}

/** Sockets of containerd; write access to one of them is root access to this machine. */
function socketsOf({ socket }: UpPaths["containerd"]): readonly string[] {
  return [socket, ttrpcSocket(socket)];
}

function missing(what: string): CliError {
  return new CliError(`${what} cannot be found`, {
    fix: "nodelet up --check shows what to install",
  });
}

function startFailed(log: string, logAt: number, message: string): CliError {
  const lines = logTail(log, logAt, TAIL_LINES);
  return new CliError(message, { fix: `${lines}\nits log: ${log}` });
}

const WATCH_MS = 2_000;
const BACKOFF = { initialMs: 1_000, maxMs: 60_000 };

/**
 * Keeps our containerd running until `leave` is aborted: one that ended is started again, with growing
 * pauses, and its log is kept within its bound. Its containers do not notice.
 */
export async function superviseContainerd(
  paths: UpPaths,
  print: (text: string) => void,
  leave: AbortSignal,
): Promise<void> {
  for (let failures = 0; !leave.aborted; ) {
    const waitMs = failures === 0 ? WATCH_MS : retryDelayMs(failures, BACKOFF);
    await sleep(waitMs, undefined, { signal: leave }).catch(() => {});
    if (leave.aborted) return;
    const ledger = new OpenLedger(paths.ledger);
    const { runtime } = ledger.now;
    if (runtime?.kind !== "own") return;
    boundLog(paths.containerd.log);
    if (runtime.process !== undefined && isRunning(runtime.process)) {
      failures = 0;
      continue;
    }
    print(`containerd exited; restarting it (log: ${paths.containerd.log})`);
    failures = await start({ paths, ledger }).then(
      () => 0,
      (thrown: unknown) => {
        print(messageOf(thrown));
        return failures + 1;
      },
    );
  }
}

/** The log is open for appending, so cutting is safe. */
function boundLog(log: string): void {
  if (existsSync(log) && statSync(log).size > MAX_LOG_BYTES) truncateSync(log);
}

/** Names of containerd's shims that still run for the socket: processes of containers not removed yet. */
export function shimsOf(socket: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return /containerd-shim/.test(argv[0] ?? "") && argv.includes(socket);
      } catch {
        return false;
      }
    })
    .map(Number);
}
