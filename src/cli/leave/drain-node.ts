/** Has the pods of a node run elsewhere before the node goes: no new ones, and the API evicts those that are there. */
import type { Node, Pod } from "../../api/generated/types.ts";
import { isTerminalPhase, podDisplayName } from "../../api/pod/pod.ts";
import { allValues, inParallel } from "../../kit/in-parallel.ts";
import { silentLog } from "../../kit/log.ts";
import * as kube from "../../outside/kube/kube.ts";
import { CliError } from "../../present/cli-error.ts";
import type { ApiAccess } from "../api-access.ts";

/** What is drained, and how patiently. */
interface NodeDrain {
  readonly api: ApiAccess;
  readonly nodeName: string;
  /** Whether pods may go that nobody starts elsewhere. */
  readonly force: boolean;
  readonly timeoutMs: number;
  readonly print: (text: string) => void;
  readonly signal: AbortSignal;
}

const EVICTIONS: kube.Resource<object> = {
  group: "",
  version: "v1",
  kind: "Eviction",
  plural: "pods",
  namespaced: true,
};
const MIRROR = "kubernetes.io/config.mirror";
const RETRY_MS = 2_000;
/** Those that wait for a budget of disruptions do not keep others waiting. */
const EVICTIONS_AT_ONCE = 20;

/** Pods that have to go: not those of the node itself, nor of DaemonSets, which would only be made again. */
export function podsToEvict(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter(
    ({ metadata, status }) =>
      metadata?.annotations?.[MIRROR] === undefined &&
      controllerOf(metadata)?.kind !== "DaemonSet" &&
      !isTerminalPhase(status?.phase),
  );
}

/** Pods that nobody makes again when they are gone. */
export function podsWithoutController(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter(({ metadata }) => controllerOf(metadata) === undefined);
}

function controllerOf(metadata: Pod["metadata"]) {
  return metadata?.ownerReferences?.find(({ controller }) => controller === true);
}

/** Drains the node. Throws `CliError` for pods that would be lost, and for those that do not end in time. */
export async function drainNode(drain: NodeDrain): Promise<void> {
  const { api, nodeName, force, print, signal } = drain;
  const fieldSelector = `spec.nodeName=${nodeName}`;
  const { items } = await api.client.list(kube.PODS, { fieldSelector }, signal);
  const lost = podsWithoutController(podsToEvict(items));
  if (lost.length > 0 && !force)
    throw new CliError(
      `pods that nobody would start elsewhere: ${lost.map(podDisplayName).join(", ")}`,
      { fix: "delete them, or leave with --force, which ends them" },
    );
  await setUnschedulable(api, nodeName, signal);
  // Some may have been scheduled here since the first list.
  const { items: bound } = await api.client.list(kube.PODS, { fieldSelector }, signal);
  const pods = podsToEvict(bound);
  for (const pod of pods) print(`moving pod ${podDisplayName(pod)}`);
  const late = AbortSignal.any([signal, AbortSignal.timeout(drain.timeoutMs)]);
  const stop = new AbortController();
  const end = AbortSignal.any([late, stop.signal]);
  try {
    await Promise.all([
      untilGone(api, pods, fieldSelector, end),
      inParallel(pods, EVICTIONS_AT_ONCE, (pod) => evict(drain, pod, end)).then(allValues),
    ]);
  } catch (error) {
    if (!late.aborted) throw error;
    signal.throwIfAborted();
    throw new CliError("the pods of this node did not end in time; it takes no new ones", {
      fix: `a PodDisruptionBudget may keep them; kubectl uncordon ${nodeName} lets the node go on`,
    });
  } finally {
    stop.abort();
  }
}

/** Whether the node takes new pods is its own to say. */
async function setUnschedulable(
  { client }: ApiAccess,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const body = { spec: { unschedulable: true } };
  await client.patch<Node>(kube.NODES, { name }, { kind: "merge", body }, signal);
}

/** Repeats as long as a budget of disruptions refuses it. */
async function evict({ api, print }: NodeDrain, pod: Pod, signal: AbortSignal): Promise<void> {
  const { name = "", namespace = "" } = pod.metadata ?? {};
  const body = { apiVersion: "policy/v1", metadata: { name, namespace } };
  for (let isSaid = false; ; isSaid = true) {
    try {
      const place = { name, namespace, subresource: "eviction" };
      await api.client.create(EVICTIONS, place, body, signal);
      return;
    } catch (error) {
      if (kube.isApiError(error, 404)) return;
      if (!kube.isApiError(error, 429)) throw error;
      if (!isSaid) print(`waiting: pod ${podDisplayName(pod)}: ${(error as Error).message}`);
      await api.clock.sleep(RETRY_MS, signal);
    }
  }
}

async function untilGone(
  { client, clock, random }: ApiAccess,
  pods: readonly Pod[],
  fieldSelector: string,
  signal: AbortSignal,
): Promise<void> {
  const waiting = new Set(pods.map(({ metadata }) => metadata?.uid));
  const options = { resource: kube.PODS, fieldSelector };
  const deps = { client, clock, random, log: silentLog };
  if (waiting.size === 0) return;
  for await (const change of kube.followObjects(options, deps, signal)) {
    if (change.kind === "gone") waiting.delete(change.object.metadata?.uid);
    if (change.kind === "all") {
      const there = new Set(change.objects.map(({ metadata }) => metadata?.uid));
      for (const uid of waiting) if (!there.has(uid)) waiting.delete(uid);
    }
    if (waiting.size === 0) return;
  }
}
