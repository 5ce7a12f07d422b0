/** `nodelet join`: makes the machine a node of a cluster that is there, by kubeadm. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { AgentClient } from "../../client/agent-client.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_OK, EXIT_USAGE } from "../../present/exit-codes.ts";
import { kubernetesVersion } from "../../process/version.ts";
import {
  type ClusterNodeRequest,
  cleanAfterInterruption,
  keepAdmin,
  makeNode,
  type NodeCommand,
  type NodeContext,
  namedFile,
  refuseOtherNodes,
  resumeNode,
} from "../cluster/cluster-node.ts";
import { compatOf } from "../control-plane/agent-flags.ts";
import { kubeadmConfig } from "../control-plane/kubeadm-config.ts";
import { hasSystemd } from "../control-plane/node-service.ts";
import { KUBEADM_FILES, kubeadmPlaces } from "../control-plane/places.ts";
import { newerThanServer } from "../control-plane/version-skew.ts";
import { awaitCluster } from "../control-plane/waiting/await-cluster.ts";
import { writeLines } from "../io.ts";
import type { MachineReport } from "../up/checks.ts";
import { commandWord } from "../up/command-link.ts";
import { readLedger } from "../up/ledger.ts";
import { REAL_RESOLV_CONF } from "../up/prepare.ts";
import { discoverCluster, refuse } from "./discover.ts";
import {
  choiceSettings,
  type JoinChoices,
  joinCredentials,
  kubeletPatch,
  machineSettings,
} from "./join-settings.ts";

/** A node of a cluster that is there. */
interface JoinRequest extends ClusterNodeRequest {
  readonly choices: JoinChoices;
}

/** Runs `join`; resolves with the exit code when the node is ready. */
export async function runJoin(request: JoinRequest, context: NodeContext): Promise<number> {
  const { paths } = request;
  const { io } = context;
  if (process.getuid?.() !== 0)
    throw new CliError("permission denied: only root can join a cluster", { fix: "use sudo" });
  const print = (text: string) => writeLines(io.stderr, [`nodelet: ${text}`]);
  const command = { request, context, print };
  const { cluster } = readLedger(paths.ledger) ?? {};
  if (cluster !== undefined && cluster.joined !== true)
    throw new CliError("this machine is the control plane of a cluster of its own", {
      fix: "nodelet down removes that cluster with all its data",
    });
  if (cluster?.made === true) {
    if (!(await resumeNode(command))) print("this machine has joined already");
    return await finish(command);
  }
  if (cluster === undefined) refuseOtherNodes(request);
  const { endpoint, config } = request.choices;
  if (endpoint === undefined && config === undefined)
    throw new CliError("the address of the API server is missing", {
      exitCode: EXIT_USAGE,
      fix: "use the line that kubeadm token create --print-join-command prints on a control plane",
    });
  await cleanAfterInterruption(command);
  return await joinCluster(request, command);
}

async function joinCluster(request: JoinRequest, command: NodeCommand): Promise<number> {
  const { choices, paths, agentFlags } = request;
  const { io } = command.context;
  const named =
    choices.config === undefined
      ? undefined
      : namedFile("--config", resolve(io.cwd, choices.config));
  const asked = kubeadmConfig("join", choiceSettings(choices), named);
  const version = kubernetesVersion(compatOf(agentFlags));
  const credentials = joinCredentials(asked);
  // A cluster that cannot be asked with a token is kubeadm's to ask.
  const cluster = credentials && (await discoverCluster(credentials, io.now));
  const served = cluster?.version;
  const tooOld = served === undefined ? undefined : newerThanServer(served, version, "join");
  if (tooOld !== undefined) throw refuse(tooOld);
  const places = kubeadmPlaces(paths);
  const isNode = await makeNode(command, {
    command: "join",
    version: served ?? version,
    files: (report) => {
      const facts = factsOf(report);
      const settings = [...choiceSettings(choices), ...machineSettings(facts, places.patches)];
      const patch = kubeletPatch(facts);
      return {
        [places.config]: kubeadmConfig("join", settings, named),
        ...(patch === undefined
          ? {}
          : { [join(places.patches, "kubeletconfiguration+merge.yaml")]: patch }),
      };
    },
    moreArguments: [],
  });
  if (!isNode) return EXIT_FAILURE;
  return await finish(command);
}

function factsOf({ nodeName, runtime, cgroups, swapBytes }: MachineReport) {
  return {
    nodeName: "name" in nodeName ? nodeName.name : "",
    runtime,
    cgroupVersion: cgroups.version ?? 2,
    swapOn: swapBytes > 0,
    // That of the cluster's first machine may not be here.
    resolvConf: existsSync(REAL_RESOLV_CONF) ? REAL_RESOLV_CONF : "/etc/resolv.conf",
  };
}

async function finish({ request, context, print }: NodeCommand): Promise<number> {
  const { paths, timeoutMs } = request;
  const { io } = context;
  const client = new AgentClient(paths.agentSocket);
  const signal = context.onInterrupt();
  if (existsSync(KUBEADM_FILES.adminKubeconfig)) keepAdmin(paths);
  const isReady = await awaitCluster(client, { addons: [], timeoutMs, signal, print, io });
  if (!isReady) return EXIT_FAILURE;
  const word = commandWord();
  writeLines(io.stdout, [
    "This machine is a node of the cluster and keeps running in the background.",
    `  ${word} get pods   lists its pods`,
    ...(hasSystemd()
      ? ["  systemctl status kubelet   its service, which also starts it after a reboot"]
      : [`  ${word} join       starts it again after a reboot`]),
    `  ${word} leave      takes it out of the cluster`,
  ]);
  return EXIT_OK;
}
