// pure

/** A set of NUMA nodes; bit i is the i-th node of the machine. */
export type NodeMask = number;

/** The set of these nodes, as far as the machine (`all`, ascending) has them. */
export function maskOf(nodes: readonly number[], all: readonly number[]): NodeMask {
  let mask = 0;
  for (const node of nodes) {
    const position = all.indexOf(node);
    if (position >= 0) mask |= 1 << position;
  }
  return mask;
}

/** The nodes of the set; `all` as for `maskOf`. */
export function nodesOf(mask: NodeMask, all: readonly number[]): readonly number[] {
  return all.filter((_, position) => (mask >> position) & 1);
}

/** How many nodes are in the set. */
export function countNodes(mask: NodeMask): number {
  let count = 0;
  for (let rest = mask; rest > 0; rest &= rest - 1) count += 1;
  return count;
}
