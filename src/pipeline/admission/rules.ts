// pure
import type { Pod } from "../../api/generated/types.ts";
import { featuresForPod, missingFeatures } from "../../api/node/node-features.ts";
import { isStaticPod } from "../../api/pod/pod.ts";
import { matchesNode, type NodeAttributes, untoleratedTaint } from "./node-match.ts";
import { mayComeUnder, pressureText } from "./node-pressure.ts";
import { type NodeSecurity, requiresStrictGroups, unenforceable } from "./node-security.ts";
import { type FoundShortage, type NodeResources, shortages } from "./shortages.ts";
import { unsupportedFields } from "./supported-fields.ts";
import { forbiddenSysctl } from "./sysctls.ts";

export { planPreemption } from "./preemption.ts";
export { type NodeAttributes, type NodeSecurity, requiresStrictGroups, shortages };

/** Resources and properties of the node. */
export interface NodeInfo extends NodeResources {
  /** Absent where there is no API server that has the node's object. */
  readonly node?: NodeAttributes;
  /** Security features that kernel and runtime enforce; absent when unknown, and then not checked. */
  readonly security?: NodeSecurity;
  /** Whether runtime classes can be looked up. */
  readonly runtimeClasses: boolean;
  /**
   * Pods come from the API server of a cluster: what cannot be served leaves them waiting, as a controller would
   * make a pod that failed again and again. Manifests, and pods of a node's own API, are refused.
   */
  readonly waitsForUnserved?: boolean;
  /** Features the node declares; absent without the gate NodeDeclaredFeatures, and then not asked. */
  readonly declaredFeatures?: readonly string[] | undefined;
  /** Conditions of pressure that the node is under, e.g. `DiskPressure`; absent where nothing watches for them. */
  readonly pressure?: readonly string[];
  /** The machine is going down. */
  readonly shuttingDown?: boolean;
  /** Kernel settings pods may set beyond the safe ones. */
  readonly allowedUnsafeSysctls: readonly string[];
  /** Version of the kernel; absent where it is not known. */
  readonly kernelVersion?: string;
}

/** A refusal with the Go kubelet's text. */
interface AdmissionRefusal {
  readonly reason: string;
  readonly message: string;
}

export interface RuleInputs {
  readonly candidate: Pod;
  /** Pods that hold resources of the node. */
  readonly others: readonly Pod[];
  readonly nodeInfo: NodeInfo;
}

/** One question that is asked of every new pod. */
export interface Rule {
  readonly name: string;
  /** `undefined` means agreed. */
  readonly refuse: (inputs: RuleInputs) => AdmissionRefusal | undefined;
}

/** All rules in the order they are asked; the first refusal counts. */
export const RULES: readonly Rule[] = [
  { name: "supported fields", refuse: refuseUnsupported },
  { name: "runtime class", refuse: refuseUnknowableClass },
  { name: "node pressure", refuse: refuseUnderPressure },
  { name: "operating system", refuse: refuseOtherOs },
  { name: "sysctls", refuse: refuseSysctls },
  { name: "confinement", refuse: refuseUnconfinable },
  { name: "host ports", refuse: refuseTakenPorts },
  { name: "number of pods", refuse: refuseTooMany },
  { name: "resources", refuse: refuseTooLarge },
  { name: "node affinity", refuse: refuseOtherNode },
  { name: "taints", refuse: refuseTaint },
  { name: "declared features", refuse: refuseUndeclared },
  { name: "node shutdown", refuse: refuseInShutdown },
];

/** The rules that preemption can satisfy. */
const RESOURCE_RULES: readonly string[] = ["number of pods", "resources"];

/** Whether nothing but a shortage of resources is against the pod. */
export function isShortOnly(inputs: RuleInputs): boolean {
  return RULES.every(
    ({ name, refuse }) => RESOURCE_RULES.includes(name) || refuse(inputs) === undefined,
  );
}

/** The first refusal with the rule's name; `undefined` when every rule agrees. */
export function judge(
  inputs: RuleInputs,
): (AdmissionRefusal & { readonly rule: string }) | undefined {
  for (const { name, refuse } of RULES) {
    const refusal = refuse(inputs);
    if (refusal) return { rule: name, ...refusal };
  }
  return undefined;
}

function refuseUnsupported({ candidate, nodeInfo }: RuleInputs): AdmissionRefusal | undefined {
  const isStatic = isStaticPod(candidate);
  if (nodeInfo.waitsForUnserved && !isStatic) return undefined;
  const claims = nodeInfo.runtimeClasses && !isStatic;
  const fields = unsupportedFields(candidate, { claims });
  if (fields.length === 0) return undefined;
  return {
    reason: "UnsupportedPodField",
    message: fields.map(({ path, why }) => `${path}: ${why}`).join("; "),
  };
}

