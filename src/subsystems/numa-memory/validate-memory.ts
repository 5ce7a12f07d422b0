// pure
/** Whether assignments of a previous run can be kept on this machine. */
import type { KeptMemory } from "./memory-checkpoint.ts";
import { isSameSet } from "./memory-hints.ts";
import { assign, type MemoryState, type NodeMemory } from "./memory-state.ts";

/** The state that goes on, or why there is none. */
type Continued =
  | { readonly kind: "continued"; readonly state: MemoryState }
  | { readonly kind: "refused"; readonly why: string };

/**
 * Assigns again what the file names, from nothing, and compares: how the memory of a group is spread over its nodes is taken
 * from the file, all else has to be the same. `empty` is the machine with nothing assigned.
 */
export function continueMemory(kept: KeptMemory, empty: MemoryState): Continued {
  if (kept.nodes.size === 0)
    return kept.pods.size === 0
      ? { kind: "continued", state: empty }
      : refused("machine state can not be empty when it has memory assignments");
  let { nodes } = empty;
  const assigned = [
    ...[...kept.pods]
      .filter(([uid]) => !kept.wholePods?.has(uid))
      .flatMap(([uid, containers]) =>
        [...containers].map(
          ([name, blocks]) => [`pod: ${uid}, container: ${name}`, blocks] as const,
        ),
      ),
    ...[...(kept.wholePods ?? [])].map(([uid, blocks]) => [`pod: ${uid}`, blocks] as const),
  ];
  for (const [whose, blocks] of assigned)
    for (const block of blocks) {
      const at = `(${whose}) the memory assignment uses`;
      const on = block.nodes.map((id) => nodes.get(id));
      if (on.length === 0 || on.includes(undefined))
        return refused(`${at} the NUMA that does not exist`);
      if (on.some((node) => !node?.memory.has(block.type)))
        return refused(`${at} memory resource that does not exist`);
      nodes = assign(nodes, block, block.size);
    }
  const difference = differenceOf(kept.nodes, nodes);
  if (difference !== undefined)
    return refused(`the expected machine state is different from the real one: ${difference}`);
  return { kind: "continued", state: withoutPolicy(kept) };
}

const withoutPolicy = ({ nodes, pods, wholePods }: KeptMemory): MemoryState =>
  wholePods ? { nodes, pods, wholePods } : { nodes, pods };

const refused = (why: string): Continued => ({ kind: "refused", why: `[memorymanager] ${why}` });

type Nodes = MemoryState["nodes"];

/** The first difference, in words. */
function differenceOf(file: Nodes, real: Nodes): string | undefined {
  if (!isSameSet([...file.keys()], [...real.keys()]))
    return `the file has NUMA nodes ${[...file.keys()].join(",")}, the machine ${[...real.keys()].join(",")}`;
  for (const [id, node] of file) {
    const other = real.get(id);
    const difference = other && differenceOfNode({ file, real }, node, other);
    if (difference !== undefined) return `NUMA node ${id}: ${difference}`;
  }
  return undefined;
}

function differenceOfNode(
  { file, real }: { readonly file: Nodes; readonly real: Nodes },
  kept: NodeMemory,
  now: NodeMemory,
): string | undefined {
  if (kept.assignments !== now.assignments)
    return `${kept.assignments} assignments in the file, ${now.assignments} by its entries`;
  if (!isSameSet(kept.cells, now.cells))
    return `assigned together with ${kept.cells.join(",")} in the file, ${now.cells.join(",")} by its entries`;
  for (const type of new Set([...kept.memory.keys(), ...now.memory.keys()])) {
    for (const part of ["total", "systemReserved", "allocatable"] as const) {
      const [was, is] = [kept.memory.get(type)?.[part], now.memory.get(type)?.[part]];
      if (was !== is) return `${part} of ${type} was ${was ?? "nothing"} and is ${is ?? "nothing"}`;
    }
    for (const part of ["reserved", "free"] as const) {
      const sum = (nodes: Nodes) =>
        kept.cells.reduce((all, id) => all + (nodes.get(id)?.memory.get(type)?.[part] ?? 0), 0);
      if (sum(file) !== sum(real))
        return `${part} of ${type} is ${sum(file)} in the file and ${sum(real)} by its entries`;
    }
  }
  return undefined;
}
