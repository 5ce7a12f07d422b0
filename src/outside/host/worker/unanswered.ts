// pure
import type { MonotonicMs } from "../../../kit/clock.ts";
import { type MountEntry, mountOf } from "../mounts/parse-mountinfo.ts";

/**
 * File systems whose requests have gone unanswered. The rule is that of a circuit breaker: after one request
 * ran into its limit, further ones for the same place fail at once, until the process that was left behind has
 * returned from its system call and a pause is over; then one request tries again.
 */

/** Part of the machine's files that answers or hangs as a whole. */
export interface Place {
  readonly path: string;
  /** Everything below `path` is part of it; else only `path` itself. */
  readonly below: boolean;
}

/** A place that does not answer. */
export interface Unanswered {
  readonly place: Place;
  /** The file system there, as messages name it: `fuse.sshfs at /mnt/data`. */
  readonly shown: string;
  readonly since: MonotonicMs;
  /** Workers in a system call that has not returned. */
  readonly stuck: number;
  /** Requests that ran into their limit since the place last answered. */
  readonly failures: number;
  /** No request before this. */
  readonly retryAt: MonotonicMs;
}

/** Pause before a place that does not answer is tried again; doubled with each failure. */
export const RETRY_MS = { initial: 5_000, max: 60_000 } as const;

/** File systems of this machine alone: one slow request is independent of the others. */
const LOCAL_TYPES: ReadonlySet<string> = new Set([
  ...["overlay", "tmpfs", "ramfs", "hugetlbfs", "devtmpfs", "rootfs", "aufs"],
  ...["zfs", "btrfs", "bcachefs", "proc", "sysfs", "cgroup", "cgroup2"],
]);

/**
 * The place that `path` belongs to, by the table of mounts alone. File systems over a network or in user space
 * hang as a whole; on a local disk only the very path is suspected.
 */
export function placeOf(
  path: string,
  mounts: readonly MountEntry[],
): Place & { readonly shown: string } {
  const mount = mountOf(mounts, path);
  if (mount === undefined) return { path, below: false, shown: path };
  const shown = `${mount.fsType} at ${mount.mountPoint}`;
  const isDisk = mount.source.startsWith("/dev/") && !mount.fsType.startsWith("fuse");
  const isLocal = LOCAL_TYPES.has(mount.fsType) || isDisk;
  if (isLocal || mount.mountPoint === "/") return { path, below: false, shown };
  return { path: mount.mountPoint, below: true, shown };
}

/** Whether `path` is part of `place`. */
export function isWithin(path: string, place: Place): boolean {
  if (path === place.path) return true;
  return place.below && path.startsWith(place.path === "/" ? "/" : `${place.path}/`);
}

/** State of `place` after another request timed out and left a worker behind. */
export function afterTimeout(
  known: Unanswered | undefined,
  { shown, ...place }: Place & { readonly shown: string },
  request: { readonly began: MonotonicMs; readonly now: MonotonicMs },
): Unanswered {
  const failures = (known?.failures ?? 0) + 1;
  const pause = Math.min(RETRY_MS.initial * 2 ** (failures - 1), RETRY_MS.max);
  return {
    place,
    shown,
    since: known?.since ?? request.began,
    stuck: (known?.stuck ?? 0) + 1,
    failures,
    retryAt: (request.now + pause) as MonotonicMs,
  };
}

/** How long after the last pause a place is still reported without requests. */
const FORGET_MS = 60_000;

/** Whether the place can be dropped: no process is stuck there and there was no request for long. */
export function isForgotten({ stuck, retryAt }: Unanswered, now: MonotonicMs): boolean {
  return stuck === 0 && now > retryAt + FORGET_MS;
}

/** Whether a request for the place may be made: no process is stuck there and the pause is over. */
export function mayTry({ stuck, retryAt }: Unanswered, now: MonotonicMs): boolean {
  return stuck === 0 && now >= retryAt;
}
