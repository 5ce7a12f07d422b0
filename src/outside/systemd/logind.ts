/**
 * systemd-logind as what delays a shutdown of the machine by inhibitor locks of the mode "delay"
 * (https://systemd.io/INHIBITOR_LOCKS/). `connect-logind.ts` talks to it by D-Bus; simulations bring their own.
 */

/** A lock that delays shutdowns as long as it is held, at most for `inhibitDelayMs`. */
export interface InhibitorLock {
  /** Lets a shutdown go on. Idempotent. */
  release(): void;
  /** Resolves when the lock is held no more, released or lost. */
  readonly gone: Promise<void>;
}

/** A connection to logind. Every call may throw `OutsideError`. */
export interface LogindSession {
  /** Longest time by which locks delay a shutdown, in milliseconds (`InhibitDelayMaxSec`). */
  inhibitDelayMs(): Promise<number>;
  /** Whether a shutdown has begun and waits for locks. */
  isPreparingForShutdown(): Promise<boolean>;
  /** Has logind read its configuration files again; it may take a moment beyond the answer. */
  reload(): Promise<void>;
  /** Takes a lock; `who` and `why` are shown by `systemd-inhibit --list`. */
  inhibit(who: string, why: string, signal: AbortSignal): Promise<InhibitorLock>;
  /** Resolves when the connection is lost or closed. Locks outlive it. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Way to logind of this machine. */
export interface Logind {
  /**
   * Connects. `onShutdown` is called with `true` when a shutdown begins, with `false` when it is cancelled. Throws
   * `OutsideError`, "unavailable" where there is no logind.
   */
  open(onShutdown: (begins: boolean) => void, signal: AbortSignal): Promise<LogindSession>;
}
