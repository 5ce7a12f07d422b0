// pure
/** From which sets of nodes a request for memory can be met. Source: memory manager, policy Static. */
import { countNodes, type NodeMask, nodesOf } from "../../api/node/numa.ts";
import type { Hint, Hints } from "../../api/ports/hint-provider.ts";
import type { MemoryAmounts } from "./memory-requests.ts";
import type { MemoryBlock, MemoryState } from "./memory-state.ts";

/** Memory of init containers that later containers of the pod use again: bytes by set of nodes and type. */
export type ReusableMemory = ReadonlyMap<string, number>;

/** Key of `ReusableMemory`. */
export const reuseKey = (nodes: readonly number[], type: string): string =>
  `${nodes.join(",")} ${type}`;

/**
 * Sets of nodes that can meet the request, by size and then by their nodes. A node that single containers were assigned from
 * joins no group; one that is in a group serves only that group.
 */
export function memoryHints(
  { nodes }: Pick<MemoryState, "nodes">,
  amounts: MemoryAmounts,
  reusable: ReusableMemory,
): readonly Hint[] {
  const all = [...nodes.keys()];
  let narrowest = all.length;
  const found: NodeMask[] = [];
  for (const mask of masksBySize(all.length)) {
    const ids = nodesOf(mask, all);
    if (!has(nodes, ids, amounts, ({ type, part }) => part(type, "allocatable"))) continue;
    narrowest = Math.min(narrowest, ids.length);
    if (breaksGroups(nodes, ids)) continue;
    const available = ({ type, part }: Asked) =>
      part(type, "free") + (reusable.get(reuseKey(ids, type)) ?? 0);
    if (has(nodes, ids, amounts, available)) found.push(mask);
  }
  return found.map((mask) => ({ mask, preferred: countNodes(mask) === narrowest }));
}

interface Asked {
  readonly type: string;
  readonly part: (type: string, part: "allocatable" | "free") => number;
}

/** Whether the nodes together have each amount, as `count` counts it. */
function has(
  nodes: MemoryState["nodes"],
  ids: readonly number[],
  amounts: MemoryAmounts,
  count: (asked: Asked) => number,
): boolean {
  const part: Asked["part"] = (type, name) =>
    ids.reduce((sum, id) => sum + (nodes.get(id)?.memory.get(type)?.[name] ?? 0), 0);
  return [...amounts].every(([type, amount]) => count({ type, part }) >= amount);
}

/** Whether the nodes have as much free memory. */
export const haveFree = (
  nodes: MemoryState["nodes"],
  ids: readonly number[],
  amounts: MemoryAmounts,
): boolean => has(nodes, ids, amounts, ({ type, part }) => part(type, "free"));

/** Whether assigning from exactly these nodes would mix with how they are assigned from now. */
export function breaksGroups(nodes: MemoryState["nodes"], ids: readonly number[]): boolean {
  return ids.some((id) => {
    const node = nodes.get(id);
    if (!node) return true;
    if (ids.length === 1) return node.cells.length > 1;
    return node.assignments > 0 && !isSameSet(node.cells, ids);
  });
}

/** Whether two ascending lists of nodes are the same. */
export const isSameSet = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i]);

/** All sets of so many nodes but the empty one: fewer nodes first, then those with lower ones. */
function masksBySize(count: number): readonly NodeMask[] {
  const masks = [...Array(2 ** count - 1).keys()].map((i) => i + 1);
  return masks.sort((a, b) => countNodes(a) - countNodes(b) || a - b);
}

/**
 * Of sets that can meet the request: what is preferred before what is not, then fewer nodes, then lower ones.
 */
export function bestHint(hints: readonly Hint[]): (Hint & { readonly mask: NodeMask }) | undefined {
  let best: (Hint & { readonly mask: NodeMask }) | undefined;
  for (const { mask, preferred } of hints) {
    if (mask === undefined) continue;
    if (!best || isBetter({ mask, preferred }, best)) best = { mask, preferred };
  }
  return best;
}

type Named = Hint & { readonly mask: NodeMask };

function isBetter(candidate: Named, current: Named): boolean {
  if (candidate.preferred !== current.preferred) return candidate.preferred;
  const more = countNodes(candidate.mask) - countNodes(current.mask);
  return more === 0 ? candidate.mask < current.mask : more < 0;
}

/** Hints of a container that was assigned its memory before: where that is; no preference when it requests something else now. */
export function heldHints(
  blocks: readonly MemoryBlock[],
  amounts: MemoryAmounts,
  all: readonly number[],
): readonly Hint[] | "any" {
  const isSame =
    blocks.length === amounts.size && blocks.every(({ type, size }) => amounts.get(type) === size);
  const [first] = blocks;
  if (!isSame || !first) return "any";
  const mask = first.nodes.reduce((set, id) => set | (1 << all.indexOf(id)), 0);
  return [{ mask, preferred: true }];
}

/** All types of memory come from the same nodes; each has a list. */
export const listForEach = (amounts: MemoryAmounts, hints: Hints): readonly Hints[] =>
  [...amounts].map(() => hints);
