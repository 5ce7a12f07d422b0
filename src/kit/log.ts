/**
 * Values that go with a log line. What is wrong is always called `error`, be it anything that was thrown or a text; it
 * is written as `err`, as the Go kubelet does.
 */
export type LogFields = Readonly<Record<string, unknown>> & {
  readonly err?: never;
  readonly problem?: never;
};

/**
 * Structured logging with klog's verbosity: 0 is always logged, 2 is the usual level of a node in
 * service, 4 and more is for finding faults. Never log contents of secrets or credentials.
 */
export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** Logged only at verbosity `level` (1..10) and above. */
  verbose(level: number, message: string, fields?: LogFields): void;
  /** Whether `verbose(level, …)` would log; guards expensive fields. */
  enabled(level: number): boolean;
  /** A log whose lines carry `logger=name` and `fields`. */
  child(name: string, fields?: LogFields): Log;
}

/** Discards everything. */
export const silentLog: Log = {
  error: () => {},
  warn: () => {},
  info: () => {},
  verbose: () => {},
  enabled: () => false,
  child: () => silentLog,
};
