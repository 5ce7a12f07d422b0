import { closeSync, constants, openSync, watch, writeSync } from "node:fs";
import { release } from "node:os";

/**
 * Tasks waited for memory for a tenth of two seconds. Windows of other lengths need CAP_SYS_RESOURCE
 * (Documentation/accounting/psi.rst).
 */
const STALL_TRIGGER = "some 200000 2000000";

/** Since this version the kernel reports such waits of a cgroup through inotify, too. */
const NOTIFYING_KERNEL = [6, 5] as const;

/** Groups whose memory is watched, as folders of a cgroup v2 mount. */
interface WatchedMemory {
  /** Its tasks wait for memory (`memory.pressure`). */
  readonly stalls: string;
  /** Its own limit is reached (`memory.events.local`). */
  readonly limit?: string;
}

/**
 * Calls `onPressure` when the kernel reports that memory is short. Returns the names of the files that it is known to
 * report through; that one is missing is no error. Ends with `signal`, or with the groups.
 */
export function watchMemoryFiles(
  { stalls, limit }: WatchedMemory,
  onPressure: () => void,
  signal: AbortSignal,
): readonly string[] {
  if (signal.aborted) return [];
  const isWatched = (path: string, trigger?: string) => {
    const close = watchFile(path, trigger, onPressure);
    if (close) signal.addEventListener("abort", close, { once: true });
    return close !== undefined;
  };
  const hasLimit = limit !== undefined && isWatched(`${limit}/memory.events.local`);
  const hasStalls = isWatched(`${stalls}/memory.pressure`, STALL_TRIGGER);
  return [
    ...(hasLimit ? ["memory.events.local"] : []),
    ...(hasStalls && isNotifyingKernel(release()) ? ["memory.pressure"] : []),
  ];
}

/** Whether waits for memory are reported through inotify by the kernel of this release. */
export function isNotifyingKernel(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split(".").map(Number);
  const [fromMajor, fromMinor] = NOTIFYING_KERNEL;
  return major > fromMajor || (major === fromMajor && minor >= fromMinor);
}

/** Watches one file and returns what ends that; `undefined` where the kernel refuses. */
function watchFile(
  path: string,
  trigger: string | undefined,
  onPressure: () => void,
): (() => void) | undefined {
  const descriptor = trigger === undefined ? undefined : armTrigger(path, trigger);
  if (trigger !== undefined && descriptor === undefined) return undefined;
  const closeTrigger = () => {
    if (descriptor !== undefined) closeSync(descriptor);
  };
  try {
    const watcher = watch(path, { persistent: false });
    watcher.on("close", closeTrigger);
    watcher.on("error", () => watcher.close());
    // Any other event says that the group is gone.
    watcher.on("change", (event) => (event === "change" ? onPressure() : watcher.close()));
    return () => watcher.close();
  } catch {
    closeTrigger();
    return undefined;
  }
}

/** The trigger lasts as long as the descriptor is open. */
function armTrigger(path: string, trigger: string): number | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDWR);
    writeSync(descriptor, trigger);
    return descriptor;
  } catch {
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }
}
