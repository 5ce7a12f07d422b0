// pure
import { quoted } from "../api/text/go-quote.ts";

/** Largest CPU number believed; keeps `0-999999999` from filling the memory. */
const MAX_CPU = 65_535;

/** The CPUs of a list, or why it is none. */
type CpuList =
  | { readonly ok: true; readonly cpus: readonly number[] }
  | { readonly ok: false; readonly error: string };

/** Parses the kernel's list format, e.g. `0-3,8`, into sorted distinct CPU numbers; empty is no CPU. */
export function parseCpuList(text: string): CpuList {
  if (text === "") return { ok: true, cpus: [] };
  const cpus = new Set<number>();
  for (const part of text.split(",")) {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part);
    if (match === null) return failed(`${quoted(part)} is neither a CPU number nor a range`);
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    if (last < first) return failed(`invalid range ${quoted(part)} (${last} < ${first})`);
    if (last > MAX_CPU) return failed(`${quoted(part)} is beyond CPU ${MAX_CPU}`);
    for (let cpu = first; cpu <= last; cpu += 1) cpus.add(cpu);
  }
  return { ok: true, cpus: [...cpus].sort((a, b) => a - b) };
}

/** The same list of sorted distinct numbers, with ranges where numbers follow one another. */
export function formatCpuList(cpus: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const cpu of cpus) {
    const range = ranges.at(-1);
    if (range && cpu === range[1] + 1) range[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
    .join(",");
}

function failed(error: string): CpuList {
  return { ok: false, error };
}
