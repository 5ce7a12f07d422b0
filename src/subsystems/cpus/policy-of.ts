// pure
/** The static policy that a configuration asks for on a machine. */
import type { MachineTopology } from "../../api/node/machine-topology.ts";
import { parseCpuList } from "../../config/cpu-list.ts";
import { deriveReservations } from "../../config/derive.ts";
import { gatesInForce } from "../../config/gates/feature-gates.ts";
import type { KubeletConfig } from "../../config/kubelet-config.ts";
import { podLevelOf } from "../../config/topology.ts";
import { UsageError } from "../../kit/errors.ts";
import { reservedCpus } from "./initial-state.ts";
import { cpuOptionsOf } from "./options.ts";
import type { StaticPolicy } from "./static-policy.ts";
import { unitsOf } from "./take/units.ts";

/** Throws `UsageError` where the machine cannot be what is asked for. */
export function staticPolicyOf(config: KubeletConfig, machine: MachineTopology): StaticPolicy {
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
  const gates = gatesInForce(config);
  return {
    units,
    nodes: machine.nodes.map(({ id }) => id),
    reserved: reserved.cpus,
    options,
    resizes: gates.isEnabled("InPlacePodVerticalScalingExclusiveCPUs"),
    podLevel: podLevelOf(config),
  };
}
