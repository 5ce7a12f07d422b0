/** `nodelet up --control-plane`: makes the machine the control plane and only node of a cluster, by kubeadm. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import { AgentClient } from "../../client/agent-client.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { connectMachine } from "../../outside/connect.ts";
import type { Host } from "../../outside/host/host.ts";
import { spokenDuration } from "../../present/amounts.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_OK, EXIT_USAGE } from "../../present/exit-codes.ts";
import { kubernetesVersion } from "../../process/version.ts";
import { runDown } from "../down/down.ts";
import { type Io, writeLines } from "../io.ts";
import { judgeMachine, type MachineReport } from "../up/checks.ts";
import { commandWord, linkCommand } from "../up/command-link.ts";
import { OpenLedger, readLedger } from "../up/ledger.ts";
import { surveyMachine } from "../up/machine-report.ts";
import { DEFAULT_PLACES, type UpPaths } from "../up/paths.ts";
import { prepareNode, REAL_RESOLV_CONF } from "../up/prepare.ts";
import { renderChecks } from "../up/render-checks.ts";
import type { UpContext } from "../up/request.ts";
import { freePodNetwork } from "../up/runtime/own-containerd.ts";
import { startSupervisor } from "../up/supervise/background.ts";
import { claimSupervisor, readSupervisor } from "../up/supervise/supervisor-note.ts";
import { awaitCluster } from "./await-cluster.ts";
import { componentEvidence } from "./component-evidence.ts";
import { findKubeadm } from "./find-kubeadm.ts";
import { kubeadmConfig } from "./kubeadm-config.ts";
import { kubeadmFailures } from "./kubeadm-output.ts";
import { clusterPaths, KUBEADM_FILES, kubeadmPlaces } from "./places.ts";
import type { ControlPlaneRequest } from "./request.ts";
import { runKubeadm } from "./run-kubeadm.ts";
import { kubeadmSettings } from "./settings.ts";

/** Runs `up --control-plane`; resolves with the exit code when the cluster is ready. */
export async function runControlPlane(
  request: ControlPlaneRequest,
  context: UpContext,
): Promise<number> {
  const { paths } = request;
  const print = (text: string) => writeLines(context.io.stderr, [`nodelet: ${text}`]);
  const parts = { request, context, print };
  const { cluster } = readLedger(paths.ledger) ?? {};
  refuseOthers(request, cluster !== undefined);
  if (cluster?.made === true) return await resume(parts);
  if (cluster !== undefined) {
    print("an earlier run was interrupted: removing what it left, then starting again");
    await undo(parts);
  }
  return await create(parts);
}

interface Parts {
  readonly request: ControlPlaneRequest;
  readonly context: UpContext;
  readonly print: (text: string) => void;
}

/** Throws `CliError` where the machine is a node already that this command has not made. */
function refuseOthers({ paths }: ControlPlaneRequest, ours: boolean): void {
  if (ours) return;
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

async function create({ request, context, print }: Parts): Promise<number> {
  const { io } = context;
  const paths = clusterPaths(request.paths);
  const places = kubeadmPlaces(paths);
  const survey = await surveyCluster(request, paths);
  const checks = judgeMachine(survey.report);
  writeLines(io.stdout, renderChecks(checks, io.paint));
  if (checks.some(({ level }) => level === "fail")) return EXIT_FAILURE;
  const config = configText(request, survey.report, io);
  const { kubeadm: named, kubernetesVersion: version } = request.cluster;
  const expectFolders = () =>
    new OpenLedger(paths.ledger).expectFolders([
      ...[paths.stateDir, paths.runDir, paths.logDir],
      ...[KUBEADM_FILES.folder, KUBEADM_FILES.etcd],
    ]);
  const kubeadm = await findKubeadm({
    named: named === undefined ? undefined : resolve(io.cwd, named),
    version: version ?? kubernetesVersion(undefined),
    folder: places.folder,
    print,
    onDownload: expectFolders,
  });
  expectFolders();
  const ledger = new OpenLedger(paths.ledger);
  const criSocket = survey.report.runtime.socket;
  ledger.change(() => ({ cluster: { kubeadm, criSocket } }));
  await startNode({ request, context, print }, survey, ledger);
  if (paths.stateDir === DEFAULT_PLACES.stateDir) linkCommand(ledger, print);
  mkdirSync(places.folder, { recursive: true, mode: 0o711 });
  writeFileSync(places.config, config, { mode: 0o600 });
  return await initialize({ request, context, print }, ledger, kubeadm);
}

interface ClusterSurvey {
  readonly host: Host;
  readonly report: MachineReport;
}

async function surveyCluster(
  { containerd, ociRuntime }: ControlPlaneRequest,
  paths: UpPaths,
): Promise<ClusterSurvey> {
  const { host } = connectMachine(silentLog);
  const ledger = readLedger(paths.ledger);
  const report = await surveyMachine({ host, paths, ledger, containerd, ociRuntime });
  return { host, report };
}

/** Makes the runtime ready, and has the agent started as soon as there are kubeadm's files for it. */
async function startNode(
  { request, context, print }: Parts,
  { host, report }: ClusterSurvey,
  ledger: OpenLedger,
): Promise<void> {
  const paths = clusterPaths(request.paths);
  const { ociRuntime } = request;
  mkdirSync(paths.runDir, { recursive: true, mode: 0o755 });
  {
    using _claim = claimSupervisor(paths);
    await prepareNode({ paths, ledger, report, host, print, ociRuntime, forKubeadm: true });
  }
  forwardPackets(host);
  startSupervisor(paths, context);
}

/** `down` puts the old value back. Where it cannot be set, kubeadm's preflight names it with the fix. */
function forwardPackets(host: Host): void {
  try {
    host.writeKernel("/proc/sys/net/ipv4/ip_forward", "1");
  } catch (error) {
    if (!isOutside(error)) throw error;
  }
}

function configText(
  { cluster }: ControlPlaneRequest,
  { nodeName, runtime, cgroups, swapBytes }: MachineReport,
  { cwd }: Pick<Io, "cwd">,
): string {
  const settings = kubeadmSettings(cluster, {
    nodeName: "name" in nodeName ? nodeName.name : "",
    runtime,
    cgroupVersion: cgroups.version ?? 2,
    swapOn: swapBytes > 0,
    resolvConf: existsSync(REAL_RESOLV_CONF) ? REAL_RESOLV_CONF : undefined,
    freePodNetwork,
    kubernetesVersion: kubernetesVersion(undefined),
  });
  const { kubeadmConfig: named } = cluster;
  if (named === undefined) return kubeadmConfig(settings, undefined);
  const path = resolve(cwd, named);
  return kubeadmConfig(settings, { path, text: configFile(path) });
}

function configFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CliError(`--kubeadm-config: ${messageOf(error)}`, {
      exitCode: EXIT_USAGE,
      fix: "name a file that can be read",
      cause: error,
    });
  }
}

