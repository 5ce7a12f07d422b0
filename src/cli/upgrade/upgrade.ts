/** `nodelet upgrade`: brings the control plane, or this node's part of it, to another version by kubeadm. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { promisify } from "node:util";
import { AgentClient } from "../../client/agent-client.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_OK } from "../../present/exit-codes.ts";
import { kubernetesVersion } from "../../process/version.ts";
import { type ApiAccess, connectApi } from "../api-access.ts";
import type { CommandContext } from "../context.ts";
import { compatOf, withoutCompat } from "../control-plane/agent-flags.ts";
import { componentEvidence } from "../control-plane/component-evidence.ts";
import { findKubeadm } from "../control-plane/find-kubeadm.ts";
import { installedPaths } from "../control-plane/installed-paths.ts";
import { kubeadmFailures } from "../control-plane/kubeadm-output.ts";
import { KUBEADM_FILES, kubeadmPlaces } from "../control-plane/places.ts";
import { restartAgent } from "../control-plane/restart-agent.ts";
import { runKubeadm } from "../control-plane/run-kubeadm.ts";
import { newerThanServer } from "../control-plane/version-skew.ts";
import { awaitApi } from "../control-plane/waiting/await-api.ts";
import { awaitCluster } from "../control-plane/waiting/await-cluster.ts";
import { writeLines } from "../io.ts";
import { type ClusterNote, OpenLedger, readLedger } from "../up/ledger.ts";
import type { UpPaths } from "../up/paths.ts";
import { settleInterrupted } from "./interrupted-upgrade.ts";
import { upgradeObstacle } from "./skew.ts";
import { watchComponents } from "./watch-components.ts";

/** The user's request. */
interface UpgradeRequest {
  readonly paths: UpPaths;
  /** Like `v1.37.2`. */
  readonly version: string;
  readonly kubeadm: string | undefined;
  readonly ignorePreflightErrors: readonly string[];
  readonly timeoutMs: number;
  /** Do not ask. */
  readonly yes: boolean;
}

interface Upgrade {
  readonly request: UpgradeRequest;
  readonly context: CommandContext;
  readonly cluster: ClusterNote;
  readonly kubeadm: string;
  readonly print: (text: string) => void;
}

const VERSION_MS = 10_000;

/** Runs `upgrade`; resolves with the exit code. */
export async function runUpgrade(
  request: UpgradeRequest,
  context: CommandContext,
): Promise<number> {
  const { io } = context;
  const { version } = request;
  if (process.getuid?.() !== 0)
    throw new CliError("permission denied: only root can upgrade a cluster", { fix: "use sudo" });
  const { cluster } = readLedger(request.paths.ledger) ?? {};
  if (cluster?.made !== true)
    throw new CliError("this machine is no node of a cluster that nodelet has made or joined", {
      fix: "kubeadm upgrade upgrades other clusters",
    });
  const print = (text: string) => writeLines(io.stderr, [`nodelet: ${text}`]);
  await settleInterrupted(request.paths, print);
  const current = await versionOfCluster(request, context, print);
  const isOther = isFurtherNode(cluster);
  const obstacle = upgradeObstacle({
    cluster: current,
    target: version,
    node: kubernetesVersion(compatOf(cluster.agentFlags ?? [])),
    startWords: installedPaths(request.paths).startWords,
  });
  if (obstacle !== undefined) throw new CliError(obstacle.problem, { fix: obstacle.fix });
  if (isOther && current !== version)
    throw new CliError(`the API server has ${current}, not ${version}`, {
      fix: `upgrade the first control plane to ${version} before this node`,
    });
  const kubeadm = await kubeadmOf(request, context, print);
  const upgrade = { request, context, cluster, kubeadm, print };
  if (!isOther && !(await mayApply(upgrade))) return EXIT_FAILURE;
  await apply(upgrade, isOther);
  return await finish(upgrade);
}

