/** Makes the machine a node of a cluster by kubeadm: what creating a cluster and joining one have in common. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { connectMachine } from "../../outside/connect.ts";
import type { Host } from "../../outside/host/host.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_USAGE } from "../../present/exit-codes.ts";
import { compatOf } from "../control-plane/agent-flags.ts";
import { componentEvidence } from "../control-plane/component-evidence.ts";
import { findKubeadm } from "../control-plane/find-kubeadm.ts";
import { forgetNode } from "../control-plane/forget-node.ts";
import { kubeadmFailures } from "../control-plane/kubeadm-output.ts";
import { hasSystemd, startNodeService } from "../control-plane/node-service.ts";
import { clusterPaths, KUBEADM_FILES, kubeadmPlaces } from "../control-plane/places.ts";
import { restartAgent } from "../control-plane/restart-agent.ts";
import { endOrphanedKubeadm, runKubeadm } from "../control-plane/run-kubeadm.ts";
import { runDown } from "../down/down.ts";
import { type Io, writeLines } from "../io.ts";
import { judgeMachine, type MachineReport } from "../up/checks.ts";
import { linkCommand } from "../up/command-link.ts";
import { type ClusterNote, OpenLedger, readLedger } from "../up/ledger.ts";
import { surveyMachine } from "../up/machine-report.ts";
import { DEFAULT_PLACES, type UpPaths } from "../up/paths.ts";
import { prepareNode } from "../up/prepare.ts";
import { renderChecks } from "../up/render-checks.ts";
import type { UpContext } from "../up/request.ts";
import type { RuntimeChoice } from "../up/runtime/find-runtime.ts";
import { startSupervisor, supervisorEnvironment } from "../up/supervise/background.ts";
import { claimSupervisor, readSupervisor } from "../up/supervise/supervisor-note.ts";

/** What the user asks for, whether the cluster is new or there already. */
export interface ClusterNodeRequest {
  readonly paths: UpPaths;
  readonly containerd: RuntimeChoice;
  readonly ociRuntime: string | undefined;
  /** How long to wait until the node is ready. */
  readonly timeoutMs: number;
  /** The program, or the folder that has it; undefined where the user names none. */
  readonly kubeadm: string | undefined;
  /** Names of kubeadm's checks whose failure is accepted. */
  readonly ignorePreflightErrors: readonly string[];
  /** Whether to keep routes to the pods of other nodes. */
  readonly podRoutes: boolean;
  /** Whether a network plugin of the cluster gives pods their network. */
  readonly networkPlugin: boolean;
  /** Flags for the agent; none leaves those that were given before. */
  readonly agentFlags: readonly string[];
}

/** Dependencies of the commands that make a cluster's node. */
export interface NodeContext extends UpContext {
  /** What keeps the node running from every start of the machine on, where systemd starts it. */
  readonly serviceArgv: readonly [string, ...string[]];
}

/** The request with what a command has to do with it. */
export interface NodeCommand {
  readonly request: ClusterNodeRequest;
  readonly context: NodeContext;
  readonly print: (text: string) => void;
}

/** How kubeadm makes the node. */
interface NodePlan {
  readonly command: "init" | "join";
  /** Version of the kubeadm to download where the machine has none, like `v1.37.2`. */
  readonly version: string;
  /** kubeadm's configuration and files beside it, by their path; throws `CliError` for what contradicts the machine. */
  readonly files: (report: MachineReport) => Readonly<Record<string, string>>;
  readonly moreArguments: readonly string[];
}

/** Begins what the command does on this machine with what an earlier run has left. */
export async function cleanAfterInterruption(command: NodeCommand): Promise<void> {
  const { cluster } = readLedger(command.request.paths.ledger) ?? {};
  if (cluster === undefined || cluster.made === true) return;
  command.print("an earlier run was interrupted: removing what it left, then starting again");
  await endOrphanedKubeadm(kubeadmPlaces(command.request.paths).running);
  if (cluster.joined === true) await forgetNode(command.request.paths);
  await removeNode(command);
}

/** Throws `CliError` where the machine is a node already that this command has not made. */
export function refuseOtherNodes({ paths }: Pick<ClusterNodeRequest, "paths">): void {
  const { kubeconfig, adminKubeconfig } = KUBEADM_FILES;
  const found = [adminKubeconfig, kubeconfig].find((path) => existsSync(path));
  if (found !== undefined)
    throw new CliError(`this machine is a node of a cluster already: ${found}`, {
      fix: "kubeadm reset takes it out of that cluster; nodelet service install --kubeadm only replaces its kubelet",
    });
  if (readSupervisor(paths) !== undefined || existsSync(paths.config))
    throw new CliError("this machine is a node without a cluster, made by nodelet up", {
      fix: "nodelet down removes that node; keep its manifests, and apply them to the cluster afterwards",
    });
}

