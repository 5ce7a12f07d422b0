/** What the managers of CPUs, memory and devices would give pods on a machine, one pod after the other. */
import type { MachineTopology } from "../../api/node/machine-topology.ts";
import { type NodeMask, nodesOf } from "../../api/node/numa.ts";
import { allContainers } from "../../api/pod/pod.ts";
import { type QosClass, qosClassOf } from "../../api/pod/qos.ts";
import type { IdentifiedPod, PodUid } from "../../api/pod-identity.ts";
import type { HintProvider } from "../../api/ports/hint-provider.ts";
import type { ResourceKind } from "../../api/ports/resource-kinds.ts";
import { formatCpuList } from "../../config/cpu-list.ts";
import type { KubeletConfig } from "../../config/kubelet-config.ts";
import { podLevelOf, type TopologySettings } from "../../config/topology.ts";
import { createSystemClock } from "../../kit/clock.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { judge, type NodeInfo } from "../../pipeline/admission/rules.ts";
import { Topology } from "../../pipeline/admission/topology/topology.ts";
import { PlannedCpus, staticPolicyOf } from "../../subsystems/cpus/cpus.ts";
import { type DeviceReport, PlannedDevices } from "../../subsystems/devices/devices.ts";
import { configuredNodes, PlannedMemory } from "../../subsystems/numa-memory/numa-memory.ts";
import {
  hintsText,
  type KindHints,
  RecordedProvider,
  type RefusedNodes,
  refusedNodes,
} from "./recorded-hints.ts";

/** What one container would get. */
export interface ContainerPlacement {
  readonly name: string;
  /** CPUs for itself; absent for one that shares. */
  readonly cpus?: string;
  readonly memory: readonly {
    readonly type: string;
    readonly bytes: number;
    readonly nodes: readonly number[];
  }[];
  readonly devices: readonly {
    readonly resource: string;
    readonly ids: readonly string[];
    readonly nodes: readonly number[];
  }[];
  /** NUMA nodes that the hints of all resources agreed on; absent where placement does not matter. */
  readonly nodes?: readonly number[];
  /** Hints of each kind of resources, a text for each resource. */
  readonly hints: readonly { readonly of: ResourceKind; readonly sets: readonly string[] }[];
  /** Other sets of nodes, and why they were not taken. */
  readonly refused: readonly RefusedNodes[];
}

/** One pod, and what became of it. */
export interface PlacedPod {
  readonly namespace: string;
  readonly name: string;
  readonly qosClass: QosClass;
  readonly admitted: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly containers: readonly ContainerPlacement[];
}

/** All pods on the machine. */
export interface TopologyPlan {
  readonly machine: readonly {
    readonly node: number;
    readonly sockets: readonly number[];
    readonly cpus: string;
    readonly memoryBytes: number;
  }[];
  readonly policies: Readonly<
    Record<"cpus" | "memory" | "topology" | "scope", string> & { options: readonly string[] }
  >;
  readonly reserved: string;
  readonly pods: readonly PlacedPod[];
  /** What is left after all of them. */
  readonly left: {
    readonly shared: string;
    readonly nodes: readonly {
      readonly node: number;
      readonly cpus: string;
      readonly memoryBytes: number;
    }[];
  };
  readonly notes: readonly string[];
}

interface TopologyInputs {
  readonly config: KubeletConfig;
  readonly machine: MachineTopology;
  readonly settings: TopologySettings;
  readonly memoryBytes: number;
  readonly nodeInfo: NodeInfo;
  readonly pods: readonly IdentifiedPod[];
  readonly devices: Pick<DeviceReport, "resources">;
  readonly notes: readonly string[];
}

/** Admits the pods in the order given. Throws `UsageError` where the machine cannot be what the configuration asks for. */
export async function planTopology(inputs: TopologyInputs): Promise<TopologyPlan> {
  const { config, machine, settings, nodeInfo, notes } = inputs;
  const managers = new Managers(inputs);
  const admitted: IdentifiedPod[] = [];
  const pods: PlacedPod[] = [];
  for (const candidate of inputs.pods) {
    const refusal = judge({ candidate, others: admitted, nodeInfo });
    const placed = refusal
      ? { ...refused(refusal), containers: [] }
      : await managers.place(candidate);
    if (placed.admitted) admitted.push(candidate);
    const { namespace, name } = candidate.metadata;
    pods.push({ namespace, name, qosClass: qosClassOf(candidate), ...placed });
  }
  const { cpus, memory } = managers;
  const socketOf = new Map(machine.cpus.map(({ id, socket }) => [id, socket]));
  const free = new Set(cpus?.free ?? machine.cpus.map(({ id }) => id));
  const every = formatCpuList(machine.cpus.map(({ id }) => id));
  return {
    machine: machine.nodes.map(({ id, cpus: own, memoryBytes }) => ({
      node: id,
      sockets: [...new Set(own.flatMap((cpu) => socketOf.get(cpu) ?? []))],
      cpus: formatCpuList(own),
      memoryBytes,
    })),
    policies: {
      cpus: config.cpuManagerPolicy,
      memory: config.memoryManagerPolicy,
      topology: settings.policy,
      scope: settings.scope,
      options: optionsOf(config),
    },
    reserved: formatCpuList(managers.reserved),
    pods,
    left: {
      shared: cpus ? formatCpuList(cpus.shared) : every,
      nodes: machine.nodes.map(({ id, cpus: own, memoryBytes }) => ({
        node: id,
        cpus: formatCpuList(own.filter((cpu) => free.has(cpu))),
        memoryBytes: memory?.free.get(id) ?? memoryBytes,
      })),
    },
    notes,
  };
}

