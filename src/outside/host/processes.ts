import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import type { OpenFiles } from "./host.ts";
import { errnoOf, hostError } from "./host-errors.ts";
import type { ProcessFacts } from "./process-facts.ts";

/** Places in `/proc/<pid>/stat` after the program's name (proc_pid_stat(5), counted from `state`). */
const STAT = { state: 0, parentPid: 1, sessionId: 3, flags: 6, startTicks: 19 } as const;

/** Among the flags (PF_KTHREAD). */
const KERNEL_THREAD = 0x20_0000;

/**
 * The facts in a `/proc/<pid>/stat`. The name stands in brackets and may hold blanks and brackets
 * itself, so the last closing one ends it. `undefined` when the text has another shape.
 */
export function parseProcessStat(text: string): Omit<ProcessFacts, "cgroups"> | undefined {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 0 || close < open) return undefined;
  const fields = text.slice(close + 2).split(" ");
  const state = fields[STAT.state];
  const startTicks = fields[STAT.startTicks];
  if (state === undefined || startTicks === undefined) return undefined;
  return {
    pid: Number(text.slice(0, open)),
    name: text.slice(open + 1, close),
    state,
    parentPid: Number(fields[STAT.parentPid]),
    sessionId: Number(fields[STAT.sessionId]),
    isKernelThread: (Number(fields[STAT.flags]) & KERNEL_THREAD) !== 0,
    startTicks: Number(startTicks),
  };
}

/** Group paths by controller from a `/proc/<pid>/cgroup`; the v2 line has the empty controller. */
export function parseProcessCgroups(text: string): Readonly<Record<string, string>> {
  const groups: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(",")) groups[controller] = path;
  }
  return groups;
}

/** A process by its number below `procRoot`; `undefined` when it is gone. */
export function readProcess(pid: number, procRoot = "/proc"): ProcessFacts | undefined {
  try {
    const stat = parseProcessStat(readFileSync(`${procRoot}/${pid}/stat`, "utf8"));
    if (stat === undefined) return undefined;
    const cgroups = parseProcessCgroups(readFileSync(`${procRoot}/${pid}/cgroup`, "utf8"));
    return { ...stat, cgroups };
  } catch (thrown) {
    if (["ENOENT", "ENOTDIR", "ESRCH"].includes(errnoOf(thrown))) return undefined;
    throw hostError("read process", String(pid), thrown);
  }
}

/** More descriptors are counted only: each takes a system call to inspect. */
const MAX_INSPECTED = 1_000;

/** See `Host.openFiles`. A process that this one may not inspect has none that can be counted. */
export function readOpenFiles(
  pid: number,
  known?: OpenFiles,
  procRoot = "/proc",
): OpenFiles | undefined {
  const folder = `${procRoot}/${pid}/fd`;
  try {
    // Since Linux 6.2 the folder's size is their number, before it is 0.
    if (known && known.descriptors > 0 && statSync(folder).size === known.descriptors) return known;
    const names = readdirSync(folder);
    if (names.length > MAX_INSPECTED) return { descriptors: names.length };
    let sockets = 0;
    for (const name of names) if (isSocket(`${folder}/${name}`)) sockets += 1;
    return { descriptors: names.length, sockets };
  } catch (thrown) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errnoOf(thrown))) return undefined;
    throw hostError("list descriptors of process", String(pid), thrown);
  }
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith("socket:");
  } catch {
    // It was closed meanwhile.
    return false;
  }
}

/** Kills the process if it still is the one that started then. */
export function killProcess(
  { pid, startTicks }: Pick<ProcessFacts, "pid" | "startTicks">,
  procRoot = "/proc",
): void {
  if (readProcess(pid, procRoot)?.startTicks !== startTicks) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch (thrown) {
    if (errnoOf(thrown) !== "ESRCH") throw hostError("kill process", String(pid), thrown);
  }
}
