// pure

/** Class of a failure of the outside world; callers decide on this, never on texts. */
export type OutsideCode =
  | "notFound"
  | "alreadyExists"
  | "invalid"
  | "denied"
  | "exhausted"
  | "deadline"
  | "unavailable"
  | "aborted"
  | "unimplemented"
  | "precondition"
  | "io";

/**
 * A failure of something outside the process: runtime, kernel, file system, network.
 * `retryable` says whether the same call may succeed later without anybody changing anything.
 */
export class OutsideError extends Error {
  readonly code: OutsideCode;
  readonly retryable: boolean;

  constructor(
    code: OutsideCode,
    message: string,
    options: { cause?: unknown; retryable?: boolean } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "OutsideError";
    this.code = code;
    this.retryable =
      options.retryable ?? (code === "unavailable" || code === "deadline" || code === "exhausted");
  }
}

/** A broken promise of our own code. Never caught below the owner of the state it concerns. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Something the user gave us cannot be used; the message names the place and the fix. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Throws `InvariantError` when `condition` does not hold. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The message without the status that gRPC puts in front: `rpc error: code = NotFound desc = `. */
export function plainMessageOf(thrown: unknown): string {
  return messageOf(thrown).replace(/^rpc error: code = \S+ desc = /, "");
}

/** A message without its figures: to compare causes independent of times and counts. */
export function withoutFigures(message: string): string {
  return message.replace(/\d+/g, "#");
}

/** Whether `thrown` is an `OutsideError` with one of `codes`. */
export function isOutside(
  thrown: unknown,
  ...codes: readonly OutsideCode[]
): thrown is OutsideError {
  return thrown instanceof OutsideError && (codes.length === 0 || codes.includes(thrown.code));
}
