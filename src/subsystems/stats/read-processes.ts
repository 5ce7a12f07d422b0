import type { Host } from "../../outside/host/host.ts";
import type { ProcessFigures } from "./figures.ts";
import type { Held } from "./held.ts";
import { parseOpenFilesLimit, pidsOf } from "./parse.ts";

/** Processes of one container that are looked into; of one with more only their number is known. */
const MAX_PROCESSES = 1_000;

/** Limits of open files of containers, which rarely change, by the container's group. */
export type HeldFileLimits = Held<number | undefined>;

/** The processes in a container's group and what they have open; `undefined` when it is not there. */
export function readProcesses(
  host: Pick<Host, "cgroups" | "openFiles" | "readKernel">,
  path: string,
  limits: HeldFileLimits,
): ProcessFigures | undefined {
  const [text] = host.cgroups.readNow(path, ["cgroup.procs"]);
  if (text === undefined) return undefined;
  const pids = pidsOf(text);
  let fileDescriptors = 0;
  let sockets: number | undefined = 0;
  for (const pid of pids.length > MAX_PROCESSES ? [] : pids) {
    const open = host.openFiles(pid);
    if (open === undefined) continue;
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
