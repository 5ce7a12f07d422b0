/** A pod as the agent has it, with its decisions and warnings. */
import type { DecisionRecord } from "../api/decisions.ts";
import type { CoreEvent, CoreEventList, Pod, PodList } from "../api/generated/types.ts";
import type { ShownPod } from "../api/pod/shown-pod.ts";
import { CliError } from "../present/cli-error.ts";
import type { PartVerdict } from "../present/control-plane/judge-control-plane.ts";
import { EXIT_NOT_FOUND } from "../present/exit-codes.ts";
import type { ApiPodReply, CsiReport, Overview } from "../present/shapes.ts";
import { offNodeReason } from "../present/why/off-node.ts";
import type { AgentClient } from "./agent-client.ts";
import { requestVerdictsOf } from "./control-plane.ts";
import { requestDecisions } from "./decisions.ts";
import { type PodReference, podNamed, podNotFound } from "./pick-pod.ts";

/** A pod with its decisions and warnings. */
export interface PodHistory {
  /** `namespace/name`. */
  readonly name: string;
  /** Oldest first. */
  readonly decisions: readonly DecisionRecord[];
  /** Warnings of the same time, oldest first. */
  readonly warnings: readonly CoreEvent[];
  /** The pod as it is; `undefined` when it is gone, or no agent runs. */
  readonly pod: ShownPod | undefined;
  /** Volumes of CSI drivers that it waits for, or that wait to be taken away from it. */
  readonly volumes?: CsiReport["volumes"];
  /** Verdicts on the component of the control plane that it is. */
  readonly verdicts?: readonly PartVerdict[];
  /** Whether only the API has the pod; `pod.blocked` says what keeps it off this node. */
  readonly isOffNode: boolean;
}

/** Asks the agent of a pod, and through it the API where the agent has no such pod. Throws `CliError`. */
export async function requestPodHistory(
  reference: PodReference,
  client: AgentClient,
  limit: number,
): Promise<PodHistory> {
  const { items } = await client.json<PodList>("/nodelet/v1/pods");
  const own = podNamed(items, reference);
  if (own) return await historyOfOwn(own, client, limit);
  const { node } = await client.json<Overview>("/nodelet/v1/overview");
  const path = [reference.namespace, reference.name].map(encodeURIComponent).join("/");
  const reply = await client.json<ApiPodReply>(`/nodelet/v1/api-pods/${path}`);
  const { name, decisions } = await historyOfGone(client, { reference, node, limit });
  const pod = reply.kind === "found" ? reply.pod : undefined;
  // A pod that is gone still has its history; one that never was has none.
  if (!pod && decisions.length === 0) throw unknownPod(items, reference, reply);
  return {
    name: `${name.namespace}/${name.name}`,
    decisions,
    warnings: await warningsOf(client, name),
    pod: pod && { ...pod, blocked: offNodeReason(pod, node) },
    isOffNode: pod !== undefined,
  };
}

async function historyOfOwn(pod: Pod, client: AgentClient, limit: number): Promise<PodHistory> {
  const { namespace = "", name = "" } = pod.metadata ?? {};
  const of = { namespace, name };
  const decisions = await requestDecisions(client, of, limit);
  const warnings = await warningsOf(client, of);
  const volumes = await stuckVolumesOf(client, pod);
  const verdicts = await requestVerdictsOf(client, pod);
  const found = { decisions, warnings, pod, volumes, verdicts };
  return { name: `${namespace}/${name}`, ...found, isOffNode: false };
}

/** The agent names pods that one before it had by their UID. */
async function stuckVolumesOf(
  client: AgentClient,
  { metadata }: Pod,
): Promise<CsiReport["volumes"]> {
  const { namespace, name, uid } = metadata ?? {};
  const { volumes } = await client
    .json<Pick<CsiReport, "volumes">>("/nodelet/v1/volumes")
    .catch(noneOfEarlier);
  const isOwn = ({ pods }: (typeof volumes)[number]) =>
    pods.some(
      ({ pod, state }) => state !== "mounted" && (pod === `${namespace}/${name}` || pod === uid),
    );
  return volumes.filter((volume) => volume.forSeconds !== undefined && isOwn(volume));
}

/** An agent of an earlier version, which runs on while the command is new, has no such route. */
function noneOfEarlier(thrown: unknown): Pick<CsiReport, "volumes"> {
  if (thrown instanceof CliError && thrown.exitCode === EXIT_NOT_FOUND) return { volumes: [] };
  throw thrown;
}

/** Decisions about a pod that is gone, also found by a static pod's name without the node's. */
async function historyOfGone(
  client: AgentClient,
  { reference, node, limit }: { reference: PodReference; node: string; limit: number },
): Promise<{ readonly name: PodReference; readonly decisions: readonly DecisionRecord[] }> {
  const decisions = await requestDecisions(client, reference, limit);
  if (decisions.length > 0) return { name: reference, decisions };
  const ofNode = { ...reference, name: `${reference.name}-${node}` };
  const ofStatic = await requestDecisions(client, ofNode, limit);
  return ofStatic.length > 0
    ? { name: ofNode, decisions: ofStatic }
    : { name: reference, decisions: [] };
}

async function warningsOf(
  client: AgentClient,
  { namespace, name }: PodReference,
): Promise<readonly CoreEvent[]> {
  const query = new URLSearchParams({ for: `pod/${namespace}/${name}` });
  const { items } = await client.json<CoreEventList>(`/nodelet/v1/events?${query}`);
  return items.filter(({ type }) => type === "Warning");
}

/** The error for a pod that neither agent nor journal has. */
function unknownPod(pods: readonly Pod[], reference: PodReference, reply: ApiPodReply): CliError {
  if (reply.kind !== "refused") return podNotFound(pods, reference);
  const { namespace, name } = reference;
  return new CliError(
    `pod ${namespace}/${name} is not on this node, and the agent failed to read it from the API server: ${reply.message}`,
    { exitCode: EXIT_NOT_FOUND, fix: `kubectl describe pod ${name} -n ${namespace}` },
  );
}
