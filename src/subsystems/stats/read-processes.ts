import type { ProcessFigures } from "../../api/figures/figures.ts";
import type { Host, OpenFiles } from "../../outside/host/host.ts";
import { Held } from "./held.ts";
import { parseOpenFilesLimit, pidsOf } from "./parse.ts";

/** Processes of one container that are inspected; of one with more only their number is known. */
const MAX_PROCESSES = 1_000;

/** What is not read each time. */
export interface HeldOfProcesses {
  /** Limits of open files of containers, which rarely change, by the container's group. */
  readonly limits: Held<number | undefined>;
  /** By group and process. How many of its descriptors are sockets costs a call for each. */
  readonly openFiles: Held<OpenFiles>;
}

/** Nothing yet; what is older than that is read again. */
export function heldOfProcesses(maxAgeMs: number, now: () => number): HeldOfProcesses {
  return { limits: new Held(maxAgeMs, now), openFiles: new Held(maxAgeMs, now) };
}

/** The processes in a container's group and what they have open; `undefined` when it is not there. */
export function readProcesses(
  host: Pick<Host, "cgroups" | "openFiles" | "readKernel">,
  path: string,
  { limits, openFiles }: HeldOfProcesses,
): ProcessFigures | undefined {
  const [text] = host.cgroups.readNow(path, ["cgroup.procs"]);
  if (text === undefined) return undefined;
  const pids = pidsOf(text);
  let fileDescriptors = 0;
  let sockets: number | undefined = 0;
  for (const pid of pids.length > MAX_PROCESSES ? [] : pids) {
    const name = `${path} ${pid}`;
    const open = host.openFiles(pid, openFiles.known(name));
    if (open === undefined) continue;
    openFiles.note(name, open);
    fileDescriptors += open.descriptors;
    if (open.sockets === undefined) sockets = undefined;
    else if (sockets !== undefined) sockets += open.sockets;
  }
  const [first] = pids;
  const readLimit = () => parseOpenFilesLimit(host.readKernel(`/proc/${first}/limits`));
  const maxOpenFiles = first === undefined ? undefined : limits.get(path, readLimit);
  return {
    processes: pids.length,
    ...(pids.length > MAX_PROCESSES
      ? {}
      : { fileDescriptors, ...(sockets === undefined ? {} : { sockets }) }),
    ...(maxOpenFiles === undefined ? {} : { maxOpenFiles }),
  };
}
