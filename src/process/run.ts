/**
 * The process of an agent. Owns: flags, configuration, log, lock and signals of that process. In: arguments. Out: an exit
 * code.
 *
 *     process.exitCode = await runAgent(["--config=/etc/nodelet/config.yaml"], "nodelet run");
 */
import { type AgentOptions, launchAgent } from "../agent.ts";
import { canonicalAddress } from "../api/text/ip.ts";
import { wholeOf } from "../api/text/quantity.ts";
import { dumpYaml } from "../api/text/yaml.ts";
import { agentSocket, otherAgentSockets } from "../client/socket.ts";
import {
  deriveImageEndpoint,
  deriveNodeIps,
  deriveNodeName,
  deriveRuntimeEndpoint,
} from "../config/derive.ts";
import { shownConfig } from "../config/file/shown-config.ts";
import { renderFlagHelp } from "../config/flags/flag-help.ts";
import { parseFlags } from "../config/flags/flags.ts";
import { parsePageAddress } from "../config/flags/page-address.ts";
import { validateNodeAddresses } from "../config/flags/validate-flags.ts";
import { flagsInForce } from "../config/flags-in-force.ts";
import { reportIdleSettings } from "../config/idle-report.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { type ConfigProblem, formatConfigProblem } from "../config/problem.ts";
import { validateOnHost } from "../config/validation/validate.ts";
import { messageOf, UsageError } from "../kit/errors.ts";
import { silentLog } from "../kit/log.ts";
import { TaskScope } from "../kit/scope.ts";
import { openState } from "../node/open-state.ts";
import { lockRoot } from "../node/root-lock.ts";
import {
  type ConnectOptions,
  connectMachine,
  connectOutside,
  startFileWorker,
} from "../outside/connect.ts";
import type { Files } from "../outside/host/host.ts";
import { createLog, type LogOptions } from "../outside/log/log.ts";
import { setV8Flags } from "../outside/memory/memory.ts";
import { isTracing, openTracer } from "../outside/tracing/tracing.ts";
import { EXIT_FAILURE, EXIT_OK, EXIT_USAGE } from "../present/exit-codes.ts";
import { openCluster } from "./cluster-access.ts";
import { imageOptions } from "./image-options.ts";
import { lockAgentFile } from "./lock-file.ts";
import { tightenNodeFiles } from "./node-files.ts";
import { startOwnApi } from "./own-api.ts";
import { readPackageFile } from "./package-root.ts";
import { warnOfVulnerabilities } from "./runtime-versions/program-version.ts";
import {
  kubeletVersion,
  kubernetesVersion,
  nodeletVersion,
  rawKubeletVersion,
  userAgent,
} from "./version.ts";

/**
 * `nodelet run`: the agent in the foreground, with the flags of the kubelet, until SIGINT or SIGTERM.
 * Containers run on when it leaves. `command` is what was typed, for the help text. Resolves with the
 * exit code.
 */
export async function runAgent(argv: readonly string[], command: string): Promise<number> {
  const { flags: early, settings } = parseFlags(argv);
  const { help, version } = early;
  const compat = settings.findLast(({ path }) => path === "compat")?.value;
  if (help) return print(renderFlagHelp(command));
  if (version === "true") return print(`Kubernetes ${kubeletVersion(compat)}\n`);
  if (version === "raw") return print(`${rawKubeletVersion(compat)}\n`);
  setV8Flags("agent");
  // It starts on another processor while this one reads the configuration.
  const fileWorker = startFileWorker();
  const { host } = connectMachine(silentLog);
  const loaded = await loadConfig(argv, host.files, { cwd: process.cwd() });
  const { config, flags } = loaded;
  if (loaded.problems.length > 0) {
    if (loaded.isComplete) logRefused(config);
    return refuse(command, loaded.problems);
  }
  const facts = await host.facts();
  const nodeName = deriveNodeName(facts.hostname, flags.hostnameOverride);
  if (!nodeName.ok) return refuse(command, [nodeName.problem]);
  const unfit = validateOnHost(config, {
    cgroupVersion: host.cgroups.version,
    swapBytes: facts.swapBytes,
  });
  const found = host.addresses().map(canonicalAddress);
  const foreign = validateNodeAddresses(deriveNodeIps(flags.nodeIP) ?? [], found);
  const problems = [...unfit, ...foreign];
  if (problems.length > 0) return refuse(command, problems);
  return await serve(loaded, nodeName.name, { fileWorker });
}

