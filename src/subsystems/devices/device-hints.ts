// pure
/**
 * Hints of devices: a hint is a set of NUMA nodes (bits by position among the machine's nodes) from which a
 * request can be met. Source: device manager `topology_hints.go`.
 */
import { countNodes, maskOf, type NodeMask } from "../../api/node/numa.ts";
import type { Hints } from "../../api/ports/hint-provider.ts";
import type { Device } from "./inventory.ts";

interface HintRequest {
  /** All devices of the resource. */
  readonly devices: ReadonlyMap<string, Device>;
  /** Those that may be taken. */
  readonly available: ReadonlySet<string>;
  /** Those of the pod that must be used before others are taken. */
  readonly reusable: ReadonlySet<string>;
  readonly amount: number;
}

interface Group {
  readonly mask: NodeMask;
  all: number;
  available: number;
  reusable: number;
}

/** NUMA nodes on which a request can be met. */
export function deviceHints(request: HintRequest, machine: readonly number[]): Hints {
  const { devices, available, reusable, amount } = request;
  const groups = groupByMask(request, machine);
  if (![...devices.values()].some(({ nodes }) => nodes.length > 0)) return "any";
  if (available.size + reusable.size < amount) return [];
  let narrowest = machine.length;
  const found: NodeMask[] = [];
  // Also nodes without devices: what other resources have there counts when nothing is preferred by all.
  for (let mask = 2 ** machine.length - 1; mask > 0; mask -= 1) {
    const touching = groups.filter((group) => (group.mask & mask) !== 0);
    if (sum(touching, "all") >= amount) narrowest = Math.min(narrowest, countNodes(mask));
    const leftOut = groups.some((group) => group.reusable > 0 && (group.mask & mask) === 0);
    if (leftOut) continue;
    if (sum(touching, "reusable") + sum(touching, "available") >= amount) found.push(mask);
  }
  return found.map((mask) => ({ mask, preferred: countNodes(mask) === narrowest }));
}

/** Devices without topology belong to no set of nodes and are left out. */
function groupByMask(
  { devices, available, reusable }: HintRequest,
  machine: readonly number[],
): readonly Group[] {
  const groups = new Map<NodeMask, Group>();
  for (const { id, nodes } of devices.values()) {
    const mask = maskOf(nodes, machine);
    if (mask === 0) continue;
    const group = groups.get(mask) ?? { mask, all: 0, available: 0, reusable: 0 };
    group.all += 1;
    if (reusable.has(id)) group.reusable += 1;
    else if (available.has(id)) group.available += 1;
    groups.set(mask, group);
  }
  return [...groups.values()];
}

function sum(groups: readonly Group[], part: "all" | "available" | "reusable"): number {
  return groups.reduce((total, group) => total + group[part], 0);
}
