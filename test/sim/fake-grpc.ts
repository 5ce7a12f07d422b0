import { Cell } from "../../src/kit/cell.ts";
import type { Clock } from "../../src/kit/clock.ts";
import { messageOf } from "../../src/kit/errors.ts";
import type { Random } from "../../src/kit/random.ts";
import {
  type Grpc,
  type GrpcCallOptions,
  type GrpcChannel,
  GrpcError,
  type GrpcLink,
  type GrpcListenOptions,
  type GrpcMethod,
  type ServedCall,
} from "../../src/outside/grpc/grpc.ts";
import { GRPC_STATUS } from "../../src/outside/grpc/status.ts";
import type { FakeFiles } from "./fake-files.ts";

/** How well programs of the machine reach each other; may be changed at any time. */
export interface FakeGrpcOptions {
  /** Longest way of a message. */
  latencyMs: number;
  /** Share of calls that are lost on the way there, or the way back. */
  faults: number;
}

/** A program that speaks and listens until it is killed. */
export interface GrpcProcess {
  readonly grpc: Grpc;
  /** `kill -9`: its sockets stay as files, its connections break, nothing comes back to it. */
  kill(): void;
}

interface Listener {
  readonly path: string;
  readonly calls: readonly ServedCall[];
  readonly broken: AbortController;
}

const RETRY_MS = 100;

/** gRPC between the programs of one machine in memory: sockets are files, messages travel encoded, time is the clock's. */
export class FakeGrpc {
  readonly #clock: Clock;
  readonly #files: FakeFiles;
  readonly #random: Random;
  readonly #listeners = new Map<string, Listener>();
  readonly options: FakeGrpcOptions = { latencyMs: 0, faults: 0 };

  constructor(deps: { readonly clock: Clock; readonly files: FakeFiles; readonly random: Random }) {
    this.#clock = deps.clock;
    this.#files = deps.files;
    this.#random = deps.random;
  }

