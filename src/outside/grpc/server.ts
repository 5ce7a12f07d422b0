import { chmod, lstat, unlink } from "node:fs/promises";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  StatusObject,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { startTimer } from "../../kit/clock.ts";
import { messageOf, OutsideError } from "../../kit/errors.ts";
import { RepairedSocket } from "./repaired-socket.ts";
import { GrpcError } from "./status.ts";

/** One method of a generated service definition, as far as answering it needs it. */
export interface ServedMethod<Request, Response> {
  readonly name: string;
  readonly requestType: { decode(input: Uint8Array): Request };
  readonly responseType: { encode(message: Response): { finish(): Uint8Array } };
}

/** Answers one request; `signal` is aborted when the client canceled the call. A `GrpcError` is the answer's status. */
export type UnaryAnswer<Request, Response> = (
  request: Request,
  signal: AbortSignal,
) => Promise<Response>;

/** Answers one request with a stream, which ends with the iterable. */
export type StreamAnswer<Request, Response> = (
  request: Request,
  signal: AbortSignal,
) => AsyncIterable<Response>;

/** A method with its answer; made by `unaryCall` and `streamCall`, which hold the types together. */
export interface ServedCall {
  /** `package.Service`. */
  readonly service: string;
  readonly method: ServedMethod<never, unknown>;
  readonly answer:
    | { readonly kind: "unary"; readonly run: UnaryAnswer<never, unknown> }
    | { readonly kind: "stream"; readonly run: StreamAnswer<never, unknown> };
}

/** Serves a method with one response. */
export function unaryCall<Request, Response>(
  service: string,
  method: ServedMethod<Request, Response>,
  run: UnaryAnswer<NoInfer<Request>, NoInfer<Response>>,
): ServedCall {
  return {
    service,
    method: method as ServedMethod<never, unknown>,
    answer: { kind: "unary", run: run as UnaryAnswer<never, unknown> },
  };
}

/** Serves a method with a stream of responses. */
export function streamCall<Request, Response>(
  service: string,
  method: ServedMethod<Request, Response>,
  run: StreamAnswer<NoInfer<Request>, NoInfer<Response>>,
): ServedCall {
  return {
    service,
    method: method as ServedMethod<never, unknown>,
    answer: { kind: "stream", run: run as StreamAnswer<never, unknown> },
  };
}

/** Socket and calls of the server. */
export interface GrpcListenOptions {
  /** Path of the socket; an existing socket is replaced. */
  readonly path: string;
  readonly calls: readonly ServedCall[];
  /** An idle connection gets GOAWAY after this; default five minutes. */
  readonly idleMs?: number;
  /** Called when the listener breaks by itself. */
  readonly onBroken: (error: OutsideError) => void;
}

/** A gRPC server on a unix socket for root. */
export interface GrpcListener {
  /**
   * Removes the socket and cuts what is open; with `finishMs`, calls that are being answered have that long to end by
   * themselves, and no new ones are taken.
   */
  close(finishMs?: number): Promise<void>;
}

const SOCKET_MODE = 0o600;
const MAX_CONNECTIONS = 256;
/** Streams of one connection at once. */
const MAX_STREAMS = 100;
/** An idle connection gets GOAWAY after this; clients of gRPC come back when they need to. */
const IDLE_MS = 5 * 60_000;
/** `sun_path` of the kernel, without its closing zero. */
const MAX_PATH_BYTES = 107;

/**
 * Listens. Clients of any age of gRPC for Go are understood (`request-repair.ts`). A path that cannot be
 * listened on is an `OutsideError`.
 */
export async function listenGrpc(options: GrpcListenOptions): Promise<GrpcListener> {
  const { path } = options;
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new OutsideError(
      "invalid",
      `listen on ${path}: a socket's path has at most ${MAX_PATH_BYTES} bytes`,
    );
  let protocol: Promise<Protocol> | undefined;
  const sockets = new Set<Socket>();
  const net = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.once("error", () => socket.destroy());
    protocol ??= loadProtocol(options);
    protocol.then(
      ({ take }) => socket.destroyed || take(socket),
      () => socket.destroy(),
    );
  });
  net.maxConnections = MAX_CONNECTIONS;
  await removeSocket(path);
  await listening(net, path);
  try {
    await chmod(path, SOCKET_MODE);
  } catch (error) {
    // Another agent may have removed the socket. What listens on would keep this process from ending.
    net.close();
    throw broken(path, error);
  }
  net.on("error", (error) => options.onBroken(broken(path, error)));
  return {
    close: async (finishMs = 0) => {
      const closed = new Promise<void>((resolve) => net.close(() => resolve()));
      if (finishMs > 0) await finish(protocol, finishMs, closed);
      for (const socket of sockets) socket.destroy();
      await protocol?.then(
        ({ end }) => end(),
        () => {},
      );
      await closed;
    },
  };
}