function optionsOf(config: KubeletConfig): readonly string[] {
  const options = { ...config.cpuManagerPolicyOptions, ...config.topologyManagerPolicyOptions };
  return Object.entries(options).map(([name, value]) => `${name}=${value}`);
}

interface Refusal {
  readonly reason: string;
  readonly message: string;
}

const refused = ({ reason, message }: Refusal) => ({ admitted: false, reason, message });

/** The managers that the configuration asks for. */
class Managers {
  readonly cpus: PlannedCpus | undefined;
  readonly memory: PlannedMemory | undefined;
  readonly devices: PlannedDevices;
  readonly reserved: readonly number[];
  readonly #settings: TopologySettings;

  constructor({ config, machine, settings, memoryBytes, devices }: TopologyInputs) {
    const policy =
      config.cpuManagerPolicy === "static" ? staticPolicyOf(config, machine) : undefined;
    this.#settings = settings;
    this.reserved = policy?.reserved ?? [];
    this.cpus = policy && new PlannedCpus(policy);
    this.memory =
      config.memoryManagerPolicy === "Static"
        ? new PlannedMemory(configuredNodes(config, machine.nodes, memoryBytes), podLevelOf(config))
        : undefined;
    this.devices = new PlannedDevices(devices, settings.nodes);
  }

  async place(pod: IdentifiedPod): Promise<Omit<PlacedPod, "namespace" | "name" | "qosClass">> {
    const noted = new Map<string, KindHints[]>();
    let placement: ReadonlyMap<string, NodeMask | undefined> = new Map();
    const record = (kind: ResourceKind, inner: HintProvider | undefined): HintProvider[] => {
      if (!inner) return [];
      const recorded = new RecordedProvider(kind, inner, noted);
      return [
        {
          draft: (each, only) => recorded.draft(each, only),
          grant: (each, chosen, preferred) => {
            if (placement.size === 0) placement = chosen;
            return recorded.grant(each, chosen, preferred);
          },
        },
      ];
    };
    const topology = new Topology(this.#settings, {
      providers: [
        ...record("devices", this.devices),
        ...record("cpus", this.cpus),
        ...record("memory", this.memory),
      ],
      metrics: new MetricsRegistry(),
      clock: createSystemClock(),
    });
    const grant = await topology.grant(pod);
    const { uid } = pod.metadata;
    if (grant.kind === "granted")
      return { admitted: true, containers: this.#containers(pod, placement, noted) };
    for (const manager of [this.cpus, this.memory, this.devices]) manager?.forget(uid);
    return { ...refused(grant), containers: this.#containers(pod, placement, noted) };
  }

  #containers(
    pod: IdentifiedPod,
    placement: ReadonlyMap<string, NodeMask | undefined>,
    noted: ReadonlyMap<string, readonly KindHints[]>,
  ): readonly ContainerPlacement[] {
    const { nodes, scope } = this.#settings;
    return allContainers(pod)
      .filter(({ kind }) => kind !== "ephemeral")
      .map(({ container: { name } }) => {
        const hints = noted.get(scope === "pod" ? "" : name) ?? [];
        const mask = placement.get(name);
        return {
          name,
          ...this.#given(pod.metadata.uid, name),
          ...(mask === undefined ? {} : { nodes: nodesOf(mask, nodes) }),
          hints: hints.map(({ kind, lists }) => ({
            of: kind,
            sets: lists.map((list) => hintsText(list, nodes)),
          })),
          refused: refusedNodes(hints, mask, nodes),
        };
      });
  }

  #given(uid: PodUid, container: string): Pick<ContainerPlacement, "cpus" | "memory" | "devices"> {
    const cpus = this.cpus?.heldBy(uid).get(container);
    const blocks = this.memory?.heldBy(uid).get(container) ?? [];
    return {
      ...(cpus ? { cpus: formatCpuList(cpus) } : {}),
      // An init container's is used again by those after it.
      memory: blocks
        .filter(({ size }) => size > 0)
        .map(({ type, size, nodes }) => ({ type, bytes: size, nodes })),
      devices: this.devices
        .heldBy(uid)
        .filter((holding) => holding.container === container)
        .map(({ resource, devices }) => ({
          resource,
          ids: devices.map(({ id }) => id),
          nodes: [...new Set(devices.flatMap((device) => device.nodes))].sort((a, b) => a - b),
        })),
    };
  }
}