/** kubeadm upgrades the cluster on its first control plane, and only this machine's part on others. */
function isFurtherNode({ joined }: ClusterNote): boolean {
  return joined === true;
}

function clusterKubeconfig(): string {
  const { adminKubeconfig, kubeconfig } = KUBEADM_FILES;
  return existsSync(adminKubeconfig) ? adminKubeconfig : kubeconfig;
}

/** The API server may be starting again, after a run that was interrupted or a change of its manifest. */
async function versionOfCluster(
  { timeoutMs }: Pick<UpgradeRequest, "timeoutMs">,
  { onInterrupt }: Pick<CommandContext, "onInterrupt">,
  print: (text: string) => void,
): Promise<string> {
  const signal = onInterrupt();
  try {
    return await clusterVersion(signal);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    print(`${error.message}; waiting for it`);
  }
  await awaitApi(clusterKubeconfig(), { timeoutMs, signal });
  return await clusterVersion(signal);
}

async function clusterVersion(signal: AbortSignal): Promise<string> {
  const api: ApiAccess = await connectApi(clusterKubeconfig(), "kubeadm writes it");
  try {
    const { transport } = api.client;
    const call = { method: "GET", path: "/version", timeoutMs: VERSION_MS } as const;
    const { body } = await transport.request(call, signal);
    return (JSON.parse(body) as { readonly gitVersion?: string }).gitVersion ?? "";
  } catch (error) {
    throw new CliError("the API server does not answer", {
      fix: "nodelet get pods and nodelet why show what it waits for",
      cause: error,
    });
  } finally {
    api.close();
  }
}

/** A kubeadm of just that version, which is the only one that may do it. */
async function kubeadmOf(
  { paths, kubeadm: named, version }: UpgradeRequest,
  { io }: CommandContext,
  print: (text: string) => void,
): Promise<string> {
  const found = await findKubeadm({
    named: named === undefined ? undefined : resolve(io.cwd, named),
    version,
    folder: kubeadmPlaces(paths).folder,
    print,
    onDownload: () => {},
    isWanted: async (path) => (await versionOf(path)) === version,
  });
  const has = await versionOf(found);
  if (has === version) return found;
  throw new CliError(`${found} is a kubeadm ${has}, not ${version}`, {
    fix: `name one of ${version} with --kubeadm, or none to have it downloaded`,
  });
}

async function versionOf(kubeadm: string): Promise<string> {
  const { stdout } = await promisify(execFile)(kubeadm, ["version", "-o", "short"]);
  return stdout.trim();
}

