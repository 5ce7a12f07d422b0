// pure
import { isOutside, type OutsideCode, OutsideError } from "../../kit/errors.ts";

/** gRPC status codes (grpc/doc/statuscodes.md). */
export const GRPC_STATUS = {
  OK: 0,
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;

/** Go's spelling of a code, as it stands in texts that users know. */
type StatusName = keyof typeof GRPC_STATUS;

const OUTSIDE_CODES: Readonly<Record<StatusName, OutsideCode>> = {
  OK: "io",
  Canceled: "aborted",
  Unknown: "io",
  InvalidArgument: "invalid",
  DeadlineExceeded: "deadline",
  NotFound: "notFound",
  AlreadyExists: "alreadyExists",
  PermissionDenied: "denied",
  ResourceExhausted: "exhausted",
  FailedPrecondition: "precondition",
  Aborted: "aborted",
  OutOfRange: "invalid",
  Unimplemented: "unimplemented",
  Internal: "io",
  Unavailable: "unavailable",
  DataLoss: "io",
  Unauthenticated: "denied",
};

/** Names in the order of their numbers. */
const NAMES = Object.keys(GRPC_STATUS) as readonly StatusName[];

/**
 * A call that ended with another status than OK. The message is Go's
 * (`rpc error: code = NotFound desc = …`), because events and status messages of the Go kubelet carry it.
 */
export class GrpcError extends OutsideError {
  override readonly name = "GrpcError";
  /** The number of the gRPC status. */
  readonly status: number;
  /** Message of the server or the client library. */
  readonly details: string;

  constructor(status: number, details: string, cause?: unknown) {
    const name = NAMES[status];
    super(
      name === undefined ? "io" : OUTSIDE_CODES[name],
      `rpc error: code = ${name ?? `Code(${status})`} desc = ${details}`,
      cause === undefined ? {} : { cause },
    );
    this.status = status;
    this.details = details;
  }

  /** From the client library's error; anything without a status counts as Unknown. */
  static from(thrown: unknown): GrpcError {
    const { code, details, message } = (thrown ?? {}) as {
      readonly code?: unknown;
      readonly details?: unknown;
      readonly message?: unknown;
    };
    return new GrpcError(
      typeof code === "number" ? code : GRPC_STATUS.Unknown,
      typeof details === "string" ? details : String(message ?? thrown),
      thrown,
    );
  }
}

/** Go's name of a status (`NotFound`), as metrics have it; `OK` of no error, `Unknown` of one without a status. */
export function grpcStatusName(error?: unknown): string {
  if (error === undefined) return "OK";
  const status = error instanceof GrpcError ? error.status : UNKNOWN;
  return NAMES[status] ?? `Code(${status})`;
}

const UNKNOWN = 2;

/**
 * Whether the server has no such method, where that is allowed. containerd 2.2 answers UpdatePodSandboxResources with
 * Unknown and "not implemented yet"; other methods may say so as well where nothing else can be meant.
 */
export function isUnimplemented(thrown: unknown): boolean {
  if (isOutside(thrown, "unimplemented")) return true;
  return (
    thrown instanceof GrpcError &&
    thrown.status === UNKNOWN &&
    thrown.details.includes("not implemented")
  );
}
