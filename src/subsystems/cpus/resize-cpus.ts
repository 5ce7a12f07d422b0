// pure
/**
 * Changes in place of containers that have CPUs for themselves: what they have stays with them as far as it can. The Go kubelet
 * changes the amounts and leaves the CPUs as they are.
 */
import type { PodUid } from "../../api/pod-identity.ts";
import { type CpuState, sortedCpus, withContainer } from "./cpu-state.ts";
import type { CpuOptions } from "./options.ts";
import type { Taken } from "./take/packed.ts";
import { takeNear } from "./take/take-cpus.ts";
import type { MachineUnits } from "./take/units.ts";

interface CpuResize {
  readonly units: MachineUnits;
  readonly options: CpuOptions;
  readonly held: readonly number[];
  readonly count: number;
  /** CPUs that may be taken beside those. */
  readonly available: readonly number[];
  /** NUMA nodes to stay close to; `undefined`: those of the CPUs that are held. */
  readonly nodes: readonly number[] | undefined;
}

/** The CPUs of a container that is to have so many now: some of those that it has, or all of them and others close by. */
export function resizedCpus(resize: CpuResize): Taken {
  const { units, options, held, count, available, nodes } = resize;
  if (count <= held.length) return takeNear(units, held, { count, nodes }, options);
  const missing = count - held.length;
  // With too few anywhere it is said how many there are in all.
  const near = missing > available.length ? undefined : (nodes ?? nodesOf(held, units));
  const more = takeNear(units, available, { count: missing, nodes: near }, options);
  return more.ok ? { ok: true, cpus: sortedCpus([...held, ...more.cpus]) } : more;
}

function nodesOf(cpus: readonly number[], units: MachineUnits): readonly number[] {
  return sortedCpus(cpus.map((cpu) => units.cpus.get(cpu)?.node ?? 0));
}

/** Gives a container other CPUs than it has; those that no container of the pod has any more are shared. */
export function withOtherCpus(
  state: CpuState,
  uid: PodUid,
  container: string,
  cpus: readonly number[],
): CpuState {
  return withContainer(withoutContainers(state, uid, [container]), uid, container, cpus);
}

/** Containers of the pod that have no CPUs for themselves any more. */
export function withoutContainers(
  state: CpuState,
  uid: PodUid,
  containers: readonly string[],
): CpuState {
  const held = state.pods.get(uid);
  const leaving = containers.filter((name) => held?.has(name));
  if (!held || leaving.length === 0) return state;
  const left = new Map([...held].filter(([name]) => !leaving.includes(name)));
  const kept = new Set([...left.values()].flat());
  const freed = leaving.flatMap((name) => held.get(name) ?? []).filter((cpu) => !kept.has(cpu));
  const pods = new Map(state.pods);
  if (left.size === 0) pods.delete(uid);
  else pods.set(uid, left);
  return { ...state, shared: sortedCpus([...state.shared, ...freed]), pods };
}

/** As the pod had it before, where that is still free. */
export function withPodAsBefore(state: CpuState, before: CpuState, uid: PodUid): CpuState {
  const now = withoutContainers(state, uid, [...(state.pods.get(uid)?.keys() ?? [])]);
  const held = before.pods.get(uid);
  const isFree = new Set(now.shared);
  if (!held || ![...held.values()].flat().every((cpu) => isFree.has(cpu)))
    return held ? state : now;
  let restored = now;
  for (const [name, cpus] of held) restored = withContainer(restored, uid, name, cpus);
  return restored;
}
