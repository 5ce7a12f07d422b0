// pure
import type { EventText } from "../../api/event-text.ts";
import type {
  ContainerImage,
  NodeAddress,
  NodeCondition,
  NodeFeatures,
  NodeRuntimeHandler,
  NodeStatus,
} from "../../api/generated/types.ts";
import {
  canonicalQuantity,
  quantityFromBytes,
  quantityFromCount,
  quantityFromMilli,
} from "../../api/text/quantity.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { HostFacts } from "../../outside/host/host.ts";
import type { NodeCapacity } from "../capacity.ts";

/**
 * Source of the node's addresses: the machine, or a cloud's controller (`--cloud-provider=external`). That is given what
 * the user gave, and the node shows it until the controller has spoken.
 */
export type NodeAddressing =
  | { readonly kind: "machine" }
  | { readonly kind: "cloud"; readonly provided?: readonly string[] };

/** Facts that do not change while the agent runs. */
export interface NodeIdentity {
  readonly nodeName: string;
  readonly facts: HostFacts;
  /** As a kubelet reports it, e.g. `v1.36.2+nodelet.0.1.0`. */
  readonly kubeletVersion: string;
  /** Name and version, e.g. `containerd://1.6.20`. */
  readonly runtimeVersion: string;
  /** The HTTPS port; 0 when there is none. */
  readonly port: number;
  readonly addressing: NodeAddressing;
  /** Whether the agent runs in a user namespace; absent: the node does not show it. */
  readonly runningInUserNamespace?: boolean;
}

/** Which pressures the node is under. */
export interface NodePressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

/** The node's present state. */
export interface NodeSnapshot {
  readonly amounts: NodeCapacity;
  /** Addresses of the machine, primary first; empty while unknown. */
  readonly ips: readonly string[];
  readonly images: readonly ContainerImage[];
  readonly runtimeHandlers: readonly NodeRuntimeHandler[];
  readonly features: NodeFeatures | undefined;
  /** Declared features (KEP-5328); undefined when none are declared. */
  readonly declaredFeatures: readonly string[] | undefined;
  /** Why the node is not ready; empty when it is. */
  readonly problems: readonly string[];
  /** Problems with the agent while the node is ready. */
  readonly warnings: readonly string[];
  readonly pressure: NodePressure;
  readonly volumesInUse: readonly string[];
  readonly now: WallMs;
}

/** A condition that has changed, and its event. */
type ConditionChange = EventText<
  | "NodeReady"
  | "NodeNotReady"
  | "NodeSchedulable"
  | "NodeNotSchedulable"
  | "NodeHasSufficientMemory"
  | "NodeHasInsufficientMemory"
  | "NodeHasNoDiskPressure"
  | "NodeHasDiskPressure"
  | "NodeHasSufficientPID"
  | "NodeHasInsufficientPID"
  | "Rebooted"
>;

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

/** The architecture as Go, and with it Kubernetes, names it. */
export function goArchitectureOf(architecture: string): string {
  return ARCHITECTURES[architecture] ?? architecture;
}

/** The node's status, made of the one before (nodestatus/setters.go). What others set in it stays. */
export function deriveNodeStatus(
  previous: NodeStatus | undefined,
  identity: NodeIdentity,
  snapshot: NodeSnapshot,
): NodeStatus {
  const { facts, runningInUserNamespace } = identity;
  const { runtimeHandlers, features, declaredFeatures, volumesInUse } = snapshot;
  // Features that a previous agent declared do not hold for this one.
  const { declaredFeatures: _, ...kept } = previous ?? {};
  return {
    ...kept,
    ...amounts(previous, snapshot.amounts),
    conditions: conditions(previous?.conditions ?? [], snapshot),
    ...addresses(previous?.addresses ?? [], identity, snapshot.ips),
    ...(identity.port === 0
      ? {}
      : { daemonEndpoints: { kubeletEndpoint: { Port: identity.port } } }),
    nodeInfo: {
      machineID: facts.machineId,
      systemUUID: facts.systemUuid,
      bootID: facts.bootId,
      kernelVersion: facts.kernelVersion,
      osImage: facts.osImage,
      containerRuntimeVersion: identity.runtimeVersion,
      kubeletVersion: identity.kubeletVersion,
      kubeProxyVersion: "",
      operatingSystem: "linux",
      architecture: goArchitectureOf(facts.architecture),
      ...(facts.swapBytes > 0 ? { swap: { capacity: facts.swapBytes } } : {}),
      ...(runningInUserNamespace === undefined ? {} : { runningInUserNamespace }),
    },
    images: snapshot.images,
    ...(declaredFeatures ? { declaredFeatures } : {}),
    ...(runtimeHandlers.length > 0 ? { runtimeHandlers } : {}),
    ...(features ? { features } : {}),
    ...(volumesInUse.length > 0 || previous?.volumesInUse ? { volumesInUse } : {}),
  };
}

