import { GRPC_STATUS, GrpcError } from "./status.ts";

/** Header fields by name. */
type Fields = Readonly<Record<string, string | string[] | undefined>>;

/** What the end of an answer is judged by. */
interface GrpcReplyHead {
  /** The status of HTTP. */
  readonly status: number;
  readonly headers: Fields;
  /** Empty when there are none. */
  readonly trailers: Fields;
}

/** gRPC status for answers that are no gRPC (grpc/doc/http-grpc-status-mapping.md). */
const STATUS_OF_HTTP: Readonly<Record<number, number>> = {
  400: GRPC_STATUS.Internal,
  401: GRPC_STATUS.Unauthenticated,
  403: GRPC_STATUS.PermissionDenied,
  404: GRPC_STATUS.Unimplemented,
  429: GRPC_STATUS.Unavailable,
  502: GRPC_STATUS.Unavailable,
  503: GRPC_STATUS.Unavailable,
  504: GRPC_STATUS.Unavailable,
};

/** The status of an answer that has come to its end; undefined for OK. */
export function errorOfReply({
  status: http,
  headers,
  trailers,
}: GrpcReplyHead): GrpcError | undefined {
  // Without a body the status comes with the headers.
  const status = trailers["grpc-status"] ?? headers["grpc-status"];
  if (status === "0") return undefined;
  if (status !== undefined) {
    const message = trailers["grpc-message"] ?? headers["grpc-message"];
    return new GrpcError(Number(status), percentDecoded(message));
  }
  if (http !== 200) {
    const text = `unexpected HTTP status code received from server: ${http}`;
    return new GrpcError(STATUS_OF_HTTP[http] ?? GRPC_STATUS.Unknown, text);
  }
  const type = textOf(headers["content-type"]);
  return type.startsWith("application/grpc")
    ? new GrpcError(GRPC_STATUS.Internal, "server closed the stream without sending trailers")
    : new GrpcError(
        GRPC_STATUS.Unknown,
        `transport: received unexpected content-type ${JSON.stringify(type)}`,
      );
}

function percentDecoded(message: string | string[] | undefined): string {
  const text = textOf(message);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(", ") : (value ?? "");
}