/** Shows kubeadm's plan, and asks. */
async function mayApply(upgrade: Upgrade): Promise<boolean> {
  const { request, context } = upgrade;
  const { io } = context;
  const output = await call(upgrade, ["plan", request.version]);
  const lines = output.split("\n").filter((line) => !/^\[|^$|kubeadm upgrade apply/.test(line));
  writeLines(io.stdout, lines);
  if (request.yes) return true;
  if (io.stdin.isTTY !== true || io.stdout.isTTY !== true)
    throw new CliError("there is nobody to ask whether to do it", { fix: "--yes does it" });
  const reader = createInterface({ input: io.stdin, output: io.stdout });
  try {
    const question = `Upgrade the cluster to ${request.version}? [y/N] `;
    const answer = await reader.question(question, { signal: context.onInterrupt() });
    return ["y", "yes"].includes(answer.trim().toLowerCase());
  } catch {
    // The end of the input, or Ctrl-C, is no consent.
    return false;
  } finally {
    reader.close();
  }
}

async function apply(upgrade: Upgrade, isOther: boolean): Promise<void> {
  const { request, kubeadm, print } = upgrade;
  const { paths, version } = request;
  const { patches } = kubeadmPlaces(paths);
  const before = configText();
  const words = isOther ? ["node"] : ["apply", version, "--yes"];
  await call(upgrade, [...words, ...(existsSync(patches) ? [`--patches=${patches}`] : [])]);
  const ledger = new OpenLedger(paths.ledger);
  ledger.change(({ cluster }) => (cluster ? { cluster: { ...cluster, kubeadm } } : {}));
  if (followsOwnRelease(upgrade)) await restartAgent(paths, "as its own release", print);
  else if (configText() !== before) await restartAgent(paths, "with its new configuration", print);
}

/** Ends what `--compat` was given for, where the API server is now as new as this program; whether there was something. */
function followsOwnRelease({ request, cluster }: Upgrade): boolean {
  const { paths, version } = request;
  const { agentFlags = [] } = cluster;
  const own = kubernetesVersion(undefined);
  if (compatOf(agentFlags) === undefined || newerThanServer(version, own, "") !== undefined)
    return false;
  new OpenLedger(paths.ledger).change(({ cluster: note }) =>
    note ? { cluster: { ...note, agentFlags: withoutCompat(agentFlags) } } : {},
  );
  return true;
}

function configText(): string {
  const { kubeletConfig } = KUBEADM_FILES;
  return existsSync(kubeletConfig) ? readFileSync(kubeletConfig, "utf8") : "";
}

/** What kubeadm has put back takes a moment to serve again. */
async function stateAfter(
  timeoutMs: number,
  signal: AbortSignal,
  print: (text: string) => void,
): Promise<string> {
  print("kubeadm failed; waiting for the API server as it was before");
  const answers = await awaitApi(clusterKubeconfig(), { timeoutMs, signal }).then(
    () => true,
    () => false,
  );
  return [
    "kubeadm has put back the static pods that it could not replace",
    answers ? "the API server answers" : "the API server does not answer yet: nodelet doctor",
    "the command can be run again",
  ].join("; ");
}

/** Output of `kubeadm upgrade`. Throws `CliError` with what it says, and what the components say. */
async function call(
  { request, context, cluster, kubeadm, print }: Upgrade,
  words: readonly string[],
): Promise<string> {
  const { paths, ignorePreflightErrors: ignored, timeoutMs } = request;
  const signal = context.onInterrupt();
  const components = watchComponents(paths, context.io.now, print);
  const run = runKubeadm({
    kubeadm,
    argv: [
      ...["upgrade", ...words],
      ...(ignored.length > 0 ? [`--ignore-preflight-errors=${ignored.join(",")}`] : []),
    ],
    programs: kubeadmPlaces(paths).programs,
    running: kubeadmPlaces(paths).running,
    compat: compatOf(cluster.agentFlags ?? []),
    log: join(paths.logDir, "kubeadm.log"),
    onStep: ({ phase, text }) => print(`${phase}: ${text}`),
    signal,
  });
  const failed = await run.then(components.end, components.end);
  const { ok, output } = await run;
  if (ok) return output;
  const failures = kubeadmFailures(output);
  // What kubeadm has put back writes to the same place.
  const others = failed.length > 0 ? failed : componentEvidence();
  const evidence = failures.some(({ fix }) => fix === "") ? others : [];
  const state =
    words[0] === "plan" ? "nothing was changed" : await stateAfter(timeoutMs, signal, print);
  throw new CliError(failures.map(({ problem }) => problem).join("\n"), {
    fix: [
      ...failures.map(({ fix }) => fix),
      ...evidence,
      state,
      `its log: ${paths.logDir}/kubeadm.log`,
    ]
      .filter((line) => line !== "")
      .join("\n"),
  });
}

async function finish({ request, context, print }: Upgrade): Promise<number> {
  const { paths, timeoutMs, version } = request;
  const { io } = context;
  const client = new AgentClient(paths.agentSocket);
  const signal = context.onInterrupt();
  if (!(await awaitCluster(client, { addons: [], timeoutMs, signal, print, io })))
    return EXIT_FAILURE;
  writeLines(io.stdout, [`This machine's part of the cluster is at ${version}.`]);
  return EXIT_OK;
}
