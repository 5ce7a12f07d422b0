// pure
/** How resources are kept close together, out of the configuration and the machine. */

import { UsageError } from "../kit/errors.ts";
import type { KubeletConfig } from "./kubelet-config.ts";
import { parseCpuList } from "./validation/cpu-list.ts";

/** How strictly sets of nodes are taken (`topologyManagerPolicy`). */
export type TopologyPolicy = "none" | "best-effort" | "restricted" | "single-numa-node";

/** Policy, scope and nodes of the machine. */
export interface TopologySettings {
  readonly policy: TopologyPolicy;
  readonly scope: "container" | "pod";
  /** NUMA nodes of the machine, ascending. */
  readonly nodes: readonly number[];
}

/** The kernel's list of NUMA nodes that are online. */
export const NUMA_NODES_FILE = "/sys/devices/system/node/online";

/** More nodes than this make too many sets of them (defaultMaxAllowableNUMANodes). */
const MAX_NUMA_NODES = 8;

/**
 * How resources are kept close together. `online` is the text of `NUMA_NODES_FILE`; a kernel without NUMA has
 * none and counts as one node. Throws `UsageError` where a policy cannot be kept on this machine.
 */
export function topologyOf(
  config: Pick<KubeletConfig, "topologyManagerPolicy" | "topologyManagerScope">,
  online: string | undefined,
): TopologySettings {
  const policy = config.topologyManagerPolicy as TopologyPolicy;
  const parsed = parseCpuList((online ?? "0").trim());
  const nodes = parsed.ok && parsed.cpus.length > 0 ? parsed.cpus : [0];
  if (policy !== "none" && nodes.length > MAX_NUMA_NODES)
    throw new UsageError(
      `topologyManagerPolicy: ${policy} works with at most ${MAX_NUMA_NODES} NUMA nodes, this machine has ${nodes.length}; set it to none`,
    );
  const scope = config.topologyManagerScope === "pod" ? "pod" : "container";
  return { policy, scope, nodes: policy === "none" ? nodes.slice(0, MAX_NUMA_NODES) : nodes };
}
