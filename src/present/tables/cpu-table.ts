// pure
/** Who has which CPU: a row for those of one NUMA node that are alike, with `-o wide` for each thread. */
import { formatCpuList } from "../../config/cpu-list.ts";
import type { CpuReport, ReportedCpu } from "../shapes.ts";
import { type Column, renderTable, type TableOptions } from "./table.ts";

/** CPUs of one node with the same state and owner. */
interface Row {
  readonly first: ReportedCpu;
  readonly ids: readonly number[];
}

const STATES = {
  exclusive: "cyan",
  shared: "green",
  reserved: "yellow",
  offline: "dim",
  unused: "dim",
} as const;

const numberOf = (value: number | undefined) => (value === undefined ? "" : `${value}`);

const COLUMNS: readonly Column<Row>[] = [
  { title: "NODE", value: ({ first }) => numberOf(first.node) },
  { title: "SOCKET", value: ({ first }) => numberOf(first.socket) },
  { title: "L3", value: ({ first }) => numberOf(first.cache), wide: true },
  { title: "CORE", value: ({ first }) => numberOf(first.core), wide: true },
  { title: "CPUS", value: ({ ids }) => formatCpuList(ids) },
  {
    title: "STATE",
    value: ({ first }) => first.state,
    style: ({ first }) => STATES[first.state],
  },
  { title: "POD", value: ({ first }) => ownerText(first) },
  { title: "CONTAINERS", value: ({ first }) => first.owner?.containers.join(",") ?? "" },
];

/** The table. */
export function renderCpus(cpus: readonly ReportedCpu[], options: TableOptions): readonly string[] {
  const rows = options.wide
    ? cpus.toSorted(byPlace).map((first): Row => ({ first, ids: [first.id] }))
    : groupsOf(cpus);
  return renderTable(COLUMNS, rows, options);
}

/** The policy, and what is left on each NUMA node. */
export function cpuSummary(report: CpuReport): readonly string[] {
  const { policy, options, reserved, nodes } = report;
  if (policy === "none")
    return [
      "cpuManagerPolicy: none; all containers share all CPUs. With static those of Guaranteed pods get whole CPUs for themselves.",
    ];
  const chosen = options.length === 0 ? "" : ` with ${options.join(", ")}`;
  return [
    `cpuManagerPolicy: static${chosen}; reserved ${reserved || "none"}`,
    ...nodes.filter(({ cpus }) => cpus !== "").map(nodeText),
  ];
}

function nodeText({ id, free, wholeCores, stray, largestCache }: CpuReport["nodes"][number]) {
  const count = countOf(free);
  if (count === 0) return `NUMA node ${id}: no CPU is left for a container`;
  const cores = wholeCores === 1 ? "1 whole core" : `${wholeCores} whole cores`;
  const single = stray === "" ? "" : `, of broken cores ${stray}`;
  const cache = largestCache < count ? `; at most ${largestCache} in one L3 cache` : "";
  return `NUMA node ${id}: ${count} left (${free}): ${cores}${single}${cache}`;
}

function countOf(list: string): number {
  return list === ""
    ? 0
    : list.split(",").reduce((count, part) => {
        const [first = 0, last = first] = part.split("-").map(Number);
        return count + last - first + 1;
      }, 0);
}

function groupsOf(cpus: readonly ReportedCpu[]): readonly Row[] {
  const groups = new Map<string, { first: ReportedCpu; ids: number[] }>();
  for (const cpu of cpus) {
    const { node, socket, state, owner } = cpu;
    const key = JSON.stringify([node, socket, state, owner]);
    const found = groups.get(key);
    if (found) found.ids.push(cpu.id);
    else groups.set(key, { first: cpu, ids: [cpu.id] });
  }
  return [...groups.values()].sort((a, b) => byPlace(a.first, b.first));
}

function byPlace(a: ReportedCpu, b: ReportedCpu): number {
  const last = Number.MAX_SAFE_INTEGER;
  const rank = ({ node = last, socket = last, core = last, id }: ReportedCpu) =>
    [node, socket, core, id] as const;
  const [ranksA, ranksB] = [rank(a), rank(b)];
  const at = ranksA.findIndex((value, index) => value !== ranksB[index]);
  return at === -1 ? 0 : (ranksA[at] ?? 0) - (ranksB[at] ?? 0);
}

function ownerText({ owner }: ReportedCpu): string {
  if (!owner) return "";
  return owner.name === "" ? owner.podUid : `${owner.namespace}/${owner.name}`;
}