/** What speaks gRPC on connections that were accepted. */
interface Protocol {
  take(socket: Socket): void;
  /** Takes no more calls; connections without any end. */
  drain(ms: number): void;
  end(): void;
}

/** Resolves when every connection has ended, or after `ms`. */
async function finish(
  protocol: Promise<Protocol> | undefined,
  ms: number,
  closed: Promise<void>,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const cancel = startTimer(ms, resolve);
  protocol?.then(
    ({ drain }) => drain(ms),
    () => {},
  );
  await Promise.race([closed, late]);
  cancel();
}

/** Loads the library with the first connection: most nodes have nobody who asks, and it takes 3.6 MiB and 25 ms. */
async function loadProtocol(options: GrpcListenOptions): Promise<Protocol> {
  const { Metadata, Server, ServerCredentials } = await import("@grpc/grpc-js");
  const grpc = new Server({
    "grpc.enable_channelz": 0,
    "grpc.max_concurrent_streams": MAX_STREAMS,
    "grpc.max_connection_idle_ms": options.idleMs ?? IDLE_MS,
  });
  /** gRPC for Go gives errors without a status the code Unknown and their text. */
  const statusOf: StatusOf = (error) => {
    const { status, details } = error instanceof GrpcError ? error : GrpcError.from(error);
    return { code: status, details, metadata: new Metadata() };
  };
  for (const [service, calls] of Map.groupBy(options.calls, (call) => call.service))
    grpc.addService(definitionOf(service, calls), implementationOf(calls, statusOf));
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
  return {
    take: (socket) => injector.injectConnection(new RepairedSocket(socket)),
    drain: (ms) => injector.drain(ms),
    end: () => {
      injector.destroy();
      grpc.forceShutdown();
    },
  };
}

type StatusOf = (error: unknown) => StatusObject;

function definitionOf(service: string, calls: readonly ServedCall[]): ServiceDefinition {
  return Object.fromEntries(
    calls.map(({ method, answer }) => [
      method.name,
      {
        path: `/${service}/${method.name}`,
        requestStream: false,
        responseStream: answer.kind === "stream",
        requestSerialize: () => Buffer.alloc(0),
        requestDeserialize: (bytes: Buffer) => method.requestType.decode(bytes) as unknown,
        responseSerialize: (message: unknown) =>
          Buffer.from(method.responseType.encode(message).finish()),
        responseDeserialize: () => undefined,
      },
    ]),
  );
}

function implementationOf(
  calls: readonly ServedCall[],
  statusOf: StatusOf,
): UntypedServiceImplementation {
  const handlers: Record<string, unknown> = Object.fromEntries(
    calls.map(({ method, answer }) => [
      method.name,
      answer.kind === "unary"
        ? answerOnce(answer.run, statusOf)
        : answerStream(answer.run, statusOf),
    ]),
  );
  return handlers as UntypedServiceImplementation;
}

function answerOnce(
  run: UnaryAnswer<never, unknown>,
  statusOf: StatusOf,
): handleUnaryCall<never, unknown> {
  return (call, reply) => {
    const cancelled = new AbortController();
    call.on("cancelled", () => cancelled.abort(new Error("the client canceled the call")));
    run(call.request, cancelled.signal).then(
      (response) => reply(null, response),
      (error: unknown) => reply(statusOf(error)),
    );
  };
}

function answerStream(
  run: StreamAnswer<never, unknown>,
  statusOf: StatusOf,
): handleServerStreamingCall<never, unknown> {
  return (call) => {
    const cancelled = new AbortController();
    call.on("cancelled", () => cancelled.abort(new Error("the client canceled the call")));
    writeAll(call, run(call.request, cancelled.signal), cancelled.signal).catch(
      (error: unknown) => cancelled.signal.aborted || call.emit("error", statusOf(error)),
    );
  };
}

async function writeAll(
  call: ServerWritableStream<never, unknown>,
  messages: AsyncIterable<unknown>,
  signal: AbortSignal,
): Promise<void> {
  for await (const message of messages) {
    if (signal.aborted) return;
    if (!call.write(message)) await drained(call, signal);
  }
  call.end();
}

function drained(call: ServerWritableStream<never, unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    call.once("drain", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Only sockets are replaced; any other file is left alone. */
async function removeSocket(path: string): Promise<void> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts?.isSocket()) await unlink(path);
}

function listening(net: NetServer, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => reject(broken(path, error));
    net.once("error", onError);
    net.listen(path, () => {
      net.off("error", onError);
      resolve();
    });
  });
}

function broken(path: string, error: unknown): OutsideError {
  return new OutsideError("io", `listen on ${path}: ${messageOf(error)}`, { cause: error });
}