  /** A program of its own. */
  process(): GrpcProcess {
    const death = new AbortController();
    return {
      grpc: {
        listen: async (options) => this.#listen(options, death.signal),
        connect: ({ target }) =>
          new Channel(target.replace(/^unix:\/\//, ""), { net: this, death: death.signal }),
      },
      kill: () => death.abort(new Error("killed")),
    };
  }

  get clock(): Clock {
    return this.#clock;
  }

  /** Whoever listens at the path, if its socket is still there. */
  listenerAt(path: string): Listener | undefined {
    const listener = this.#listeners.get(path);
    return listener && this.#files.hasSocket(path) ? listener : undefined;
  }

  /** The way of a message; may throw. */
  async travel(signal: AbortSignal): Promise<void> {
    const { latencyMs, faults } = this.options;
    const ms = Math.floor(this.#random.next() * (latencyMs + 1));
    if (ms > 0) await this.#clock.sleep(ms, signal);
    if (faults > 0 && this.#random.next() < faults)
      throw new GrpcError(GRPC_STATUS.Unavailable, "the simulation lost it");
  }

  #listen({ path, calls }: GrpcListenOptions, death: AbortSignal) {
    const listener: Listener = { path, calls, broken: new AbortController() };
    this.#files.addSocket(path);
    this.#listeners.set(path, listener);
    const end = () => {
      if (this.#listeners.get(path) === listener) this.#listeners.delete(path);
      listener.broken.abort(new GrpcError(GRPC_STATUS.Unavailable, "Connection dropped"));
    };
    death.addEventListener("abort", end, { once: true });
    return {
      close: async () => {
        const own = this.#listeners.get(path) === listener;
        end();
        if (own && this.#files.hasSocket(path)) await this.#files.remove(path);
      },
    };
  }
}

class Channel implements GrpcChannel {
  readonly #path: string;
  readonly #net: FakeGrpc;
  readonly #death: AbortSignal;
  readonly #closed = new AbortController();
  #listener: Listener | undefined;
  /** Resolves once a connection was tried: calls that come before it wait. */
  readonly #tried = Promise.withResolvers<void>();
  readonly state = new Cell<GrpcLink>("connecting");

  constructor(path: string, on: { readonly net: FakeGrpc; readonly death: AbortSignal }) {
    this.#path = path;
    this.#net = on.net;
    this.#death = on.death;
    on.death.addEventListener("abort", () => this.#closed.abort(on.death.reason), { once: true });
    this.#net.clock.alarm(0, () => this.#connect());
  }

  close(): void {
    this.#closed.abort(new GrpcError(GRPC_STATUS.Unavailable, "Channel has been shut down"));
  }

  async unary<Request, Response>(
    method: GrpcMethod<Request, Response>,
    service: string,
    request: Request,
    options: GrpcCallOptions,
  ): Promise<Response> {
    const bytes = await this.#bounded(options, async (signal) => {
      await this.#tried.promise;
      const call = this.#find(service, method.name);
      const peer = this.#listener?.broken.signal ?? signal;
      return await firstOf(peer, async () => {
        await this.#net.travel(signal);
        if (call.answer.kind !== "unary")
          throw new GrpcError(GRPC_STATUS.Unimplemented, "not a unary method");
        const given = call.method.requestType.decode(encoded(method, request));
        const answer = await asked(call.answer.run(given as never, signal));
        await this.#net.travel(signal);
        return call.method.responseType.encode(answer).finish();
      });
    });
    return method.responseType.decode(bytes);
  }

  async *serverStream<Request, Response>(
    method: GrpcMethod<Request, Response>,
    service: string,
    request: Request,
    options: GrpcCallOptions,
  ): AsyncIterable<Response> {
    const { signal } = options;
    const call = await this.#bounded({ signal }, async () => this.#find(service, method.name));
    if (call.answer.kind !== "stream")
      throw new GrpcError(GRPC_STATUS.Unimplemented, "not a streaming method");
    const gone = this.#listener?.broken.signal ?? signal;
    const left = new EitherSignal([signal, gone, this.#closed.signal]);
    const messages = call.answer
      .run(call.method.requestType.decode(encoded(method, request)) as never, left.signal)
      [Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.#bounded({ signal }, async (at) => {
          const item = await asked(messages.next());
          if (!item.done) await this.#net.travel(at);
          return item;
        });
        if (next.done) return;
        yield method.responseType.decode(call.method.responseType.encode(next.value).finish());
      }
    } finally {
      left.end(new Error("the reader has left"));
      void messages.return?.();
    }
  }

  #connect(): void {
    this.#tried.resolve();
    if (this.#closed.signal.aborted) return;
    this.#listener = this.#net.listenerAt(this.#path);
    if (!this.#listener) {
      this.state.set("broken");
      this.#net.clock.alarm(RETRY_MS, () => this.#connect());
      return;
    }
    const { signal } = this.#listener.broken;
    signal.addEventListener("abort", () => this.#lost(), { once: true });
    this.state.set("ready");
  }

  #lost(): void {
    if (this.#closed.signal.aborted) return;
    this.#listener = undefined;
    this.state.set("connecting");
    this.#net.clock.alarm(RETRY_MS, () => this.#connect());
  }

  #find(service: string, name: string): ServedCall {
    if (!this.#listener) throw new GrpcError(GRPC_STATUS.Unavailable, "No connection established");
    const found = this.#listener.calls.find(
      (call) => call.service === service && call.method.name === name,
    );
    if (!found) throw new GrpcError(GRPC_STATUS.Unimplemented, `unknown method ${name}`);
    return found;
  }

  /** The answer, unless the caller gives up, its time is over, the peer dies or the connection is closed. */
  async #bounded<T>(
    { signal, timeoutMs }: GrpcCallOptions,
    act: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const late = new AbortController();
    const cancel =
      timeoutMs === undefined
        ? undefined
        : this.#net.clock.alarm(timeoutMs, () =>
            late.abort(
              new GrpcError(
                GRPC_STATUS.DeadlineExceeded,
                `Deadline exceeded after ${timeoutMs / 1000}s`,
              ),
            ),
          );
    const peer = this.#listener?.broken.signal;
    const sources = [signal, late.signal, this.#closed.signal, ...(peer ? [peer] : [])];
    const either = new EitherSignal(sources);
    try {
      return await firstOf(either.signal, act);
    } catch (error) {
      if (this.#death.aborted) return await new Promise<never>(() => {});
      throw sources.find(({ aborted }) => aborted)?.reason ?? error;
    } finally {
      cancel?.();
      either.end(new Error("the call is over"));
    }
  }
}

/** Aborted with the first of several; Node keeps what `AbortSignal.any` makes, and all that hangs on it, for ever. */
class EitherSignal {
  readonly #abort = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #onAbort = () => this.end(this.#sources.find(({ aborted }) => aborted)?.reason as Error);

  constructor(sources: readonly AbortSignal[]) {
    this.#sources = sources;
    for (const source of sources) source.addEventListener("abort", this.#onAbort, { once: true });
    if (sources.some(({ aborted }) => aborted)) this.#onAbort();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  end(why: Error): void {
    for (const source of this.#sources) source.removeEventListener("abort", this.#onAbort);
    this.#abort.abort(why);
  }
}

function firstOf<T>(signal: AbortSignal, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    act(signal)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** What a server throws reaches the client as a status. */
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof GrpcError ? error : new GrpcError(GRPC_STATUS.Unknown, messageOf(error));
  }
}

function encoded<Request>(method: GrpcMethod<Request, unknown>, request: Request): Uint8Array {
  return method.requestType.encode(request).finish();
}