function deadContainersOf({
  flags,
}: Pick<LoadedConfig, "flags">): NonNullable<AgentOptions["deadContainers"]> {
  return {
    perContainer: flags.maximumDeadContainersPerContainer,
    onNode: flags.maximumDeadContainers,
    minAgeMs: flags.minimumContainerTTLDuration,
  };
}

/** What was started before the configuration was read. */
type Ahead = Pick<ConnectOptions, "fileWorker">;

/** Runs the agent until it is stopped. */
async function serve(loaded: LoadedConfig, nodeName: string, ahead: Ahead): Promise<number> {
  const { config, flags } = loaded;
  const log = await openLog(loaded);
  if (process.getuid?.() === 0) await tightenNodeFiles(loaded, log);
  const version = kubeletVersion(config.compat);
  const tracer = isTracing(config.tracing)
    ? await openTracer(config.tracing, { nodeName, version }, log)
    : undefined;
  const outside = connectOutside(
    {
      ...connectOptions(config),
      userAgent: userAgent(config.compat),
      verbosity: log.verbosity,
      ...(tracer ? { tracer } : {}),
      ...ahead,
    },
    log,
  );
  const leave = leaveOnSignals();
  try {
    using _lock = await lockAgentFile(flags, { log, leave });
    using _root = await lockRoot({ rootFolder: flags.rootDir, nodeName }, outside, leave.signal);
    await using apiScope = new TaskScope("local API", { clock: outside.clock, log });
    const state = openState(flags.rootDir, outside);
    const access = { flags, config, nodeName, kubeletVersion: version, state };
    const own = isAlone(flags)
      ? await startOwnApi(process.env, access, { outside, state, scope: apiScope }, leave.signal)
      : undefined;
    const cluster = own?.cluster ?? (await openCluster(access, outside));
    await using agent = await launchAgent(
      await agentOptions(loaded, nodeName, outside.host.files),
      outside,
      {
        leave: leave.signal,
        state,
        ...(cluster ? { cluster } : {}),
        ...(own ? { ownApi: own } : {}),
      },
    );
    log.info("agent is running", { node: nodeName, runtime: agent.runtimeVersion.runtimeName });
    await Promise.all([
      agent.untilLeaving(leave.signal),
      warnOfVulnerabilities(agent.runtimeVersion, log),
    ]);
    log.info("agent is shutting down; containers keep running", {
      reason: messageOf(leave.signal.reason),
    });
    return EXIT_OK;
  } catch (error) {
    if (leave.signal.aborted) return EXIT_OK;
    log.error("agent exits because of a fatal error", { error });
    return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILURE;
  } finally {
    outside.close();
    await tracer?.close();
    log.flush();
  }
}

/** Aborted when the agent is to leave. */
function leaveOnSignals(): AbortController {
  const leave = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => leave.abort(new Error(`received ${signal}`));
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  return leave;
}

/** Options of the agent, from configuration and flags. */
async function agentOptions(
  loaded: LoadedConfig,
  nodeName: string,
  files: Files,
): Promise<AgentOptions> {
  const { config, flags } = loaded;
  const nodeIps = deriveNodeIps(flags.nodeIP);
  return {
    config,
    nodeName,
    ...(nodeIps ? { nodeIps } : {}),
    rootFolder: flags.rootDir,
    events: { mode: flags.eventMode === "Reference" ? "Reference" : "Protected" },
    images: await imageOptions(flags, files, process.env["HOME"]),
    deadContainers: deadContainersOf(loaded),
    devices: {
      waitMs: flags.deviceWait,
      allocateMs: flags.deviceAllocateTimeout,
      keepInitDevices: flags.keepInitDevices,
    },
    probes: probeSettings(flags),
    runtimeCgroup: flags.runtimeCgroups,
    server: {
      certFolder: flags.certDir,
      socketPath: agentSocket(process.env),
      otherSocketPaths: otherAgentSockets(process.env),
      flags: flagsInForce(flags, config),
      ...pageOptions(flags),
      versions: { nodelet: nodeletVersion(), kubernetes: kubernetesVersion(config.compat) },
    },
  };
}

