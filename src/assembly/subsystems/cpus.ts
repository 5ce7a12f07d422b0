import { deriveRootLayout } from "../../config/derive.ts";
import { offlineCpus, readMachineTopology } from "../../config/machine/read-machine.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import { ExclusiveCpus, staticPolicyOf } from "../../subsystems/cpus/cpus.ts";
import type { Journal } from "../../subsystems/journal/journal.ts";
import type { Foundation } from "../foundation.ts";

/** The CPU manager, with what was granted before a restart. Throws `UsageError`. */
export async function assembleCpus(
  base: Foundation,
  { runtime, journal }: { readonly runtime: RuntimeService; readonly journal: Journal },
): Promise<ExclusiveCpus> {
  const { options, outside, scope, state, metrics, podFacts } = base;
  const { config, rootFolder } = options;
  const { clock, host } = outside;
  const read = (path: string) => host.readKernel(path);
  const isStatic = config.cpuManagerPolicy === "static";
  const cpus = new ExclusiveCpus(
    {
      policy: isStatic ? staticPolicyOf(config, readMachineTopology(read)) : undefined,
      file: deriveRootLayout(rootFolder, config.podLogsDir).state.cpuManager,
      retryMs: config.cpuManagerReconcilePeriod,
    },
    {
      state,
      clock,
      scope,
      metrics,
      log: outside.log.child("cpus"),
      pods: podFacts,
      decisions: journal,
      machine: () => ({ topology: readMachineTopology(read), offline: offlineCpus(read) }),
      update: (id, cpusetCpus, signal) => runtime.updateContainer(id, { cpusetCpus }, signal),
    },
  );
  await cpus.start();
  return cpus;
}
