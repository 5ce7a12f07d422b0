// pure
import { isOutside, messageOf, type OutsideCode, OutsideError } from "../../kit/errors.ts";
import { GRPC_STATUS, GrpcError } from "../../outside/grpc/status.ts";

/**
 * What a failure says of the volume. `uncertain`: the driver may have done it, or may still be at it; `transient`:
 * nothing was begun; `final`: the driver refused, nothing is there.
 */
type CsiErrorClass = "uncertain" | "transient" | "final";

/** A failure of a step on a volume, with what it says of the volume. */
export class CsiError extends OutsideError {
  readonly says: CsiErrorClass;

  constructor(says: CsiErrorClass, message: string, cause?: unknown) {
    super(codeOf(cause), message, cause === undefined ? {} : { cause });
    this.name = "CsiError";
    this.says = says;
  }
}

function codeOf(cause: unknown): OutsideCode {
  return isOutside(cause) ? cause.code : "precondition";
}

/** Statuses after which the driver may still be at work (csi_client.go isFinalError). */
const UNCERTAIN: ReadonlySet<number> = new Set([
  GRPC_STATUS.Canceled,
  GRPC_STATUS.DeadlineExceeded,
  GRPC_STATUS.Unavailable,
  GRPC_STATUS.ResourceExhausted,
  GRPC_STATUS.Aborted,
]);

/** The failure of a call to a driver: its text stays, with `before` in front. */
export function failedCall(thrown: unknown, before = ""): CsiError {
  const isFinal = thrown instanceof GrpcError && !UNCERTAIN.has(thrown.status);
  return new CsiError(isFinal ? "final" : "uncertain", before + messageOf(thrown), thrown);
}

/** Nothing was begun. */
export const transient = (message: string, cause?: unknown): CsiError =>
  new CsiError("transient", message, cause);

/** The class of anything that was thrown: what is not a driver's is `final`. */
export function classOf(thrown: unknown): CsiErrorClass {
  return thrown instanceof CsiError ? thrown.says : "final";
}

/** The gRPC status of a failure; `undefined` of one that no driver answered. */
export function statusOf(thrown: unknown): number | undefined {
  if (thrown instanceof GrpcError) return thrown.status;
  return thrown instanceof CsiError && thrown.cause !== undefined
    ? statusOf(thrown.cause)
    : undefined;
}
