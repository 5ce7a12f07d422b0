/** What a process and its children hold, as /proc shows it. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Memory in MiB, and counts. */
export interface ProcessFigures {
  /** Resident, of the process and its children. */
  readonly residentMib: number;
  /** Of it what belongs to no file. */
  readonly anonymousMib: number;
  readonly processes: number;
  readonly threads: number;
  /** Descriptors of the process itself. */
  readonly sockets: number;
  readonly files: number;
}

/** Figures of a process as the machine counts its id; `undefined` once it has ended. */
export function figuresOf(pid: number): ProcessFigures | undefined {
  const family = [pid, ...childrenOf(pid)].map((each) => ({ each, status: statusOf(each) }));
  const alive = family.filter(({ status }) => status !== "");
  if (alive[0]?.each !== pid) return undefined;
  const sum = (field: string) =>
    alive.reduce((total, { status }) => total + numberIn(status, field), 0);
  const descriptors = descriptorsOf(pid);
  const sockets = descriptors.filter((target) => target.startsWith("socket:")).length;
  return {
    residentMib: sum("VmRSS") / 1024,
    anonymousMib: sum("RssAnon") / 1024,
    processes: alive.length,
    threads: sum("Threads"),
    sockets,
    files: descriptors.length - sockets,
  };
}

/** Children, and theirs. */
function childrenOf(pid: number): readonly number[] {
  const text = read(`/proc/${pid}/task/${pid}/children`).trim();
  const children = text === "" ? [] : text.split(" ").map(Number);
  return children.flatMap((child) => [child, ...childrenOf(child)]);
}

function statusOf(pid: number): string {
  return read(`/proc/${pid}/status`);
}

function numberIn(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
}

function descriptorsOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).flatMap((name) => {
      try {
        return [readlinkSync(`${folder}/${name}`)];
      } catch {
        // Closed meanwhile.
        return [];
      }
    });
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
