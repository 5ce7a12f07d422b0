// pure
/**
 * The file in which assignments outlive the agent, as the Go kubelet writes it (`memory_manager_state`), so that a node may
 * change agents. Its checksum is FNV-1a over a dump of the content in the manner of Go's spew; since 1.37 (version 3) the same
 * content stands beside it as a text of its own, which then counts.
 */
import { checkpointTextChecksum, fnv1a32 } from "../../api/text/fnv.ts";
import { isTree } from "../../kit/json.ts";
import type {
  MemoryBlock,
  MemoryState,
  MemoryTable,
  NodeMemory,
  PodBlocks,
} from "./memory-state.ts";

/** Contents of the file. */
export interface KeptMemory extends MemoryState {
  readonly policy: string;
}

/** The parsed file. */
type ReadMemory =
  | { readonly kind: "read"; readonly value: KeptMemory }
  | { readonly kind: "broken"; readonly why: string };

/** The file's text. */
export function encodeMemory(kept: KeptMemory): string {
  const machineState = Object.fromEntries(
    [...kept.nodes].map(([id, { assignments, memory, cells }]) => [
      id,
      { numberOfAssignments: assignments, memoryMap: Object.fromEntries(memory), cells },
    ]),
  );
  const entries = Object.fromEntries(
    [...kept.pods].map(([uid, containers]) => [
      uid,
      Object.fromEntries([...containers].map(([name, blocks]) => [name, blocks.map(shownBlock)])),
    ]),
  );
  const content = {
    policyName: kept.policy,
    machineState,
    ...(kept.pods.size === 0 ? {} : { entries }),
  };
  // As the layout of older releases has no place for it, only what newer ones read says what whole pods were assigned.
  const podEntries = kept.wholePods && {
    podEntries: Object.fromEntries(
      [...kept.wholePods].map(([uid, blocks]) => [uid, { memoryBlocks: blocks.map(shownBlock) }]),
    ),
  };
  const data = JSON.stringify({ ...content, ...podEntries });
  const dataChecksum = checkpointTextChecksum(data);
  return JSON.stringify({ ...content, checksum: memoryChecksum(kept), data, dataChecksum });
}

const shownBlock = ({ nodes, type, size }: MemoryBlock) => ({ numaAffinity: nodes, type, size });

/** Checksum of the content; with `podEntries` where the file has such a part. */
function memoryChecksum(
  { policy, nodes, pods, wholePods = new Map() }: KeptMemory,
  { podEntries = false }: { readonly podEntries?: boolean } = {},
): number {
  const machine = dumpMap(nodes, (id) => String(id), dumpNode);
  const entries = dumpMap(
    sorted(pods),
    (uid) => uid,
    (blocks) =>
      dumpMap(
        sorted(blocks),
        (name) => name,
        (list) => `[${list.map(dumpBlock).join(" ")}]`,
      ),
  );
  const whole = dumpMap(
    sorted(wholePods),
    (uid) => uid,
    (list) => `{MemoryBlocks:([]state.Block)[${list.map(dumpBlock).join(" ")}]}`,
  );
  const more = podEntries ? ` PodEntries:(state.PodMemoryAssignments)${whole}` : "";
  return fnv1a32(
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policy} MachineState:(state.NUMANodeMap)${machine} Entries:(state.ContainerMemoryAssignments)${entries}${more} Checksum:(checksum.Checksum)0}`,
  );
}

function dumpMap<K, V>(
  map: ReadonlyMap<K, V>,
  key: (key: K) => string,
  value: (value: V) => string,
): string {
  return `map[${[...map].map(([k, v]) => `${key(k)}:${value(v)}`).join(" ")}]`;
}

function sorted<V>(map: ReadonlyMap<string, V>): ReadonlyMap<string, V> {
  return new Map([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function dumpNode({ assignments, memory, cells }: NodeMemory): string {
  const tables = dumpMap(sorted(memory), (type) => type, dumpTable);
  return `<*>{NumberOfAssignments:(int)${assignments} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${tables} Cells:([]int)${dumpList(cells)}}`;
}

function dumpTable({ total, systemReserved, allocatable, reserved, free }: MemoryTable): string {
  return `<*>{TotalMemSize:(uint64)${total} SystemReserved:(uint64)${systemReserved} Allocatable:(uint64)${allocatable} Reserved:(uint64)${reserved} Free:(uint64)${free}}`;
}

function dumpBlock({ nodes, type, size }: MemoryBlock): string {
  return `{NUMAAffinity:([]int)${dumpList(nodes)} Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
}