/** The page of the node, where it is to be served. */
function pageOptions({
  page,
}: LoadedConfig["flags"]): Pick<NonNullable<AgentOptions["server"]>, "page"> {
  const address = parsePageAddress(page);
  if (address === undefined) return {};
  return { page: { address, readAsset: async (name) => readPackageFile(`dist/page/${name}`) } };
}

function probeSettings({ keepProbeLeftovers, fineProbeRate }: LoadedConfig["flags"]) {
  return { endLeftovers: !keepProbeLeftovers, fineAttemptsPerSecond: fineProbeRate };
}

/** Whether no cluster is named that the node belongs to. */
function isAlone({ kubeconfig, bootstrapKubeconfig }: LoadedConfig["flags"]): boolean {
  return kubeconfig === "" && bootstrapKubeconfig === "";
}

/** How the agent of a configuration reaches the world. */
export function connectOptions(config: KubeletConfig): Parameters<typeof connectOutside>[0] {
  return {
    runtimeEndpoint: deriveRuntimeEndpoint(config),
    imageEndpoint: deriveImageEndpoint(config),
    runtimeTimeoutMs: config.runtimeRequestTimeout,
  };
}

function print(text: string): number {
  process.stdout.write(text);
  return EXIT_OK;
}

function refuse(command: string, problems: readonly ConfigProblem[]): number {
  for (const problem of problems)
    process.stderr.write(`${command}: ${formatConfigProblem(problem)}\n`);
  return EXIT_USAGE;
}

/** The agent's log, which begins with warnings about flags and configuration. */
async function openLog(loaded: LoadedConfig): Promise<ReturnType<typeof createLog>> {
  const log = createLog(logOptionsOf(loaded.config.logging));
  logConfig(loaded, log);
  const { inspect } = loaded.flags;
  if (inspect !== "") {
    const { openInspector } = await import("./inspector.ts");
    openInspector(inspect, log);
  }
  return log;
}

/** Standard error; with `splitStream` what is no error goes to standard output. */
function logOptionsOf(logging: KubeletConfig["logging"]): LogOptions {
  const format = logging.format === "json" ? "json" : "text";
  const { splitStream, infoBufferSize } = logging.options[format];
  const info = {
    fd: 1,
    bufferBytes: wholeOf(infoBufferSize),
    flushMs: logging.flushFrequency,
  };
  return {
    format,
    verbosity: logging.verbosity,
    loggers: logging.vmodule.map(({ filePattern, verbosity }) => ({
      pattern: filePattern,
      verbosity,
    })),
    fd: 2,
    ...(splitStream ? { info } : {}),
  };
}

/** The configuration that validation refuses, so that it can be found in the log. */
function logRefused(config: KubeletConfig): void {
  const log = createLog(logOptionsOf(config.logging));
  logEffective(config, log);
  log.flush();
}

/** The configuration after defaults, files and flags, as the Go kubelet logs it at every verbosity. */
function logEffective(config: KubeletConfig, log: ReturnType<typeof createLog>): void {
  log.info("Effective KubeletConfiguration", { config: dumpYaml(shownConfig(config)) });
}

function logConfig(
  { config, warnings, noEffect }: LoadedConfig,
  log: ReturnType<typeof createLog>,
): void {
  logEffective(config, log);
  for (const warning of warnings) log.warn(warning);
  for (const line of reportIdleSettings(noEffect)) log.warn(line);
}
