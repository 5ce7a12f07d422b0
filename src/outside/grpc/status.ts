// pure
import { isOutside, type OutsideCode, OutsideError } from "../../kit/errors.ts";

interface StatusRow {
  /** Go's spelling of the code, as it stands in texts that users know. */
  readonly name: string;
  readonly code: OutsideCode;
}

/** gRPC status codes by number (grpc/doc/statuscodes.md). */
const STATUS: readonly StatusRow[] = [
  { name: "OK", code: "io" },
  { name: "Canceled", code: "aborted" },
  { name: "Unknown", code: "io" },
  { name: "InvalidArgument", code: "invalid" },
  { name: "DeadlineExceeded", code: "deadline" },
  { name: "NotFound", code: "notFound" },
  { name: "AlreadyExists", code: "alreadyExists" },
  { name: "PermissionDenied", code: "denied" },
  { name: "ResourceExhausted", code: "exhausted" },
  { name: "FailedPrecondition", code: "precondition" },
  { name: "Aborted", code: "aborted" },
  { name: "OutOfRange", code: "invalid" },
  { name: "Unimplemented", code: "unimplemented" },
  { name: "Internal", code: "io" },
  { name: "Unavailable", code: "unavailable" },
  { name: "DataLoss", code: "io" },
  { name: "Unauthenticated", code: "denied" },
];

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
    const row = STATUS[status];
    super(
      row?.code ?? "io",
      `rpc error: code = ${row?.name ?? `Code(${status})`} desc = ${details}`,
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
      typeof code === "number" ? code : 2,
      typeof details === "string" ? details : String(message ?? thrown),
      thrown,
    );
  }
}

const UNKNOWN = 2;

/**
 * Whether the server lacks a method that it may lack. containerd 2.2 answers UpdatePodSandboxResources with
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
