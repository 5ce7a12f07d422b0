import {
  type ChannelOptions,
  Client,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { Cell, type Reading } from "../../kit/cell.ts";
import { onAbort } from "../../kit/on-abort.ts";
import { GrpcError } from "./status.ts";

export { GrpcError };

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

/**
 * Whether the peer answers: `connecting` until the first connection and after a lost one, `broken` from
 * the first failed attempt until a connection stands again.
 */
export type GrpcLink = "connecting" | "ready" | "broken";

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

/** Address of the server. */
export interface GrpcTarget {
  /** `unix:///path` or `host:port`, without TLS. */
  readonly target: string;
  /** The `:authority` that is sent; for unix targets `localhost` by default. */
  readonly authority?: string;
}

/** As the Go kubelet's CRI client; the library's default of 4 MiB is too small for a full node. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** The library's defaults reach 17 s after an outage of 45 s; these find the peer again within 3 s. */
const RECONNECT = { initialMs: 100, maxMs: 3000 };

/** Opens a channel and starts connecting. The caller closes it: the library never collects one left open. */
export function openChannel(options: GrpcTarget): GrpcChannel {
  const channelOptions: ChannelOptions = {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.initial_reconnect_backoff_ms": RECONNECT.initialMs,
    "grpc.max_reconnect_backoff_ms": RECONNECT.maxMs,
    "grpc.enable_channelz": 0,
    "grpc.enable_retries": 0,
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
    "grpc.use_local_subchannel_pool": 1,
    ...(options.authority === undefined ? {} : { "grpc.default_authority": options.authority }),
  };
  const client = new Client(options.target, credentials.createInsecure(), channelOptions);
  return {
    unary: (method, service, request, call) =>
      callUnary(client, { method, service }, request, call),
    serverStream: (method, service, request, call) =>
      readStream(client, { method, service }, request, call),
    state: followState(client),
    close: () => client.close(),
  };
}

interface Endpoint<Request, Response> {
  readonly method: GrpcMethod<Request, Response>;
  readonly service: string;
}

function pathOf(endpoint: Endpoint<never, unknown>): string {
  return `/${endpoint.service}/${endpoint.method.name}`;
}

function encoder<Request>(endpoint: Endpoint<Request, unknown>): (request: Request) => Buffer {
  return (request) => {
    const bytes = endpoint.method.requestType.encode(request).finish();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function metadataOf({ headers = {} }: GrpcCallOptions): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

function deadlineOf(options: GrpcCallOptions): { deadline?: number } {
  return options.timeoutMs === undefined ? {} : { deadline: Date.now() + options.timeoutMs };
}

function callUnary<Request, Response>(
  client: Client,
  endpoint: Endpoint<Request, Response>,
  request: Request,
  options: GrpcCallOptions,
): Promise<Response> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    let forget = () => {};
    const done = (error: ServiceError | null, response?: Response) => {
      forget();
      if (error) reject(signal.aborted ? (signal.reason as Error) : GrpcError.from(error));
      else resolve(response as Response);
    };
    const call = client.makeUnaryRequest(
      pathOf(endpoint),
      encoder(endpoint),
      (bytes: Buffer) => endpoint.method.responseType.decode(bytes),
      request,
      metadataOf(options),
      deadlineOf(options),
      done,
    );
    forget = onAbort(signal, () => call.cancel());
  });
}

async function* readStream<Request, Response>(
  client: Client,
  endpoint: Endpoint<Request, Response>,
  request: Request,
  options: GrpcCallOptions,
): AsyncGenerator<Response, void, void> {
  const { signal } = options;
  signal.throwIfAborted();
  const stream = client.makeServerStreamRequest(
    pathOf(endpoint),
    encoder(endpoint),
    (bytes: Buffer) => endpoint.method.responseType.decode(bytes),
    request,
    metadataOf(options),
    deadlineOf(options),
  );
  const forget = onAbort(signal, () => stream.cancel());
  // The error of a cancelled call comes after the reader has left, and has no other listener.
  stream.on("error", () => {});
  try {
    for await (const message of stream) yield message as Response;
  } catch (error) {
    if (signal.aborted) throw signal.reason as Error;
    throw GrpcError.from(error as ServiceError);
  } finally {
    forget();
    stream.cancel();
  }
}

/** Follows the connection, and keeps it alive: a lost one is only recreated when its state is queried. */
function followState(client: Client): Reading<GrpcLink> {
  const state = new Cell<GrpcLink>("connecting");
  const channel = client.getChannel();
  const follow = () => {
    const now = channel.getConnectivityState(true);
    if (now === connectivityState.SHUTDOWN) {
      state.set("broken");
      return;
    }
    if (now === connectivityState.READY) state.set("ready");
    else if (now === connectivityState.TRANSIENT_FAILURE) state.set("broken");
    else if (state.get() === "ready") state.set("connecting");
    channel.watchConnectivityState(now, Number.POSITIVE_INFINITY, follow);
  };
  follow();
  return state;
}