/**
 * Checks and prepares the machine and has kubeadm make the node. Resolves with whether the machine can be one; throws
 * `CliError` when kubeadm fails, with the machine as it was before.
 */
export async function makeNode(command: NodeCommand, plan: NodePlan): Promise<boolean> {
  const { request, context, print } = command;
  const { io } = context;
  const paths = clusterPaths(request.paths);
  const { folder } = kubeadmPlaces(paths);
  const survey = await surveyForCluster(request);
  const checks = judgeMachine(survey.report);
  writeLines(io.stdout, renderChecks(checks, io.paint));
  if (checks.some(({ level }) => level === "fail")) return false;
  const files = plan.files(survey.report);
  const expectFolders = () =>
    new OpenLedger(paths.ledger).expectFolders([
      ...[paths.stateDir, paths.runDir, paths.logDir],
      ...[KUBEADM_FILES.manifests, KUBEADM_FILES.certificates, KUBEADM_FILES.etcd],
    ]);
  const { kubeadm: named } = request;
  const kubeadm = await findKubeadm({
    named: named === undefined ? undefined : resolve(io.cwd, named),
    version: plan.version,
    folder,
    print,
    onDownload: expectFolders,
  });
  expectFolders();
  const ledger = new OpenLedger(paths.ledger);
  const criSocket = survey.report.runtime.socket;
  const { podRoutes, networkPlugin, agentFlags, ociRuntime } = request;
  const joined = plan.command === "join" ? { joined: true } : {};
  const choices = { podRoutes, networkPlugin, agentFlags, ...(ociRuntime ? { ociRuntime } : {}) };
  ledger.change(() => ({ cluster: { kubeadm, criSocket, ...choices, ...joined } }));
  await startNode(command, survey, ledger);
  if (paths.stateDir === DEFAULT_PLACES.stateDir) linkCommand(ledger, print);
  // The kubelet's package has it where there is one; kubeadm makes it only for a control plane.
  mkdirSync(KUBEADM_FILES.manifests, { recursive: true, mode: 0o755 });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o711 });
    writeFileSync(path, text, { mode: 0o600 });
  }
  await callKubeadm(command, plan, kubeadm);
  changeNote(ledger, { made: true });
  return true;
}

/** Changes what is noted of the cluster. */
function changeNote(ledger: OpenLedger, change: Partial<ClusterNote>): void {
  ledger.change(({ cluster }) => (cluster ? { cluster: { ...cluster, ...change } } : {}));
}

interface ClusterSurvey {
  readonly host: Host;
  readonly report: MachineReport;
}

async function surveyForCluster({
  paths: chosen,
  containerd,
  ociRuntime,
}: Pick<ClusterNodeRequest, "paths" | "containerd" | "ociRuntime">): Promise<ClusterSurvey> {
  const paths = clusterPaths(chosen);
  const { host } = connectMachine(silentLog);
  const ledger = readLedger(paths.ledger);
  const kept = ociRuntime ?? ledger?.cluster?.ociRuntime;
  const report = await surveyMachine({ host, paths, ledger, containerd, ociRuntime: kept });
  return { host, report };
}

/** Makes the runtime ready, and has the agent started as soon as there are kubeadm's files for it. */
async function startNode(
  { request, context, print }: NodeCommand,
  survey: ClusterSurvey,
  ledger: OpenLedger,
): Promise<void> {
  await prepareMachine(request.paths, survey, ledger, print);
  if (!hasSystemd()) {
    startSupervisor(clusterPaths(request.paths), context);
    return;
  }
  print("starting the service kubelet, which runs nodelet");
  await startNodeService(ledger, { command: context.serviceArgv, env: supervisorEnvironment() });
}

/** What has to be there before the supervisor starts; all of it may be repeated. */
async function prepareMachine(
  chosen: UpPaths,
  { host, report }: ClusterSurvey,
  ledger: OpenLedger,
  print: (text: string) => void,
): Promise<void> {
  const paths = clusterPaths(chosen);
  const ociRuntime = ledger.now.cluster?.ociRuntime;
  mkdirSync(paths.runDir, { recursive: true, mode: 0o755 });
  {
    using _claim = claimSupervisor(paths);
    const forKubeadm = ledger.now.cluster?.networkPlugin === true ? "plugin" : "cluster";
    await prepareNode({ paths, ledger, report, host, print, ociRuntime, forKubeadm });
  }
  forwardPackets(host);
}

