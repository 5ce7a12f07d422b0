// pure

import type { Node, Pod, Taint, Toleration } from "../../api/generated/types.ts";
import { tolerates } from "../../api/node/taints.ts";
import { asScheduled } from "../../api/pod/allocation.ts";
import { isRestartableInit, isTerminalPhase, podDisplayName } from "../../api/pod/pod.ts";
import {
  podResources,
  type ResourceAmounts,
  resourceAmounts,
} from "../../api/pod/pod-resources.ts";
import { UsageError } from "../../kit/errors.ts";
import type { NamedMeta } from "../api-object.ts";

/** The node for a pod, or why no node fits. */
export type Placement =
  | { readonly kind: "node"; readonly name: string }
  | { readonly kind: "nowhere"; readonly why: string };

/** A node with the pods that are on it. */
export interface Candidate {
  readonly node: Node & { readonly metadata: NamedMeta };
  readonly pods: readonly Pod[];
}

/** Finds a node for a pod; the reasons against each are summed up as the scheduler words them. */
export function choosePlacement(pod: Pod, candidates: readonly Candidate[]): Placement {
  const against = new Map<string, number>();
  for (const candidate of candidates) {
    const why = obstacle(pod, candidate);
    if (why === undefined) return { kind: "node", name: candidate.node.metadata.name };
    against.set(why, (against.get(why) ?? 0) + 1);
  }
  if (candidates.length === 0)
    return { kind: "nowhere", why: "no nodes available to schedule pods" };
  const reasons = [...against].map(([why, count]) => `${count} ${why}`);
  return {
    kind: "nowhere",
    why: `0/${candidates.length} nodes are available: ${reasons.toSorted().join(", ")}.`,
  };
}

function obstacle(pod: Pod, { node, pods }: Candidate): string | undefined {
  const tolerations = pod.spec?.tolerations ?? [];
  if (node.spec?.unschedulable === true && !toleratesUnschedulable(tolerations))
    return "node(s) were unschedulable";
  const labels = node.metadata.labels ?? {};
  const wanted = Object.entries(pod.spec?.nodeSelector ?? {});
  if (wanted.some(([key, value]) => labels[key] !== value))
    return "node(s) didn't match Pod's node affinity/selector";
  const taint = (node.spec?.taints ?? []).find(
    (each) =>
      each.effect !== "PreferNoSchedule" && !tolerations.some((own) => tolerates(own, each)),
  );
  if (taint) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
  return takenPort(pod, pods) ?? shortOf(pod, node, pods);
}

/** A port of the node as a pod requests it. */
interface HostPort {
  readonly port: number;
  readonly protocol: string;
  /** Empty for all addresses. */
  readonly address: string;
}

function hostPortsOf({ spec }: Pod): readonly HostPort[] {
  const sidecars = (spec?.initContainers ?? []).filter(isRestartableInit);
  return [...(spec?.containers ?? []), ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, protocol = "TCP", hostIP = "" }) => {
      const address = hostIP === "0.0.0.0" || hostIP === "::" ? "" : hostIP;
      return hostPort > 0 ? [{ port: hostPort, protocol, address }] : [];
    }),
  );
}

/** The first port of the node that the pod requests and another has, in the scheduler's words and with the other's name. */
function takenPort(pod: Pod, others: readonly Pod[]): string | undefined {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return undefined;
  for (const other of others) {
    if (isTerminalPhase(other.status?.phase)) continue;
    const had = hostPortsOf(other);
    const taken = wanted.find((port) => had.some((each) => isSamePort(port, each)));
    if (taken)
      return `node(s) didn't have free ports for the requested pod ports (${taken.port}/${taken.protocol} is held by pod ${podDisplayName(other)})`;
  }
  return undefined;
}

function isSamePort(a: HostPort, b: HostPort): boolean {
  const overlap = a.address === b.address || a.address === "" || b.address === "";
  return a.port === b.port && a.protocol === b.protocol && overlap;
}

const UNSCHEDULABLE: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

const toleratesUnschedulable = (tolerations: readonly Toleration[]): boolean =>
  tolerations.some((own) => tolerates(own, UNSCHEDULABLE));

/** Resource requests of a pod on the node; none when its quantities are invalid, so that others can be scheduled. */
function requestsOf(pod: Pod): readonly ResourceAmounts[] {
  try {
    return [podResources(asScheduled(pod)).requests];
  } catch (error) {
    if (error instanceof UsageError) return [];
    throw error;
  }
}

function shortOf(pod: Pod, { status }: Node, pods: readonly Pod[]): string | undefined {
  const allocatable = status?.allocatable;
  if (!allocatable) return undefined;
  const live = pods.filter((each) => !isTerminalPhase(each.status?.phase));
  const most = Number(allocatable["pods"] ?? "0");
  if (most > 0 && live.length + 1 > most) return "Too many pods";
  const total = resourceAmounts(allocatable);
  const asked = podResources(pod).requests;
  const used = live.flatMap(requestsOf);
  const fits = (of: (amounts: ResourceAmounts) => number) =>
    of(asked) === 0 || used.reduce((sum, each) => sum + of(each), 0) + of(asked) <= of(total);
  if (!fits(({ cpuMilli }) => cpuMilli)) return "Insufficient cpu";
  if (!fits(({ memoryBytes }) => memoryBytes)) return "Insufficient memory";
  if (!fits(({ ephemeralStorageBytes }) => ephemeralStorageBytes))
    return "Insufficient ephemeral-storage";
  const others = (amounts: ResourceAmounts) => [...amounts.hugepagesBytes, ...amounts.extended];
  const short = others(asked).find(
    ([name]) => !fits((amounts) => new Map(others(amounts)).get(name) ?? 0),
  )?.[0];
  return short === undefined ? undefined : `Insufficient ${short}`;
}
