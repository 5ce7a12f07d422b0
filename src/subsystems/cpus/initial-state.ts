// pure
/** With which state the policy begins: a new one, or the one that was kept, where it fits machine and configuration. */

import { milliOf } from "../../api/text/quantity.ts";
import { formatCpuList } from "../../config/cpu-list.ts";
import { type CpuState, exclusiveCpus, sortedCpus } from "./cpu-state.ts";
import type { CpuOptions } from "./options.ts";
import type { StaticPolicy } from "./static-policy.ts";
import { takeCpus } from "./take/take-cpus.ts";
import type { MachineUnits } from "./take/units.ts";

/** What is kept from pods. */
interface CpuReservation {
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** CPUs named by `reservedSystemCPUs`; empty when none are. */
  readonly named: readonly number[];
}

/** The CPUs that are reserved, or why they cannot be. */
export function reservedCpus(
  units: MachineUnits,
  { systemReserved, kubeReserved, named }: CpuReservation,
  options: CpuOptions,
):
  | { readonly ok: true; readonly cpus: readonly number[] }
  | { readonly ok: false; readonly error: string } {
  const milli = milliOf(systemReserved["cpu"] ?? "0") + milliOf(kubeReserved["cpu"] ?? "0");
  const count = Math.ceil(milli / 1000);
  if (named.length > 0) {
    const missing = named.filter((cpu) => !units.cpus.has(cpu));
    if (missing.length === 0) return { ok: true, cpus: sortedCpus(named) };
    const [own, online] = [formatCpuList(sortedCpus(named)), formatCpuList([...units.cpus.keys()])];
    return { ok: false, error: `reserved-cpus: ${own} is not a subset of online-cpus: ${online}` };
  }
  const taken = takeCpus(units, units.cpus.keys(), count, options);
  if (taken.ok) return taken;
  const error = `[cpumanager] unable to reserve the required amount of CPUs: ${taken.error}`;
  return { ok: false, error };
}

/** All CPUs are shared; reserved ones only where pods may run on them. */
export function freshState({ units, reserved, options }: StaticPolicy): CpuState {
  const kept = new Set(options.strictReservation ? reserved : []);
  return { shared: [...units.cpus.keys()].filter((cpu) => !kept.has(cpu)), pods: new Map() };
}

/** Why a kept state does not fit; `undefined` when it does. */
export function misfitOf(policy: StaticPolicy, state: CpuState): string | undefined {
  const { reserved, options } = policy;
  const { shared, pods, wholePods = new Map<string, readonly number[]>() } = state;
  if (shared.length === 0 && pods.size === 0) return undefined;
  if (shared.length === 0) return "default cpuset cannot be empty";
  const isShared = new Set(shared);
  const [kept, pool] = [formatCpuList(reserved), formatCpuList(shared)];
  if (options.strictReservation) {
    const present = reserved.filter((cpu) => isShared.has(cpu));
    if (present.length > 0)
      return `some of strictly reserved cpus: "${formatCpuList(present)}" are present in defaultCpuSet: "${pool}"`;
  } else if (reserved.some((cpu) => !isShared.has(cpu))) {
    return `not all reserved cpus: "${kept}" are present in defaultCpuSet: "${pool}"`;
  }
  for (const [uid, containers] of pods)
    for (const [container, cpus] of containers)
      if (cpus.some((cpu) => isShared.has(cpu)))
        return `pod: ${uid}, container: ${container} cpuset: "${formatCpuList(cpus)}" overlaps with default cpuset "${pool}"`;
  for (const [uid, cpus] of wholePods)
    if (cpus.some((cpu) => isShared.has(cpu)))
      return `pod: ${uid} cpuset: "${formatCpuList(cpus)}" overlaps with default cpuset "${pool}"`;
  const expected = formatCpuList(freshState(policy).shared);
  const found = formatCpuList(sortedCpus([...shared, ...exclusiveCpus(state)]));
  return expected === found
    ? undefined
    : `current set of available CPUs "${expected}" doesn't match with CPUs in state "${found}"`;
}
