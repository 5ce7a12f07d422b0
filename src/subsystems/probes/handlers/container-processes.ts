import { allValues, inParallel } from "../../../kit/in-parallel.ts";
import type { Host } from "../../../outside/host/host.ts";
import type { ContainerProcesses } from "./exec-guard.ts";
import { type ContainerProcess, TICKS_PER_SECOND } from "./exec-tree.ts";

interface ProcessPorts {
  readonly host: Pick<Host, "process" | "killProcess" | "readKernel">;
  /** Numbers of the processes in the pod's cgroup. */
  readonly podProcesses: (podUid: string) => Promise<readonly number[]>;
  /** Name of the container's cgroup at a path; `undefined` where there is none. */
  readonly containerGroupAt: (path: string) => string | undefined;
}

/** Processes that are read about at once. */
const MAX_AT_ONCE = 32;

/** Processes of containers, from the kernel's own files. */
export function containerProcesses(ports: ProcessPorts): ContainerProcesses {
  const { host, podProcesses, containerGroupAt } = ports;
  const describe = async (pid: number, containerId: string) => {
    const facts = await host.process(pid);
    if (!facts) return undefined;
    const isIn = Object.values(facts.cgroups).some((path) =>
      containerGroupAt(path)?.includes(containerId),
    );
    if (!isIn) return undefined;
    const command = (host.readKernel(`/proc/${pid}/cmdline`) ?? "").replaceAll("\0", " ").trim();
    return { ...facts, command } satisfies ContainerProcess;
  };
  return {
    nowTicks: () =>
      Math.floor(parseFloat(host.readKernel("/proc/uptime") ?? "0") * TICKS_PER_SECOND),
    of: async (podUid, containerId) => {
      const pids = await podProcesses(podUid);
      const all = await inParallel(pids, MAX_AT_ONCE, (pid) => describe(pid, containerId));
      return allValues(all).filter((process) => process !== undefined);
    },
    kill: (process) => host.killProcess(process),
    isUncollected: async ({ pid, startTicks }) => {
      const facts = await host.process(pid);
      return facts?.startTicks === startTicks && facts.state === "Z";
    },
  };
}
