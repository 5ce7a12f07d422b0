// pure
import type {
  DeviceFigures,
  DiskWork,
  InterfaceFigures,
  Pressure,
  PressureLine,
} from "../../api/figures/figures.ts";

/** From here on the kernel means "no limit": its greatest number, rounded down to whole pages. */
const UNLIMITED = 2 ** 62;

/** The number of a file that holds one; `undefined` for anything else, `max` included. */
export function parseNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** A limit in bytes; `undefined` when there is none. */
export function parseLimit(text: string | undefined): number | undefined {
  const value = parseNumber(text);
  return value === undefined || value >= UNLIMITED ? undefined : value;
}

/** Lines of a name, a blank and a number (`memory.stat`, `cpu.stat`). */
export function parseKeyed(text: string | undefined): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  if (text === undefined) return values;
  for (const line of text.split("\n")) {
    const at = line.indexOf(" ");
    if (at > 0) values.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return values;
}

/** One number of a text of `parseKeyed`'s kind: few of many are found faster than all are read. */
export function keyedNumber(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const key = `${name} `;
  const at = text.startsWith(key) ? 0 : text.indexOf(`\n${key}`) + 1;
  if (at === 0 && !text.startsWith(key)) return undefined;
  const end = text.indexOf("\n", at);
  return Number(text.slice(at + key.length, end < 0 ? undefined : end));
}

const NOTHING: PressureLine = { avg10: 0, avg60: 0, avg300: 0, total: 0 };
const PRESSURE_LINE = /^(some|full) avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d+)$/gm;

/** A `*.pressure` file; kernels before 5.13 have no `full` for the CPU. */
export function parsePressure(text: string | undefined): Pressure | undefined {
  if (text === undefined) return undefined;
  const lines = new Map<string, PressureLine>();
  for (const [, kind = "", avg10, avg60, avg300, total] of text.matchAll(PRESSURE_LINE)) {
    lines.set(kind, {
      avg10: Number(avg10),
      avg60: Number(avg60),
      avg300: Number(avg300),
      total: Number(total),
    });
  }
  const some = lines.get("some");
  return some && { some, full: lines.get("full") ?? NOTHING };
}

/** `/proc/net/dev`: two lines of heading, then one for each interface. */
export function parseInterfaces(text: string | undefined): readonly InterfaceFigures[] {
  return (text ?? "").split("\n").flatMap((line) => {
    const at = line.indexOf(":");
    if (at < 0) return [];
    const n = numbersIn(line, at + 1);
    if (n.length < 12) return [];
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0] = n;
    const [txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = n.slice(8);
    const name = line.slice(0, at).trim();
    const received = { rxBytes, rxPackets, rxErrors, rxDropped };
    return [{ name, ...received, txBytes, txPackets, txErrors, txDropped }];
  });
}

/** The numbers in a line from there on, between blanks. */
function numbersIn(line: string, from: number): readonly number[] {
  const numbers: number[] = [];
  for (let at = from; at < line.length; at += 1) {
    if (line.charCodeAt(at) === BLANK) continue;
    const blank = line.indexOf(" ", at);
    const end = blank < 0 ? line.length : blank;
    numbers.push(Number(line.slice(at, end)));
    at = end;
  }
  return numbers;
}

const BLANK = 32;

/** Interface of the default route in `/proc/net/route`. */
export function parseDefaultInterface(text: string | undefined): string | undefined {
  for (const line of (text ?? "").split("\n")) {
    const [name, destination, , , , , , mask] = line.split("\t");
    if (destination === "00000000" && mask === "00000000") return name;
  }
  return undefined;
}

/** `io.stat` of version 2. */
export function parseIoStat(text: string | undefined): readonly DeviceFigures[] {
  return (text ?? "").split("\n").flatMap((line) => {
    const [device = "", ...pairs] = line.split(" ");
    if (!/^\d+:\d+$/.test(device)) return [];
    const values = new Map(pairs.map((pair) => pair.split("=") as [string, string]));
    const of = (name: string) => Number(values.get(name) ?? 0);
    return [
      {
        device,
        readBytes: of("rbytes"),
        writtenBytes: of("wbytes"),
        reads: of("rios"),
        writes: of("wios"),
      },
    ];
  });
}

