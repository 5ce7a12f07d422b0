// pure
/** What each NUMA node has of each type of memory, and which container was assigned what: one value, replaced as a whole. */

/** Memory of one type on one node, bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  /** For containers: the total without what is reserved, and without huge pages where it is ordinary memory. */
  readonly allocatable: number;
  /** Assigned to containers. */
  readonly reserved: number;
  readonly free: number;
}

/** One node. */
export interface NodeMemory {
  /** Blocks that are on the node. */
  readonly assignments: number;
  readonly memory: ReadonlyMap<string, MemoryTable>;
  /** Nodes that are assigned from together with this one, which is among them. */
  readonly cells: readonly number[];
}

/** An amount of one type that a container was assigned, from all of these nodes together. */
export interface MemoryBlock {
  /** Ascending. */
  readonly nodes: readonly number[];
  /** `memory` or `hugepages-<size>`. */
  readonly type: string;
  readonly size: number;
}

/** Blocks of the containers of one pod. */
export type PodBlocks = ReadonlyMap<string, readonly MemoryBlock[]>;

/** Everything; see above. */
export interface MemoryState {
  /** By number, ascending. */
  readonly nodes: ReadonlyMap<number, NodeMemory>;
  /** By UID of the pod. */
  readonly pods: ReadonlyMap<string, PodBlocks>;
  /** Of pods that are assigned memory as a whole, by UID; the blocks of their containers are parts of these. */
  readonly wholePods?: ReadonlyMap<string, readonly MemoryBlock[]>;
}

/** The type of memory that is not in huge pages. */
export const MEMORY = "memory";

/** What a node has before anything is assigned. */
export interface NumaCapacity {
  readonly id: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly { readonly type: string; readonly bytes: number }[];
  /** Reserved on the node, by type. */
  readonly reserved: ReadonlyMap<string, number>;
}

/** The machine with nothing assigned. */
export function emptyState(capacities: readonly NumaCapacity[]): MemoryState {
  const nodes = new Map(
    capacities.map((capacity): readonly [number, NodeMemory] => [
      capacity.id,
      { assignments: 0, memory: tablesOf(capacity), cells: [capacity.id] },
    ]),
  );
  return { nodes, pods: new Map() };
}

function tablesOf({ memoryBytes, hugePages, reserved }: NumaCapacity): NodeMemory["memory"] {
  const table = (type: string, total: number, others: number): [string, MemoryTable] => {
    const systemReserved = reserved.get(type) ?? 0;
    const allocatable = Math.max(0, total - systemReserved - others);
    return [type, { total, systemReserved, allocatable, reserved: 0, free: allocatable }];
  };
  const inHugePages = hugePages.reduce((sum, { bytes }) => sum + bytes, 0);
  return new Map([
    table(MEMORY, memoryBytes, inHugePages),
    ...hugePages.map(({ type, bytes }) => table(type, bytes, 0)),
  ]);
}

/** Blocks of a container; none where it was assigned nothing. */
export function blocksOf(
  { pods }: MemoryState,
  uid: string,
  container: string,
): readonly MemoryBlock[] {
  return pods.get(uid)?.get(container) ?? [];
}

/** With these blocks for the container, in place of those it had; the nodes stay as they are. */
export function withBlocks(
  pods: MemoryState["pods"],
  uid: string,
  { container, blocks }: { readonly container: string; readonly blocks: readonly MemoryBlock[] },
): MemoryState["pods"] {
  return new Map([...pods, [uid, new Map([...(pods.get(uid) ?? []), [container, blocks]])]]);
}

/** Puts a block on its nodes, of which `size` bytes were not assigned before: from the first node as much as it has, then from the next. */
export function assign(
  nodes: MemoryState["nodes"],
  { nodes: ids, type }: MemoryBlock,
  size: number,
): MemoryState["nodes"] {
  const next = new Map(nodes);
  let rest = size;
  for (const id of ids) {
    const node = nodes.get(id);
    if (!node) continue;
    const taken = Math.min(rest, node.memory.get(type)?.free ?? 0);
    rest -= taken;
    const memory = moved(node, type, taken);
    next.set(id, { assignments: node.assignments + 1, cells: ids, memory });
  }
  return next;
}

/** Takes a block off its nodes. A node without any belongs to no group any more. */
function unassign(nodes: MemoryState["nodes"], block: MemoryBlock): MemoryState["nodes"] {
  const next = new Map(nodes);
  let rest = block.size;
  for (const id of block.nodes) {
    const node = nodes.get(id);
    if (!node) continue;
    const given = Math.min(rest, node.memory.get(block.type)?.reserved ?? 0);
    rest -= given;
    const assignments = Math.max(0, node.assignments - 1);
    const cells = assignments === 0 ? [id] : node.cells;
    next.set(id, { assignments, cells, memory: moved(node, block.type, -given) });
  }
  return next;
}

function moved({ memory }: NodeMemory, type: string, amount: number): NodeMemory["memory"] {
  const table = memory.get(type);
  if (!table || amount === 0) return memory;
  const { free, reserved } = table;
  return new Map([
    ...memory,
    [type, { ...table, free: free - amount, reserved: reserved + amount }],
  ]);
}

/** Without what these containers of the pod were assigned; the same state where they were assigned nothing. */
export function releaseBlocks(
  state: MemoryState,
  uid: string,
  containers: Iterable<string>,
): MemoryState {
  const held = state.pods.get(uid);
  const leaving = new Set([...containers].filter((name) => held?.has(name)));
  if (!held || leaving.size === 0) return state;
  let { nodes } = state;
  for (const name of leaving)
    for (const block of held.get(name) ?? []) nodes = unassign(nodes, block);
  const pods = new Map(state.pods);
  const left = [...held].filter(([name]) => !leaving.has(name));
  if (left.length === 0) pods.delete(uid);
  else pods.set(uid, new Map(left));
  return { ...state, nodes, pods };
}

/** Without the pod. */
export function releasePod(state: MemoryState, uid: string): MemoryState {
  const whole = state.wholePods?.get(uid);
  if (whole) {
    let { nodes } = state;
    for (const block of whole) nodes = unassign(nodes, block);
    const [pods, wholePods] = [new Map(state.pods), new Map(state.wholePods)];
    pods.delete(uid);
    wholePods.delete(uid);
    return wholePods.size === 0 ? { nodes, pods } : { nodes, pods, wholePods };
  }
  return releaseBlocks(state, uid, state.pods.get(uid)?.keys() ?? []);
}