/** Prepares the machine again after a start of it, before the supervisor runs as a service. Throws `CliError`. */
export async function prepareAfterBoot(paths: UpPaths, io: Pick<Io, "stderr">): Promise<void> {
  const print = (text: string) => writeLines(io.stderr, [text]);
  const survey = await surveyForCluster({ paths, containerd: "auto", ociRuntime: undefined });
  await prepareMachine(paths, survey, new OpenLedger(paths.ledger), print);
}

/** `down` puts the old value back. Where it cannot be set, kubeadm's preflight names it with the fix. */
function forwardPackets(host: Host): void {
  try {
    host.writeKernel("/proc/sys/net/ipv4/ip_forward", "1");
  } catch (error) {
    if (!isOutside(error)) throw error;
  }
}

async function callKubeadm(command: NodeCommand, plan: NodePlan, kubeadm: string): Promise<void> {
  const { request, context, print } = command;
  const { paths, ignorePreflightErrors: ignored } = request;
  const places = kubeadmPlaces(paths);
  const signal = context.onInterrupt();
  const called = runKubeadm({
    kubeadm,
    argv: [
      plan.command,
      `--config=${places.config}`,
      ...plan.moreArguments,
      ...(ignored.length > 0 ? [`--ignore-preflight-errors=${ignored.join(",")}`] : []),
    ],
    programs: places.programs,
    running: places.running,
    compat: compatOf(request.agentFlags),
    log: join(paths.logDir, "kubeadm.log"),
    onStep: ({ phase, text }) => print(`${phase}: ${text}`),
    signal,
  });
  const { ok, output } = await called.finally(() => {
    // The token and the key in it are needed by nobody afterwards.
    if (plan.command === "join") rmSync(places.config, { force: true });
  });
  if (ok) return;
  const failures = signal.aborted ? [{ problem: "interrupted", fix: "" }] : kubeadmFailures(output);
  const evidence = failures.some(({ fix }) => fix === "") ? componentEvidence() : [];
  print(`kubeadm ${plan.command} failed; removing what it has created`);
  if (plan.command === "join") await forgetNode(paths);
  await removeNode(command);
  throw new CliError(failures.map(({ problem }) => problem).join("\n"), {
    fix: [...failures.map(({ fix }) => fix), ...evidence].filter((line) => line !== "").join("\n"),
  });
}

/** Keeps a copy of the administrator's kubeconfig where all commands read it. */
export function keepAdmin(paths: UpPaths): void {
  const admin = readFileSync(KUBEADM_FILES.adminKubeconfig, "utf8");
  new OpenLedger(paths.ledger).writeFile(paths.kubeconfig, admin, 0o600);
}

/** The machine as it was before. */
async function removeNode({ request, context }: NodeCommand): Promise<void> {
  const { paths, timeoutMs } = request;
  // What is removed interests nobody here; and the user's interrupt has done its work when it ended kubeadm.
  const io = { ...context.io, stdout: new PassThrough().resume() };
  const down = { paths, timeoutMs, graceSeconds: 0, purge: false, images: false, yes: true };
  await runDown(down, { io, onInterrupt: () => new AbortController().signal });
}

/** Starts the node again after a reboot, or when the agent was stopped, with other flags where some are given; resolves with whether it did not run already. */
export async function resumeNode(command: NodeCommand): Promise<boolean> {
  const { request, print } = command;
  const { agentFlags, ociRuntime, paths } = request;
  const ledger = new OpenLedger(paths.ledger);
  const isOther =
    agentFlags.length > 0 && agentFlags.join("\n") !== ledger.now.cluster?.agentFlags?.join("\n");
  if (isOther) changeNote(ledger, { agentFlags });
  if (ociRuntime !== undefined) changeNote(ledger, { ociRuntime });
  if (readSupervisor(paths) !== undefined) {
    if (isOther) await restartAgent(paths, "with other flags", print);
    return false;
  }
  await startNode(command, await surveyForCluster(request), ledger);
  return true;
}

/** A file that an option names, for kubeadm's configuration. Throws `CliError` when it cannot be read. */
export function namedFile(option: string, path: string): { path: string; text: string } {
  try {
    return { path, text: readFileSync(path, "utf8") };
  } catch (error) {
    throw new CliError(`${option}: ${messageOf(error)}`, {
      exitCode: EXIT_USAGE,
      fix: "name a file that can be read",
      cause: error,
    });
  }
}
