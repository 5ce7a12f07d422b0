// pure
/** Who has which CPUs: all that are left are shared by everybody else. */
import type { PodUid } from "../../api/pod-identity.ts";

/** CPUs of one pod by container. */
export type PodCpus = ReadonlyMap<string, readonly number[]>;

/** The shared pool and the CPUs of containers that have some for themselves; lists ascending. Never changed, only replaced. */
export interface CpuState {
  readonly shared: readonly number[];
  readonly pods: ReadonlyMap<PodUid, PodCpus>;
  /** All CPUs of pods that have some as a whole; their containers have parts of these, those that share have the same part. */
  readonly wholePods?: ReadonlyMap<PodUid, readonly number[]>;
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
  return { ...state, shared: state.shared.filter((cpu) => !gone.has(cpu)), pods };
}

/** Gives CPUs of the shared pool to a pod as a whole, and parts of them to its containers. */
export function withWholePod(
  state: CpuState,
  uid: PodUid,
  cpus: readonly number[],
  containers: PodCpus,
): CpuState {
  const gone = new Set(cpus);
  return {
    shared: state.shared.filter((cpu) => !gone.has(cpu)),
    pods: new Map(state.pods).set(uid, containers),
    wholePods: new Map(state.wholePods).set(uid, cpus),
  };
}

/** Everything that the pod has goes back to the shared pool. */
export function withoutPod(state: CpuState, uid: PodUid): CpuState {
  const pod = state.pods.get(uid);
  const whole = state.wholePods?.get(uid) ?? [];
  if (!pod && whole.length === 0) return state;
  const pods = new Map(state.pods);
  pods.delete(uid);
  const freed = [...(pod?.values() ?? [])].flat();
  const shared = sortedCpus([...state.shared, ...freed, ...whole]);
  if (!state.wholePods) return { shared, pods };
  const wholePods = new Map(state.wholePods);
  wholePods.delete(uid);
  return wholePods.size === 0 ? { shared, pods } : { shared, pods, wholePods };
}

/** CPUs of all containers of all pods, and of pods as a whole. */
export function exclusiveCpus({ pods, wholePods }: CpuState): ReadonlySet<number> {
  const ofContainers = [...pods.values()].flatMap((pod) => [...pod.values()].flat());
  return new Set([...ofContainers, ...[...(wholePods?.values() ?? [])].flat()]);
}

/** Distinct, ascending. */
export function sortedCpus(cpus: Iterable<number>): readonly number[] {
  return [...new Set(cpus)].sort((a, b) => a - b);
}
