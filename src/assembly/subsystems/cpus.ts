import { deriveReservations, deriveRootLayout } from "../../config/derive.ts";
import { readMachineTopology } from "../../config/machine/read-machine.ts";
import { parseCpuList } from "../../config/validation/cpu-list.ts";
import { UsageError } from "../../kit/errors.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import {
  cpuOptionsOf,
  ExclusiveCpus,
  reservedCpus,
  type StaticPolicy,
  unitsOf,
} from "../../subsystems/cpus/cpus.ts";
import type { Journal } from "../../subsystems/journal/journal.ts";
import type { Foundation } from "../foundation.ts";

/** The CPU manager, with what was granted before a restart. Throws `UsageError`. */
export async function assembleCpus(
  base: Foundation,
  { runtime, journal }: { readonly runtime: RuntimeService; readonly journal: Journal },
): Promise<ExclusiveCpus> {
  const { options, outside, scope, state, metrics, podFacts } = base;
  const { config, rootFolder } = options;
  const { clock } = outside;
  const cpus = new ExclusiveCpus(
    {
      policy: config.cpuManagerPolicy === "static" ? staticPolicy(base) : undefined,
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
      update: (id, cpusetCpus, signal) => runtime.updateContainer(id, { cpusetCpus }, signal),
    },
  );
  await cpus.start();
  return cpus;
}

function staticPolicy({ options: { config }, outside: { host } }: Foundation): StaticPolicy {
  const machine = readMachineTopology((path) => host.readKernel(path));
  const units = unitsOf(machine);
  const options = cpuOptionsOf(config.cpuManagerPolicyOptions);
  if (options.alignSockets && units.socket.length > units.node.length)
    throw new UsageError(
      "cpuManagerPolicyOptions[align-by-socket]: Align by socket is not compatible with hardware where number of sockets are more than number of NUMA; remove the option",
    );
  const named = parseCpuList(config.reservedSystemCPUs);
  const reserved = reservedCpus(
    units,
    { ...deriveReservations(config), named: named.ok ? named.cpus : [] },
    options,
  );
  if (!reserved.ok)
    throw new UsageError(
      `cpuManagerPolicy: static: ${reserved.error}; lower kubeReserved[cpu] and systemReserved[cpu], or name CPUs that are online in reservedSystemCPUs`,
    );
  return { units, nodes: machine.nodes.map(({ id }) => id), reserved: reserved.cpus, options };
}
