// pure
/** Who has which CPUs: all that are left are shared by everybody else. */
import type { PodUid } from "../../api/pod-identity.ts";

/** CPUs of one pod by container. */
export type PodCpus = ReadonlyMap<string, readonly number[]>;

/** The shared pool and the CPUs of containers that have some for themselves; lists ascending. Never changed, only replaced. */
export interface CpuState {
  readonly shared: readonly number[];
  readonly pods: ReadonlyMap<PodUid, PodCpus>;
}

/** Gives CPUs of the shared pool, or of the pod's own, to a container. */
export function withContainer(
  state: CpuState,
  uid: PodUid,
  container: string,
  cpus: readonly number[],
): CpuState {
  const gone = new Set(cpus);
  const pods = new Map(state.pods);
  pods.set(uid, new Map(state.pods.get(uid)).set(container, cpus));
  return { shared: state.shared.filter((cpu) => !gone.has(cpu)), pods };
}

/** Everything that the pod has goes back to the shared pool. */
export function withoutPod(state: CpuState, uid: PodUid): CpuState {
  const pod = state.pods.get(uid);
  if (!pod) return state;
  const pods = new Map(state.pods);
  pods.delete(uid);
  return { shared: sortedCpus([...state.shared, ...[...pod.values()].flat()]), pods };
}

/** CPUs of all containers of all pods. */
export function exclusiveCpus({ pods }: CpuState): ReadonlySet<number> {
  return new Set([...pods.values()].flatMap((pod) => [...pod.values()].flat()));
}

/** Distinct, ascending. */
export function sortedCpus(cpus: Iterable<number>): readonly number[] {
  return [...new Set(cpus)].sort((a, b) => a - b);
}
