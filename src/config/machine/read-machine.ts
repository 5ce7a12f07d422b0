// pure
/** The machine's topology out of the kernel's files below `/sys/devices/system`; source: the kernel's ABI documents, cAdvisor. */

import type { LogicalCpu, MachineTopology, NumaNode } from "../../api/node/machine-topology.ts";
import { parseCpuList } from "../cpu-list.ts";

/** Text of a file of the kernel without its last newline; `undefined` where there is none. */
type ReadKernelText = (path: string) => string | undefined;

const CPU_FOLDER = "/sys/devices/system/cpu";
const NODE_FOLDER = "/sys/devices/system/node";
/** Where a kernel without NUMA has its pools of huge pages. */
const HUGE_PAGES_FOLDER = "/sys/kernel/mm/hugepages";

/** Caches of a CPU are numbered from 0; no machine has more levels than this. */
const MAX_CACHES = 10;
/** Huge pages have 64 KiB to 16 GiB on the architectures that Linux knows. */
const MIN_HUGE_PAGE_KIB = 64;
const HUGE_PAGE_SIZES = 19;

/**
 * Reads from one text with all files of a machine, as `grep -r . /sys/devices/system/cpu /sys/devices/system/node` writes
 * it: a line of a file after its path.
 */
export function readingTree(text: string): ReadKernelText {
  const files = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, path, content = ""] = /^(\/[^:]+):(.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    const before = files.get(path);
    files.set(path, before === undefined ? content : `${before}\n${content}`);
  }
  return (path) => files.get(path);
}

/** NUMA nodes that are online, ascending; a kernel without NUMA has one. */
export function onlineNodes(read: ReadKernelText): readonly number[] {
  const named = listOf(read, `${NODE_FOLDER}/online`);
  return named.length > 0 ? named : [0];
}

/** The topology; a kernel that says nothing of sockets, cores or NUMA has one socket, cores of one thread and one node. */
export function readMachineTopology(read: ReadKernelText): MachineTopology {
  const ids = onlineNodes(read);
  const hasNodes = read(`${NODE_FOLDER}/online`) !== undefined;
  const cpusOfNode = new Map(ids.map((id) => [id, listOf(read, nodeFile(id, "cpulist"))]));
  const listed = listOf(read, `${CPU_FOLDER}/online`);
  const online = listed.length > 0 ? listed : [...cpusOfNode.values()].flat().sort(byNumber);
  const nodeOf = new Map<number, number>();
  for (const [id, cpus] of cpusOfNode) for (const cpu of cpus) nodeOf.set(cpu, id);
  const [first = 0] = ids;
  const cpus = describeCpus(online, (cpu) => nodeOf.get(cpu) ?? first, read);
  const nodes = ids.map((id): NumaNode => {
    const own = cpus.filter(({ node }) => node === id).map((cpu) => cpu.id);
    return { id, cpus: own, ...memoryOf(id, hasNodes, read), ...waysFrom(id, ids, read) };
  });
  return { cpus, nodes };
}

/** CPUs that are there and not online, ascending. */
export function offlineCpus(read: ReadKernelText): readonly number[] {
  const online = new Set(listOf(read, `${CPU_FOLDER}/online`));
  return listOf(read, `${CPU_FOLDER}/present`).filter((cpu) => !online.has(cpu));
}

function describeCpus(
  online: readonly number[],
  nodeOf: (cpu: number) => number,
  read: ReadKernelText,
): readonly LogicalCpu[] {
  const isOnline = new Set(online);
  const lowest = (list: readonly number[], otherwise: number) =>
    list.find((cpu) => isOnline.has(cpu)) ?? otherwise;
  const firstOfSocket = new Map<number, number>();
  return online.map((id) => {
    const folder = `${CPU_FOLDER}/cpu${id}`;
    const socket = socketOf(read(`${folder}/topology/physical_package_id`));
    if (!firstOfSocket.has(socket)) firstOfSocket.set(socket, id);
    const siblings = listOf(read, `${folder}/topology/core_cpus_list`);
    const threads =
      siblings.length > 0 ? siblings : listOf(read, `${folder}/topology/thread_siblings_list`);
    const sharing = sharedCache(folder, read);
    const cache = sharing.length > 0 ? lowest(sharing, id) : (firstOfSocket.get(socket) ?? id);
    return { id, core: lowest(threads, id), socket, node: nodeOf(id), cache };
  });
}

/** A virtual machine may have -1, which is no socket of its own. */
function socketOf(text: string | undefined): number {
  const socket = Number(text?.trim() || "0");
  return Number.isInteger(socket) && socket >= 0 ? socket : 0;
}

/** The CPUs that share the L3 cache. */
function sharedCache(folder: string, read: ReadKernelText): readonly number[] {
  for (let index = 0; index < MAX_CACHES; index += 1) {
    const cache = `${folder}/cache/index${index}`;
    const level = read(`${cache}/level`)?.trim();
    if (level === undefined) return [];
    if (level === "3") return listOf(read, `${cache}/shared_cpu_list`);
  }
  return [];
}

function memoryOf(
  id: number,
  hasNodes: boolean,
  read: ReadKernelText,
): Pick<NumaNode, "memoryBytes" | "hugePages"> {
  const meminfo = read(hasNodes ? nodeFile(id, "meminfo") : "/proc/meminfo") ?? "";
  const kibibytes = Number(/^(?:Node \d+ )?MemTotal:\s*(\d+) kB$/m.exec(meminfo)?.[1] ?? 0);
  const pools = hasNodes ? nodeFile(id, "hugepages") : HUGE_PAGES_FOLDER;
  const hugePages: { pageSizeBytes: number; pages: number }[] = [];
  for (let power = 0; power < HUGE_PAGE_SIZES; power += 1) {
    const kib = MIN_HUGE_PAGE_KIB * 2 ** power;
    const pages = read(`${pools}/hugepages-${kib}kB/nr_hugepages`);
    if (pages === undefined) continue;
    hugePages.push({ pageSizeBytes: kib * 1024, pages: Number(pages.trim()) || 0 });
  }
  return { memoryBytes: kibibytes * 1024, hugePages };
}

/** The kernel's row of distances has a column for each node that is online. */
function waysFrom(
  id: number,
  ids: readonly number[],
  read: ReadKernelText,
): Pick<NumaNode, "distances"> {
  const row = (read(nodeFile(id, "distance")) ?? "").trim().split(/\s+/).map(Number);
  const isWhole = row.length === ids.length && row.every((way) => Number.isInteger(way) && way > 0);
  return { distances: isWhole ? row : undefined };
}

function nodeFile(id: number, name: string): string {
  return `${NODE_FOLDER}/node${id}/${name}`;
}

function listOf(read: ReadKernelText, path: string): readonly number[] {
  const parsed = parseCpuList((read(path) ?? "").trim());
  return parsed.ok ? parsed.cpus : [];
}

function byNumber(a: number, b: number): number {
  return a - b;
}
