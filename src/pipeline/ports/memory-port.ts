/** Port for the kernel's counters of pod-level memory limits. */
import type { Outside } from "../../outside/outside.ts";
import type { Cgroups } from "../../subsystems/cgroups/cgroups.ts";
import type { PodPorts } from "../pods/ports.ts";

interface MemoryPortDeps {
  readonly outside: Pick<Outside, "host">;
  readonly cgroups: Pick<Cgroups, "podPath">;
}

/**
 * Counters of the pod's own group. Those of its containers cannot be read any more when their end is observed: the
 * runtime has removed the groups.
 */
export function memoryPort({ outside, cgroups }: MemoryPortDeps): PodPorts["memory"] {
  return {
    limitHits: (pod) => {
      const tree = outside.host.cgroups;
      const path = cgroups.podPath(pod);
      const isV2 = tree.version === 2;
      const [text] = tree.readNow(path, [isV2 ? "memory.events.local" : "memory.failcnt"]);
      const digits = (isV2 ? /^oom (\d+)$/m : /^(\d+)\s*$/).exec(text ?? "")?.[1];
      return digits === undefined ? undefined : { count: Number(digits), exact: isV2 };
    },
  };
}
