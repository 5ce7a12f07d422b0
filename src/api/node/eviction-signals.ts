// pure

/** Eviction signals. Source: pkg/kubelet/eviction/api. */
export const EVICTION_SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "containerfs.available",
  "containerfs.inodesFree",
  "allocatableMemory.available",
  "pid.available",
] as const;

/** A signal that eviction may be configured for. */
export type EvictionSignal = (typeof EVICTION_SIGNALS)[number];

/** Whether `name` is a signal. */
export function isEvictionSignal(name: string): name is EvictionSignal {
  return EVICTION_SIGNALS.some((signal) => signal === name);
}