/** Resources that devices or people have put there stay. */
function amounts(
  previous: NodeStatus | undefined,
  { capacity, allocatable, pods }: NodeCapacity,
): Pick<NodeStatus, "capacity" | "allocatable"> {
  const texts = (given: NodeCapacity["capacity"]) => {
    const bytes = (value: number) => canonicalQuantity(quantityFromBytes(value));
    const counted = (value: number) => canonicalQuantity(quantityFromCount(value));
    const named = (map: ReadonlyMap<string, number>, text: (value: number) => string) =>
      Object.fromEntries([...map].map(([name, value]) => [name, text(value)]));
    return {
      cpu: canonicalQuantity(quantityFromMilli(given.cpuMilli)),
      memory: bytes(given.memoryBytes),
      ...(capacity.ephemeralStorageBytes > 0
        ? { "ephemeral-storage": counted(given.ephemeralStorageBytes) }
        : {}),
      ...named(given.hugepagesBytes, bytes),
      pods: String(pods),
      ...named(given.extended, counted),
    };
  };
  const kept = Object.fromEntries(
    Object.entries(previous?.capacity ?? {}).filter(([name]) => isExtended(name)),
  );
  return {
    capacity: { ...kept, ...texts(capacity) },
    allocatable: { ...kept, ...texts(allocatable) },
  };
}

/** The status with none left of any extended resource, for a node that starts over (reconcileExtendedResource). */
export function withoutExtended(status: NodeStatus): NodeStatus {
  const none = (amounts: NodeStatus["capacity"] = {}) =>
    Object.fromEntries(
      Object.entries(amounts).map(([name, text]) => [name, isExtended(name) ? "0" : text]),
    );
  return { ...status, capacity: none(status.capacity), allocatable: none(status.allocatable) };
}

function isExtended(name: string): boolean {
  return name.includes("/") && !name.includes("kubernetes.io/");
}

/** Addresses that a cloud provider set stay, and the present ones while nothing else is known. */
function addresses(
  before: readonly NodeAddress[],
  { facts, addressing }: NodeIdentity,
  ips: readonly string[],
): Pick<NodeStatus, "addresses"> {
  const isCloud = addressing.kind === "cloud";
  if (isCloud && before.length > 0) return {};
  const name = { type: "Hostname", address: facts.hostname };
  if (isCloud && !addressing.provided) return { addresses: [name] };
  if (ips.length === 0) return {};
  return { addresses: [...ips.map((address) => ({ type: "InternalIP", address })), name] };
}

type Verdict = Pick<NodeCondition, "type" | "status" | "reason" | "message">;

function conditions(
  before: readonly NodeCondition[],
  { problems, warnings, pressure, now }: NodeSnapshot,
): readonly NodeCondition[] {
  const verdicts = [...pressureVerdicts(pressure), readyVerdict(problems, warnings)];
  const own = verdicts.map((verdict): NodeCondition => {
    const known = before.find(({ type }) => type === verdict.type);
    const time = rfc3339(now);
    return {
      ...verdict,
      lastHeartbeatTime: time,
      lastTransitionTime:
        known?.status === verdict.status ? (known.lastTransitionTime ?? time) : time,
    };
  });
  const others = before.filter(({ type }) => !verdicts.some((verdict) => verdict.type === type));
  // Those of others keep their place in front, as patches by key leave them.
  return [...others, ...own];
}

function pressureVerdicts({ memory, disk, pid }: NodePressure): readonly Verdict[] {
  return [
    verdict("MemoryPressure", memory, [
      "KubeletHasInsufficientMemory",
      "kubelet has insufficient memory available",
      "KubeletHasSufficientMemory",
      "kubelet has sufficient memory available",
    ]),
    verdict("DiskPressure", disk, [
      "KubeletHasDiskPressure",
      "kubelet has disk pressure",
      "KubeletHasNoDiskPressure",
      "kubelet has no disk pressure",
    ]),
    verdict("PIDPressure", pid, [
      "KubeletHasInsufficientPID",
      "kubelet has insufficient PID available",
      "KubeletHasSufficientPID",
      "kubelet has sufficient PID available",
    ]),
  ];
}

