// pure

import { isSame } from "../../api/decode/strategic-diff.ts";
import type { Node, NodeStatus, Taint } from "../../api/generated/types.ts";
import { goArchitectureOf, type NodeIdentity } from "./derive-status.ts";

/** Configuration of the node object. */
export interface RegistrationOptions {
  /** `--node-labels`. */
  readonly labels: Readonly<Record<string, string>>;
  /** `registerWithTaints`. */
  readonly taints: readonly Taint[];
  /** `--register-schedulable`. */
  readonly schedulable: boolean;
  /** Empty: none. */
  readonly providerId: string;
  /** `--cloud-provider=external`: a controller of the cloud completes the node. */
  readonly externalCloud: boolean;
  readonly controllerAttachesVolumes: boolean;
}

const ATTACH_ANNOTATION = "volumes.kubernetes.io/controller-managed-attach-detach";
const PROVIDED_IP_ANNOTATION = "alpha.kubernetes.io/provided-node-ip";
const UNSCHEDULABLE: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
const UNINITIALIZED: Taint = {
  key: "node.cloudprovider.kubernetes.io/uninitialized",
  value: "true",
  effect: "NoSchedule",
};

/** Labels the agent keeps right on a node that is there already (updateDefaultLabels). */
const OWN_LABELS = [
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
];

/** The node as it is first created in the API (kubelet_node_status.go initialNode). */
export function initialNode(
  identity: NodeIdentity,
  options: RegistrationOptions,
  status: NodeStatus,
): Node {
  const { facts, nodeName } = identity;
  const architecture = goArchitectureOf(facts.architecture);
  const taints = [
    ...options.taints,
    ...(options.schedulable ? [] : [UNSCHEDULABLE]),
    ...(options.externalCloud ? [UNINITIALIZED] : []),
  ].filter((taint, i, all) => all.findIndex((other) => isSame(other, taint)) === i);
  const provided = providedIps(identity);
  const annotations = {
    ...(options.controllerAttachesVolumes ? { [ATTACH_ANNOTATION]: "true" } : {}),
    ...(provided === undefined ? {} : { [PROVIDED_IP_ANNOTATION]: provided }),
  };
  return {
    metadata: {
      name: nodeName,
      labels: {
        "beta.kubernetes.io/arch": architecture,
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": facts.hostname,
        "kubernetes.io/os": "linux",
        ...options.labels,
      },
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
    spec: {
      ...(options.providerId === "" ? {} : { providerID: options.providerId }),
      ...(taints.length > 0 ? { taints } : {}),
      ...(options.schedulable ? {} : { unschedulable: true }),
    },
    status,
  };
}

/**
 * The merge patch that makes a node that is there already ours: labels that describe the machine, and the
 * annotation for volumes. What its owner has set beside them stays. Undefined when nothing differs.
 */
export function reconcilePatch(existing: Node, initial: Node): object | undefined {
  const labels = changedLabels(existing, initial);
  const wanted = initial.metadata?.annotations?.[ATTACH_ANNOTATION];
  const has = existing.metadata?.annotations?.[ATTACH_ANNOTATION];
  const annotations = wanted === has ? {} : { [ATTACH_ANNOTATION]: wanted ?? null };
  const metadata = {
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
  };
  return Object.keys(metadata).length > 0 ? { metadata } : undefined;
}

/**
 * The merge patch that puts right what only the agent may set: labels that describe the machine, and the addresses for
 * the cloud's controller. Undefined when it is right. `options`: absent when another component creates the node's object.
 */
export function ownMetadataPatch(
  existing: Node,
  identity: NodeIdentity,
  options: RegistrationOptions | undefined,
): object | undefined {
  const labels = options ? changedLabels(existing, initialNode(identity, options, {})) : {};
  const { uid = "", annotations: given } = existing.metadata ?? {};
  const provided = providedIps(identity);
  const isRight = given?.[PROVIDED_IP_ANNOTATION] === provided;
  if (isRight && Object.keys(labels).length === 0) return undefined;
  const annotations = isRight
    ? {}
    : { annotations: { [PROVIDED_IP_ANNOTATION]: provided ?? null } };
  return { metadata: { uid, labels, ...annotations } };
}

/** Value of the annotation for the cloud's controller with the user's addresses; undefined for none. */
function providedIps({ addressing }: NodeIdentity): string | undefined {
  return addressing.kind === "cloud" ? addressing.provided?.join(",") : undefined;
}

function changedLabels(existing: Node, initial: Node): Readonly<Record<string, string>> {
  return Object.fromEntries(
    OWN_LABELS.flatMap((label) => {
      const wanted = initial.metadata?.labels?.[label];
      const has = existing.metadata?.labels?.[label];
      return wanted !== undefined && wanted !== has ? [[label, wanted]] : [];
    }),
  );
}