const dumpList = (ids: readonly number[]): string => `[${ids.join(" ")}]`;

/** Reads the file's text, of any version; where the content stands there as a text of its own, that counts. */
export function parseMemory(text: string): ReadMemory {
  try {
    const file: unknown = JSON.parse(text);
    if (!isTree(file)) return broken("it is no object");
    const { data, dataChecksum } = file;
    if (data === undefined && dataChecksum === undefined) return parseContent(file);
    if (typeof data !== "string" || dataChecksum !== checkpointTextChecksum(data))
      return broken("could not load v3 checkpoint: checkpoint is corrupted");
    return parseContent({ ...JSON.parse(data), checksum: 0 });
  } catch (error) {
    return broken(error instanceof Error ? error.message : String(error));
  }
}

/** Throws for a content that is not what it should be. */
function parseContent(file: Readonly<Record<string, unknown>>): ReadMemory {
  const { policyName, machineState, entries, podEntries, checksum } = file;
  if (typeof policyName !== "string") return broken("it names no policy");
  const wholePods = new Map(
    entriesOf(podEntries).map(([uid, entry]) => [uid, readBlocks(member(entry, "memoryBlocks"))]),
  );
  const value: KeptMemory = {
    policy: policyName,
    nodes: readNodes(machineState),
    pods: readPods(entries),
    ...(wholePods.size === 0 ? {} : { wholePods }),
  };
  // As the Go kubelet: none is as good as a right one.
  const isRight =
    checksum === 0 ||
    (wholePods.size === 0 && checksum === memoryChecksum(value)) ||
    checksum === memoryChecksum(value, { podEntries: true });
  return isRight ? { kind: "read", value } : broken("checkpoint is corrupted");
}

const broken = (why: string): ReadMemory => ({ kind: "broken", why });

function readNodes(given: unknown): MemoryState["nodes"] {
  const nodes = entriesOf(given).map(([id, node]): readonly [number, NodeMemory] => [
    readNumber(Number(id), "a node"),
    {
      assignments: readNumber(member(node, "numberOfAssignments"), "numberOfAssignments"),
      memory: new Map(
        entriesOf(member(node, "memoryMap")).map(([type, table]) => [type, readTable(table)]),
      ),
      cells: readIds(member(node, "cells")),
    },
  ]);
  return new Map(nodes.sort(([a], [b]) => a - b));
}

function readTable(given: unknown): MemoryTable {
  const number = (name: string) => readNumber(member(given, name), name);
  return {
    total: number("total"),
    systemReserved: number("systemReserved"),
    allocatable: number("allocatable"),
    reserved: number("reserved"),
    free: number("free"),
  };
}

function readPods(given: unknown): MemoryState["pods"] {
  return new Map(
    entriesOf(given).map(([uid, containers]): readonly [string, PodBlocks] => [
      uid,
      new Map(entriesOf(containers).map(([name, blocks]) => [name, readBlocks(blocks)])),
    ]),
  );
}

function readBlocks(given: unknown): readonly MemoryBlock[] {
  if (!Array.isArray(given)) return [];
  return given.map((block: unknown) => {
    const type = member(block, "type");
    if (typeof type !== "string") throw new Error("a block has no type");
    return {
      nodes: readIds(member(block, "numaAffinity")),
      type,
      size: readNumber(member(block, "size"), "size"),
    };
  });
}

function readIds(given: unknown): readonly number[] {
  return Array.isArray(given) ? given.map((id: unknown) => readNumber(id, "a node")) : [];
}

const member = (given: unknown, name: string): unknown => (isTree(given) ? given[name] : undefined);

const entriesOf = (given: unknown): (readonly [string, unknown])[] =>
  Object.entries<unknown>(isTree(given) ? given : {});

function readNumber(given: unknown, what: string): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 0) return given;
  throw new Error(`${what} is no whole number`);
}
