/** `nodelet leave`: has the node's pods run elsewhere, takes the node out of its cluster, and cleans the machine. */
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { createInterface } from "node:readline/promises";
import { isOutside, messageOf } from "../../kit/errors.ts";
import * as kube from "../../outside/kube/kube.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_FAILURE } from "../../present/exit-codes.ts";
import { type ApiAccess, connectApi } from "../api-access.ts";
import type { CommandContext } from "../context.ts";
import { endAgent } from "../control-plane/end-agent.ts";
import { clusterPaths, KUBEADM_FILES, nodeNameIn } from "../control-plane/places.ts";
import { removeEtcdMember } from "../control-plane/reset-cluster.ts";
import { fileText } from "../control-plane/waiting/await-kubelet-files.ts";
import { runDown } from "../down/down.ts";
import { type Io, writeLines } from "../io.ts";
import { type ClusterNote, readLedger } from "../up/ledger.ts";
import type { UpPaths } from "../up/paths.ts";
import { drainNode } from "./drain-node.ts";

/** The user's request. */
interface LeaveRequest {
  readonly paths: UpPaths;
  /** Of an administrator, where the node may not delete itself. */
  readonly kubeconfig: string | undefined;
  /** End pods that nobody starts elsewhere. */
  readonly force: boolean;
  readonly timeoutMs: number;
  /** Do not ask. */
  readonly yes: boolean;
}

const REVIEWS: kube.Resource<AccessReview> = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};

const DELETE_ATTEMPTS = 15;
const RETRY_MS = 2_000;

interface AccessReview {
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean };
}

/** Runs `leave`; resolves with the exit code. */
export async function runLeave(request: LeaveRequest, context: CommandContext): Promise<number> {
  const { paths, yes, timeoutMs } = request;
  const { io } = context;
  if (process.getuid?.() !== 0)
    throw new CliError("permission denied: only root can leave a cluster", { fix: "use sudo" });
  const { cluster } = readLedger(paths.ledger) ?? {};
  if (cluster?.made !== true)
    throw new CliError("this machine has not joined a cluster with nodelet", {
      fix:
        cluster === undefined
          ? "kubeadm reset takes out a machine that kubeadm has joined"
          : "nodelet down removes what an interrupted command has left",
    });
  const nodeName = nodeNameIn(fileText(KUBEADM_FILES.kubeletFlags), hostname());
  const print = (text: string) => writeLines(io.stdout, [text]);
  const signal = context.onInterrupt();
  const api = await accessOf(request);
  try {
    await mayLeave(api, nodeName, cluster, signal);
    if (!yes && !(await confirmed(nodeName, io, signal))) {
      print("Nothing was changed.");
      return EXIT_FAILURE;
    }
    print(`Draining node ${nodeName}`);
    const say = (text: string) => print(`  ${text}`);
    await drainNode({ api, nodeName, force: request.force, timeoutMs, print: say, signal });
    // An agent that runs would register the node again.
    await endAgent(clusterPaths(paths), print);
    // kubeadm finds the address of this machine's etcd by the Node object.
    await removeEtcdMember({ paths, signal });
    await deleteNode(api, nodeName, signal);
    print(`Node ${nodeName} is deleted`);
  } catch (error) {
    throw understood(error);
  } finally {
    api.close();
  }
  const down = { paths, timeoutMs, graceSeconds: "own", purge: false, images: false } as const;
  return await runDown({ ...down, yes: true }, context);
}

/** The API server of a control plane that leaves has no etcd any more: another one has to take its place at the endpoint. */
async function deleteNode(api: ApiAccess, name: string, signal: AbortSignal): Promise<void> {
  const { client, clock } = api;
  for (let left = DELETE_ATTEMPTS; ; left -= 1) {
    try {
      await client.delete(kube.NODES, { name }, {}, signal);
      return;
    } catch (error) {
      if (kube.isApiError(error, 404)) return;
      if (left === 0 || kube.isApiError(error, 403) || !isOutside(error)) throw error;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

function understood(error: unknown): unknown {
  if (!isOutside(error)) return error;
  return new CliError(`the cluster does not do it: ${messageOf(error)}`, {
    fix: "nodelet down cleans this machine without asking the cluster; delete the node there with kubectl then",
    cause: error,
  });
}

async function accessOf({ kubeconfig }: LeaveRequest): Promise<ApiAccess> {
  const { adminKubeconfig, kubeconfig: ofNode } = KUBEADM_FILES;
  const path = kubeconfig ?? (existsSync(adminKubeconfig) ? adminKubeconfig : ofNode);
  return await connectApi(path, "name the kubeconfig of an administrator: --kubeconfig FILE");
}

/** Throws `CliError` where the node cannot be deleted, before anything is changed. */
async function mayLeave(
  { client }: ApiAccess,
  nodeName: string,
  { joined }: ClusterNote,
  signal: AbortSignal,
): Promise<void> {
  const attributes = { verb: "delete", resource: "nodes", name: nodeName };
  const review = { spec: { resourceAttributes: attributes } };
  const { status } = await client.create(REVIEWS, {}, review, signal);
  if (status?.allowed !== true)
    throw new CliError("the cluster does not let this node delete itself", {
      fix: "name the kubeconfig of an administrator: --kubeconfig FILE\nor clean only this machine: nodelet down",
    });
  if (joined === true) return;
  const labelSelector = "node-role.kubernetes.io/control-plane";
  const { items } = await client.list(kube.NODES, { labelSelector }, signal);
  if (items.every(({ metadata }) => metadata?.name === nodeName))
    throw new CliError("this machine is the only control plane of its cluster", {
      fix: "nodelet down removes the cluster with all its data",
    });
}

async function confirmed(nodeName: string, io: Io, signal: AbortSignal): Promise<boolean> {
  if (io.stdin.isTTY !== true || io.stdout.isTTY !== true) return true;
  writeLines(io.stdout, [
    `This takes node ${nodeName} out of the cluster: its pods run elsewhere, and the machine is cleaned.`,
  ]);
  const reader = createInterface({ input: io.stdin, output: io.stdout });
  try {
    const answer = (await reader.question("Go on? [y/N] ", { signal })).trim().toLowerCase();
    return answer === "y" || answer === "yes";
  } catch (error) {
    // The end of the input, or Ctrl-C, is no consent.
    if (!signal.aborted && (error as NodeJS.ErrnoException).code !== "ABORT_ERR") throw error;
    return false;
  } finally {
    reader.close();
  }
}
