import type { Reading } from "../../kit/cell.ts";
import { messageOf } from "../../kit/errors.ts";
import { GrpcCall, type GrpcCallRequest } from "./call.ts";
import { GrpcConnection, type GrpcLink, type GrpcTarget } from "./link.ts";
import { GRPC_STATUS, GrpcError } from "./status.ts";

export type { GrpcLink, GrpcTarget };

/** One method of a generated service definition (ts-proto `generic-definitions`), as far as a call needs it. */
export interface GrpcMethod<Request, Response> {
  /** The method's name on the wire, e.g. `ListContainers`. */
  readonly name: string;
  readonly requestType: { encode(message: Request): { finish(): Uint8Array } };
  readonly responseType: { decode(input: Uint8Array): Response };
}

/** How long a call may take, and who may end it early. */
export interface GrpcCallOptions {
  /** Milliseconds until the call ends with `deadline`; none when left out. Sent to the server too. */
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
  /** Headers sent with the call. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One connection to one gRPC server, recreated whenever it breaks. */
export interface GrpcChannel {
  /**
   * Calls a method with one request and one response. Throws `GrpcError` for every status but OK, and
   * the signal's reason once that is aborted. While the link is `broken` it fails at once (`unavailable`).
   */
  unary<Request, Response>(
    method: GrpcMethod<Request, Response>,
    serviceFullName: string,
    request: NoInfer<Request>,
    options: GrpcCallOptions,
  ): Promise<Response>;
  /**
   * Calls a method that answers with a stream. The call starts with the first read, is cancelled when
   * the reader leaves, and throws as `unary` does; it returns when the server ends the stream with OK.
   */
  serverStream<Request, Response>(
    method: GrpcMethod<Request, Response>,
    serviceFullName: string,
    request: NoInfer<Request>,
    options: GrpcCallOptions,
  ): AsyncIterable<Response>;
  readonly state: Reading<GrpcLink>;
  /** Ends the connection; calls under way end with `aborted` or `unavailable`. */
  close(): void;
}

/** Opens a channel and starts connecting. The caller closes it. */
export function openChannel(target: GrpcTarget): GrpcChannel {
  const connection = new GrpcConnection(target);
  return {
    unary: (method, service, request, call) =>
      callUnary(connection, { method, service, request }, call),
    serverStream: (method, service, request, call) =>
      readStream(connection, { method, service, request }, call),
    state: connection.state,
    close: () => connection.close(),
  };
}

/** What is asked, and how the answer is read. */
interface Question<Request, Response> {
  readonly method: GrpcMethod<Request, Response>;
  readonly service: string;
  readonly request: Request;
}

function callUnary<Request, Response>(
  connection: GrpcConnection,
  question: Question<Request, Response>,
  options: GrpcCallOptions,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    options.signal.throwIfAborted();
    let answer: Uint8Array | undefined;
    let answers = 0;
    new GrpcCall(connection, encoded(question, options), {
      message: (bytes) => {
        // Of a server that does not stop only the first is kept.
        answer ??= bytes;
        answers += 1;
      },
      end: (error) => {
        if (error) reject(error);
        else if (answer === undefined || answers > 1)
          reject(
            new GrpcError(GRPC_STATUS.Internal, `the server sent ${answers} answers to one call`),
          );
        else settle(answer);
      },
    });
    const settle = (answer: Uint8Array) => {
      try {
        resolve(decoded(question.method, answer));
      } catch (error) {
        reject(error);
      }
    };
  });
}

async function* readStream<Request, Response>(
  connection: GrpcConnection,
  question: Question<Request, Response>,
  options: GrpcCallOptions,
): AsyncGenerator<Response, void, void> {
  const { signal } = options;
  signal.throwIfAborted();
  const received: Uint8Array[] = [];
  let wake = () => {};
  let end: { readonly error: Error | undefined } | undefined;
  const call = new GrpcCall(connection, encoded(question, options), {
    message: (bytes) => {
      received.push(bytes);
      // The server is held up when the reader is.
      call.pause();
      wake();
    },
    end: (error) => {
      end = { error };
      wake();
    },
  });
  try {
    for (;;) {
      for (let bytes = received.shift(); bytes; bytes = received.shift()) {
        yield decoded(question.method, bytes);
        signal.throwIfAborted();
      }
      if (end?.error) throw end.error;
      if (end) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        call.resume();
      });
    }
  } finally {
    call.cancel();
  }
}

function encoded<Request>(
  { method, service, request }: Question<Request, unknown>,
  { headers = {}, timeoutMs, signal }: GrpcCallOptions,
): GrpcCallRequest {
  const message = method.requestType.encode(request).finish();
  return { path: `/${service}/${method.name}`, message, headers, timeoutMs, signal };
}

function decoded<Response>(method: GrpcMethod<never, Response>, bytes: Uint8Array): Response {
  try {
    return method.responseType.decode(bytes);
  } catch (error) {
    const details = `grpc: failed to unmarshal the received message: ${messageOf(error)}`;
    throw new GrpcError(GRPC_STATUS.Internal, details, error);
  }
}