/** A pod that asks for a runtime class may rely on its isolation, so that it never runs with the default runtime instead. */
function refuseUnknowableClass({ candidate, nodeInfo }: RuleInputs): AdmissionRefusal | undefined {
  if (!candidate.spec?.runtimeClassName || nodeInfo.runtimeClasses) return undefined;
  return {
    reason: "UnsupportedPodField",
    message: "spec.runtimeClassName: runtime classes require an API server",
  };
}

function refuseUnderPressure({ candidate, nodeInfo }: RuleInputs): AdmissionRefusal | undefined {
  const { pressure = [] } = nodeInfo;
  if (mayComeUnder(pressure, candidate)) return undefined;
  return { reason: "Evicted", message: pressureText(pressure) };
}

const OS_LABEL = "kubernetes.io/os";

/** First the label, then the field (lifecycle/predicate.go); the agent keeps the node's own label at "linux". */
function refuseOtherOs({ candidate }: RuleInputs): AdmissionRefusal | undefined {
  if ((candidate.metadata?.labels?.[OS_LABEL] ?? "linux") !== "linux") {
    return {
      reason: "PodOSSelectorNodeLabelDoesNotMatch",
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    };
  }
  const os = candidate.spec?.os?.name;
  if (os === undefined || os === "linux") return undefined;
  return {
    reason: "PodOSNotSupported",
    message: "Failed to admit pod as the OS field doesn't match node OS",
  };
}

function refuseOtherNode({
  candidate,
  nodeInfo: { node },
}: RuleInputs): AdmissionRefusal | undefined {
  if (!node || matchesNode(candidate, node)) return undefined;
  return {
    reason: "NodeAffinity",
    message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  };
}

function refuseTaint({ candidate, nodeInfo: { node } }: RuleInputs): AdmissionRefusal | undefined {
  if (!node || !untoleratedTaint(candidate, node)) return undefined;
  return {
    reason: "TaintToleration",
    message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  };
}

/** The very last one, as in the Go kubelet (nodeshutdown_manager.go Admit). */
function refuseInShutdown({ nodeInfo }: RuleInputs): AdmissionRefusal | undefined {
  return nodeInfo.shuttingDown === true
    ? { reason: "NodeShutdown", message: "Pod was rejected as the node is shutting down." }
    : undefined;
}

/** After the others but one, as in the Go kubelet (lifecycle/handlers.go declaredFeaturesAdmitHandler). */
function refuseUndeclared({ candidate, nodeInfo }: RuleInputs): AdmissionRefusal | undefined {
  if (!nodeInfo.declaredFeatures) return undefined;
  const missing = missingFeatures(featuresForPod(candidate), nodeInfo.declaredFeatures);
  if (missing === undefined) return undefined;
  return {
    reason: "PodFeatureUnsupported",
    message: `Pod requires node features that are not available: ${missing}`,
  };
}

function refuseSysctls({ candidate, nodeInfo }: RuleInputs): AdmissionRefusal | undefined {
  const message = forbiddenSysctl(candidate, nodeInfo);
  return message === undefined ? undefined : { reason: "SysctlForbidden", message };
}

function refuseUnconfinable({ candidate, nodeInfo }: RuleInputs): AdmissionRefusal | undefined {
  return nodeInfo.security && unenforceable(candidate, nodeInfo.security);
}

function refuseTakenPorts({ candidate, others }: RuleInputs): AdmissionRefusal | undefined {
  const all = hostPorts(candidate);
  if (all.length === 0) return undefined;
  const taken = others.flatMap(hostPorts);
  const clash = all.some((wanted) => taken.some((held) => clashes(wanted, held)));
  if (!clash) return undefined;
  return {
    reason: "NodePorts",
    message:
      "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  };
}

interface HostPort {
  readonly port: number;
  readonly protocol: string;
  readonly address: string;
}

const ANY_ADDRESS = "0.0.0.0";

function hostPorts(pod: Pod): readonly HostPort[] {
  const sidecars = (pod.spec?.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === "Always",
  );
  return [...(pod.spec?.containers ?? []), ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, protocol = "TCP", hostIP }) =>
      hostPort ? [{ port: hostPort, protocol, address: hostIP || ANY_ADDRESS }] : [],
    ),
  );
}

function clashes(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.address === b.address || a.address === ANY_ADDRESS || b.address === ANY_ADDRESS;
}

function refuseTooMany({ candidate, others, nodeInfo }: RuleInputs): AdmissionRefusal | undefined {
  return outOf(shortages(candidate, others, nodeInfo).find(({ name }) => name === "pods"));
}

function refuseTooLarge({ candidate, others, nodeInfo }: RuleInputs): AdmissionRefusal | undefined {
  return outOf(shortages(candidate, others, nodeInfo).find(({ name }) => name !== "pods"));
}

function outOf(shortage: FoundShortage | undefined): AdmissionRefusal | undefined {
  if (!shortage) return undefined;
  const { name, requested, used, capacity } = shortage;
  return {
    reason: `OutOf${name}`,
    message: `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  };
}