async function initialize(parts: Parts, ledger: OpenLedger, kubeadm: string): Promise<number> {
  const { request, context, print } = parts;
  const { paths, cluster } = request;
  const places = kubeadmPlaces(paths);
  const ignored = cluster.ignorePreflightErrors;
  const signal = context.onInterrupt();
  const { ok, output } = await runKubeadm({
    kubeadm,
    argv: [
      "init",
      `--config=${places.config}`,
      // The line to join with has a token in it, which logs must not have: it can be printed at any time.
      "--skip-token-print",
      ...(ignored.length > 0 ? [`--ignore-preflight-errors=${ignored.join(",")}`] : []),
    ],
    programs: places.programs,
    log: join(paths.logDir, "kubeadm.log"),
    onStep: ({ phase, text }) => print(`${phase}: ${text}`),
    signal,
  });
  if (!ok) {
    const failures = signal.aborted
      ? [{ problem: "interrupted", fix: "" }]
      : kubeadmFailures(output);
    const evidence = failures.some(({ fix }) => fix === "") ? componentEvidence() : [];
    print("kubeadm init failed; removing what it has created");
    await undo(parts);
    throw new CliError(failures.map(({ problem }) => problem).join("\n"), {
      fix: [...failures.map(({ fix }) => fix), ...evidence]
        .filter((line) => line !== "")
        .join("\n"),
    });
  }
  ledger.change(({ cluster: note }) => (note ? { cluster: { ...note, made: true } } : {}));
  const admin = readFileSync(KUBEADM_FILES.adminKubeconfig, "utf8");
  ledger.writeFile(paths.kubeconfig, admin, 0o600);
  return await finish(parts);
}

/** The machine as it was before. */
async function undo({ request: { paths, timeoutMs }, context }: Parts): Promise<void> {
  // What is removed interests nobody here; and the user's interrupt has done its work when it ended kubeadm.
  const io = { ...context.io, stdout: new PassThrough().resume() };
  const request = { paths, timeoutMs, graceSeconds: 0, purge: false, images: false, yes: true };
  await runDown(request, { io, onInterrupt: () => new AbortController().signal });
}

/** After a reboot, or when the agent was stopped. */
async function resume(parts: Parts): Promise<number> {
  const { request, print } = parts;
  const { paths } = request;
  if (readSupervisor(paths) === undefined)
    await startNode(
      parts,
      await surveyCluster(request, clusterPaths(paths)),
      new OpenLedger(paths.ledger),
    );
  else print("the control plane is running already");
  return await finish(parts);
}

async function finish({ request, context, print }: Parts): Promise<number> {
  const { paths, timeoutMs } = request;
  const { io } = context;
  const client = new AgentClient(paths.agentSocket);
  const waiting = await awaitCluster(client, {
    timeoutMs,
    signal: context.onInterrupt(),
    print,
    io,
  });
  if (waiting.length > 0) {
    const late = `the cluster is not ready after ${spokenDuration(timeoutMs)}`;
    writeLines(io.stderr, [`nodelet: ${late}`, ...waiting.map((line) => `  ${line}`)]);
    return EXIT_FAILURE;
  }
  const word = commandWord();
  const kubectl = `kubectl --kubeconfig ${paths.kubeconfig}`;
  writeLines(io.stdout, [
    "The cluster is ready and keeps running in the background.",
    `  ${kubectl} create deployment web --image=IMAGE`,
    `  kubeadm token create --print-join-command --kubeconfig ${paths.kubeconfig}`,
    `  ${word} up --control-plane   starts it again after a reboot`,
    `  ${word} down                 removes the cluster with all its data`,
  ]);
  return EXIT_OK;
}
