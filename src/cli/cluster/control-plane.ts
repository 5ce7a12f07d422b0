/** `nodelet up --control-plane`: makes the machine the control plane and only node of a cluster, by kubeadm. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Pod } from "../../api/generated/types.ts";
import { controlPlaneComponent } from "../../api/pod/pod.ts";
import { AgentClient } from "../../client/agent-client.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_OK } from "../../present/exit-codes.ts";
import { kubernetesVersion } from "../../process/version.ts";
import { compatOf } from "../control-plane/agent-flags.ts";
import { kubeadmConfig } from "../control-plane/kubeadm-config.ts";
import { grantNodeRights } from "../control-plane/node-rights.ts";
import { hasSystemd } from "../control-plane/node-service.ts";
import { clusterPaths, kubeadmPlaces } from "../control-plane/places.ts";
import { kubeadmSettings } from "../control-plane/settings.ts";
import { newerThanServer } from "../control-plane/version-skew.ts";
import { ADDONS, awaitCluster } from "../control-plane/waiting/await-cluster.ts";
import { type Io, writeLines } from "../io.ts";
import type { MachineReport } from "../up/checks.ts";
import { commandWord } from "../up/command-link.ts";
import { readLedger } from "../up/ledger.ts";
import { REAL_RESOLV_CONF } from "../up/prepare.ts";
import { freePodNetwork } from "../up/runtime/own-containerd.ts";
import {
  cleanAfterInterruption,
  keepAdmin,
  makeNode,
  type NodeCommand,
  type NodeContext,
  namedFile,
  refuseOtherNodes,
  resumeNode,
} from "./cluster-node.ts";
import type { ControlPlaneRequest } from "./request.ts";

/** Runs `up --control-plane`; resolves with the exit code when the cluster is ready. */
export async function runControlPlane(
  request: ControlPlaneRequest,
  context: NodeContext,
): Promise<number> {
  const { paths } = request;
  const { io } = context;
  const print = (text: string) => writeLines(io.stderr, [`nodelet: ${text}`]);
  const command = { request, context, print };
  const { cluster } = readLedger(paths.ledger) ?? {};
  if (cluster?.joined === true)
    throw new CliError("this machine has joined another machine's cluster", {
      fix: "nodelet join starts it again; nodelet leave takes it out of that cluster",
    });
  if (cluster?.made === true) {
    if (!(await resumeNode(command))) print("the control plane is running already");
    return await finish(command);
  }
  if (cluster === undefined) refuseOtherNodes(request);
  await cleanAfterInterruption(command);
  return await create(request, command);
}

async function create(request: ControlPlaneRequest, command: NodeCommand): Promise<number> {
  const { io } = command.context;
  const paths = clusterPaths(request.paths);
  const { kubernetesVersion: version } = request.cluster;
  const node = kubernetesVersion(compatOf(request.agentFlags));
  const tooNew = newerThanServer(version ?? node, node, "up --control-plane");
  if (tooNew !== undefined) throw new CliError(tooNew.problem, { fix: tooNew.fix });
  const isNode = await makeNode(command, {
    command: "init",
    version: version ?? node,
    files: (report) => ({ [kubeadmPlaces(paths).config]: configText(request, report, io) }),
    // The line to join with has a token in it, which logs must not have: it can be printed at any time.
    moreArguments: ["--skip-token-print"],
  });
  if (!isNode) return EXIT_FAILURE;
  // kubeadm has asked them whether they are healthy; their probes begin ten seconds after their start.
  return await finish(command, (pod) => controlPlaneComponent(pod) !== undefined);
}

function configText(
  { cluster, agentFlags }: ControlPlaneRequest,
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
    kubernetesVersion: kubernetesVersion(compatOf(agentFlags)),
  });
  const { kubeadmConfig: named } = cluster;
  const file = named === undefined ? undefined : namedFile("--kubeadm-config", resolve(cwd, named));
  return kubeadmConfig("init", settings, file);
}

async function finish(
  { request, context, print }: NodeCommand,
  isSeen: (pod: Pod) => boolean = () => false,
): Promise<number> {
  const { paths, timeoutMs } = request;
  const { io } = context;
  const client = new AgentClient(paths.agentSocket);
  const signal = context.onInterrupt();
  keepAdmin(paths);
  const waiting = { addons: ADDONS, isSeen, timeoutMs, signal, print, io };
  const isReady = await awaitCluster(client, waiting);
  if (!isReady) return EXIT_FAILURE;
  await grantNodeRights(signal);
  const word = commandWord();
  const kubectl = `kubectl --kubeconfig ${paths.kubeconfig}`;
  writeLines(io.stdout, [
    "The cluster is ready and keeps running in the background.",
    `  ${kubectl} create deployment web --image=IMAGE`,
    `  kubeadm token create --print-join-command --kubeconfig ${paths.kubeconfig}`,
    ...(hasSystemd()
      ? ["  systemctl status kubelet     its service, which also starts it after a reboot"]
      : [`  ${word} up --control-plane   starts it again after a reboot`]),
    `  ${word} down                 removes the cluster with all its data`,
  ]);
  return EXIT_OK;
}