/** The two files of version 1 that count bytes and operations by device. */
export function parseBlkio(
  bytes: string | undefined,
  operations: string | undefined,
): readonly DeviceFigures[] {
  const [byBytes, byCount] = [blkioLines(bytes), blkioLines(operations)];
  return [...byBytes].map(([device, moved]) => ({
    device,
    readBytes: moved.Read,
    writtenBytes: moved.Write,
    reads: byCount.get(device)?.Read ?? 0,
    writes: byCount.get(device)?.Write ?? 0,
  }));
}

function blkioLines(
  text: string | undefined,
): ReadonlyMap<string, { Read: number; Write: number }> {
  const devices = new Map<string, { Read: number; Write: number }>();
  for (const [, device = "", kind, amount] of (text ?? "").matchAll(
    /^(\d+:\d+) (Read|Write) (\d+)$/gm,
  )) {
    const entry = devices.get(device) ?? { Read: 0, Write: 0 };
    entry[kind as "Read" | "Write"] = Number(amount);
    devices.set(device, entry);
  }
  return devices;
}

/** `/proc/diskstats` by `major:minor` (Documentation/admin-guide/iostats.rst). */
export function parseDiskstats(text: string | undefined): ReadonlyMap<string, DiskWork> {
  const disks = new Map<string, DiskWork>();
  for (const line of (text ?? "").split("\n")) {
    const [major, minor, , ...counters] = line.trim().split(/\s+/);
    const n = counters.map(Number);
    if (n.length < 11) continue;
    const [reads = 0, readsMerged = 0, sectorsRead = 0, readMs = 0] = n;
    const [writes = 0, writesMerged = 0, sectorsWritten = 0, writeMs = 0] = n.slice(4);
    const [inProgress = 0, busyMs = 0, weightedMs = 0] = n.slice(8);
    disks.set(`${major}:${minor}`, {
      reads,
      readsMerged,
      sectorsRead,
      readMs,
      writes,
      writesMerged,
      sectorsWritten,
      writeMs,
      inProgress,
      busyMs,
      weightedMs,
    });
  }
  return disks;
}

/** `major:minor` of a device's number (makedev(3)). */
export function deviceOfNumber(device: number): string {
  const number = BigInt(device);
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & ~0xfffn);
  const minor = (number & 0xffn) | ((number >> 12n) & 0xfff_ff00n);
  return `${major}:${minor}`;
}

/** The soft limit of open files in `/proc/<pid>/limits`; -1 without one. */
export function parseOpenFilesLimit(text: string | undefined): number | undefined {
  const limit = /^Max open files +(\d+|unlimited) /m.exec(text ?? "")?.[1];
  return limit === undefined ? undefined : limit === "unlimited" ? -1 : Number(limit);
}

/** Processes of a `cgroup.procs` that this process can see. */
export function pidsOf(text: string | undefined): readonly number[] {
  return (text ?? "")
    .split("\n")
    .map(Number)
    .filter((pid) => pid > 0);
}

/** Tasks that there are, out of `/proc/loadavg` (`0.1 0.2 0.3 2/345 6789`). */
export function parseTasks(loadavg: string | undefined): number | undefined {
  const tasks = /\d+\/(\d+) \d+$/.exec(loadavg ?? "")?.[1];
  return tasks === undefined ? undefined : Number(tasks);
}

/** Second of the boot, out of `/proc/stat`. */
export function parseBootSecond(stat: string | undefined): number | undefined {
  const second = /^btime (\d+)$/m.exec(stat ?? "")?.[1];
  return second === undefined ? undefined : Number(second);
}

/** A group as people write its path: absolute or not, with slashes or dots too many. */
export function groupPath(text: string): string {
  const parts: string[] = [];
  for (const part of text.replaceAll("\0", "").split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}