function verdict(
  type: string,
  holds: boolean,
  [reasonYes, messageYes, reasonNo, messageNo]: readonly [string, string, string, string],
): Verdict {
  return holds
    ? { type, status: "True", reason: reasonYes, message: messageYes }
    : { type, status: "False", reason: reasonNo, message: messageNo };
}

/** Ready unless a check fails; warnings follow the Go kubelet's message. */
function readyVerdict(problems: readonly string[], warnings: readonly string[]): Verdict {
  const type = "Ready";
  if (problems.length > 0)
    return { type, status: "False", reason: "KubeletNotReady", message: aggregated(problems) };
  const posting = "kubelet is posting ready status";
  const message = warnings.length === 0 ? posting : `${posting}. WARNING: ${aggregated(warnings)}`;
  return { type, status: "True", reason: "KubeletReady", message };
}

/** Several messages as one (apimachinery's Aggregate). */
function aggregated(messages: readonly string[]): string {
  return messages.length === 1 ? `${messages[0]}` : `[${messages.join(", ")}]`;
}

/**
 * Whether the API should receive a status: anything but the times of heartbeats differs. Features and the user
 * namespace go along with the rest: servers that do not know them never give them back
 * (kubelet_node_status.go nodeStatusHasChanged).
 */
export function comparableStatus(status: NodeStatus): object {
  const { conditions: given, declaredFeatures: _, nodeInfo: info, ...rest } = status;
  const { runningInUserNamespace: ___, ...nodeInfo } = info ?? {};
  const timeless = (given ?? []).map(({ lastHeartbeatTime: __, ...condition }) => condition);
  const sorted = timeless.toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return { ...rest, nodeInfo, conditions: sorted };
}

const EVENTS: Readonly<
  Record<string, readonly [ConditionChange["reason"], ConditionChange["reason"]]>
> = {
  Ready: ["NodeReady", "NodeNotReady"],
  MemoryPressure: ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"],
  DiskPressure: ["NodeHasDiskPressure", "NodeHasNoDiskPressure"],
  PIDPressure: ["NodeHasInsufficientPID", "NodeHasSufficientPID"],
};

/**
 * Events for the changes from one status to the next. For a node without a previous status only pressures
 * are reported, as the Go kubelet does.
 */
export function conditionChanges(
  nodeName: string,
  before: NodeStatus | undefined,
  now: NodeStatus,
): readonly ConditionChange[] {
  const changes = (now.conditions ?? []).flatMap(({ type, status }): ConditionChange[] => {
    const known = before?.conditions?.find((condition) => condition.type === type);
    const reasons = EVENTS[type];
    if (!reasons || known?.status === status || (!known && type === "Ready")) return [];
    const reason = status === "True" ? reasons[0] : reasons[1];
    return [{ type: "Normal", reason, message: `Node ${nodeName} status is now: ${reason}` }];
  });
  const bootId = before?.nodeInfo?.bootID;
  const nowId = now.nodeInfo?.bootID;
  if (bootId && nowId && bootId !== nowId)
    changes.push({
      type: "Warning",
      reason: "Rebooted",
      message: `Node ${nodeName} has been rebooted, boot id: ${nowId}`,
    });
  return changes;
}

/** The event when the node is cordoned or uncordoned (recordNodeSchedulableEvent). */
export function schedulableChange(nodeName: string, unschedulable: boolean): ConditionChange {
  const reason = unschedulable ? "NodeNotSchedulable" : "NodeSchedulable";
  return { type: "Normal", reason, message: `Node ${nodeName} status is now: ${reason}` };
}

/** The largest images with at most five names each, digests first (setters.go Images). */
export function listedImages(
  images: readonly {
    readonly digests: readonly string[];
    readonly tags: readonly string[];
    readonly sizeBytes: number;
  }[],
  most: number,
): readonly ContainerImage[] {
  const largest = images.toSorted((a, b) => b.sizeBytes - a.sizeBytes);
  const shown = most < 0 ? largest : largest.slice(0, most);
  return shown.map(({ digests, tags, sizeBytes }) => ({
    names: [...digests, ...tags].slice(0, MAX_IMAGE_NAMES),
    sizeBytes,
  }));
}

const MAX_IMAGE_NAMES = 5;
