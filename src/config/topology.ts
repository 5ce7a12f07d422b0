// pure
/** How resources are kept close together, out of the configuration and the machine. */

import type { NumaNode } from "../api/node/machine-topology.ts";
import { UsageError } from "../kit/errors.ts";
import { parseBool, parseDecimal } from "./flags/go-numbers.ts";
import { gatesInForce } from "./gates/feature-gates.ts";
import type { KubeletConfig } from "./kubelet-config.ts";
import { onlineNodes, readMachineTopology } from "./machine/read-machine.ts";

/** How strictly sets of nodes are taken (`topologyManagerPolicy`). */
export type TopologyPolicy = "none" | "best-effort" | "restricted" | "single-numa-node";

/** Policy, scope and nodes of the machine. */
export interface TopologySettings {
  readonly policy: TopologyPolicy;
  readonly scope: "container" | "pod";
  /** NUMA nodes of the machine, ascending. */
  readonly nodes: readonly number[];
  /** Whether managers assign to pods with amounts as a whole (gate PodLevelResourceManagers). */
  readonly knowsWholePods?: boolean;
  /**
   * How far each node is from each, in the order of `nodes`: of sets with as many nodes the closest is taken. Absent
   * where that does not count.
   */
  readonly distances?: readonly (readonly number[])[];
}

/** More nodes than this make too many sets of them, unless `max-allowable-numa-nodes` allows more (defaultMaxAllowableNUMANodes). */
const MAX_NUMA_NODES = 8;
/** Sets of more nodes are not worked out, whatever is allowed: there are twice as many with each node. */
const MAX_NODES_WORKED_OUT = 16;

type TopologyConfig = Pick<
  KubeletConfig,
  | "topologyManagerPolicy"
  | "topologyManagerScope"
  | "topologyManagerPolicyOptions"
  | "compat"
  | "featureGates"
>;

/**
 * How resources are kept close together. `read` gives the text of a file of the kernel; one without NUMA has
 * none and counts as one node. Throws `UsageError` where a policy cannot be kept on this machine.
 */
export function topologyOf(
  config: TopologyConfig,
  read: (path: string) => string | undefined,
): TopologySettings {
  const policy = config.topologyManagerPolicy as TopologyPolicy;
  const nodes = onlineNodes(read);
  const scope = config.topologyManagerScope === "pod" ? "pod" : "container";
  const knowsWholePods = podLevelOf(config) !== undefined;
  const asked = { policy, scope, knowsWholePods } as const;
  if (policy === "none") return { ...asked, nodes: nodes.slice(0, MAX_NODES_WORKED_OUT) };
  const options = config.topologyManagerPolicyOptions;
  refuseTooMany(policy, nodes.length, options);
  const closest = parseBool(options["prefer-closest-numa-nodes"] ?? "false");
  if (!closest.ok || !closest.value) return { ...asked, nodes };
  return { ...asked, nodes, distances: readMachineTopology(read).nodes.map(distancesOf) };
}

function refuseTooMany(
  policy: TopologyPolicy,
  count: number,
  options: TopologyConfig["topologyManagerPolicyOptions"],
): void {
  const allowed = parseDecimal(options["max-allowable-numa-nodes"] ?? `${MAX_NUMA_NODES}`);
  const max = allowed.ok ? allowed.value : MAX_NUMA_NODES;
  const at = `topologyManagerPolicy: ${policy}`;
  if (count > max)
    throw new UsageError(
      `${at}: unsupported on machines with more than ${max} NUMA Nodes, this machine has ${count}; set it to none, or topologyManagerPolicyOptions[max-allowable-numa-nodes] to ${count}`,
    );
  if (count > MAX_NODES_WORKED_OUT)
    throw new UsageError(
      `${at}: sets of more than ${MAX_NODES_WORKED_OUT} NUMA nodes are not worked out, this machine has ${count}; set it to none`,
    );
}

/** One row of the kernel's table. */
function distancesOf(
  { id, distances }: NumaNode,
  _at: number,
  { length }: readonly NumaNode[],
): readonly number[] {
  if (distances) return distances;
  throw new UsageError(
    `topologyManagerPolicyOptions[prefer-closest-numa-nodes]: cannot discover NUMA topology: /sys/devices/system/node/node${id}/distance does not hold ${length} distances; remove the option`,
  );
}

/**
 * What pods with resources as a whole get of the managers: single containers theirs, or the pod its own, by the scope; nothing
 * without the gate PodLevelResourceManagers. Without a topology policy there is no scope but the container.
 */
export function podLevelOf(config: TopologyConfig): "container" | "pod" | undefined {
  if (!gatesInForce(config).isEnabled("PodLevelResourceManagers")) return undefined;
  const { topologyManagerPolicy, topologyManagerScope } = config;
  return topologyManagerPolicy !== "none" && topologyManagerScope === "pod" ? "pod" : "container";
}
