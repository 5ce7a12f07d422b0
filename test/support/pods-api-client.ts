/** A client of the pods API on the gRPC library of Node. */
import { Client, credentials } from "@grpc/grpc-js";
import type { Pod } from "../../src/api/generated/types.ts";
import {
  POD_EVENT_TYPE,
  PODS_API,
  type WatchPodsEvent,
} from "../../src/outside/plugins/plugins.ts";
import { readPod } from "./wire-pod.ts";

const { methods, fullName } = PODS_API;

interface Codec<Request, Response> {
  readonly name: string;
  readonly requestType: { encode(message: Request): { finish(): Uint8Array } };
  readonly responseType: { decode(bytes: Uint8Array): Response };
}

/** An event with its pod decoded. */
export interface ReadEvent {
  readonly type: string | undefined;
  readonly pod: Pod | undefined;
}

/** One connection of its own: who does not read holds up all calls of theirs. */
export class PodsApiClient {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix://${socket}`, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  /** Resolves when the agent listens. */
  ready(limitMs = 20_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const deadline = Date.now() + limitMs;
      this.#client.waitForReady(deadline, (error) => (error ? reject(error) : resolve()));
    });
  }

  async list(): Promise<readonly Pod[]> {
    return (await this.#call(methods.listPods, {})).pods.map(readPod);
  }

  async get(podUID: string): Promise<Pod> {
    return readPod((await this.#call(methods.getPod, { podUID })).pod);
  }

  watch(): PodsApiWatch {
    return new PodsApiWatch(this.#client);
  }

  close(): void {
    this.#client.close();
  }

  #call<Request, Response>(method: Codec<Request, Response>, request: Request): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        `/${fullName}/${method.name}`,
        (message: Request) => Buffer.from(method.requestType.encode(message).finish()),
        (bytes) => method.responseType.decode(bytes),
        request,
        (error, response) => (error ? reject(error) : resolve(response as Response)),
      );
    });
  }
}

/** A watch, whose events are taken from the connection when they are read. */
export class PodsApiWatch {
  readonly #stream: ReturnType<Client["makeServerStreamRequest"]>;
  readonly #events: AsyncIterator<WatchPodsEvent>;

  constructor(client: Client) {
    const { requestType, responseType, name } = methods.watchPods;
    this.#stream = client.makeServerStreamRequest(
      `/${fullName}/${name}`,
      () => Buffer.from(requestType.encode({}).finish()),
      (bytes) => responseType.decode(bytes),
      {},
    );
    this.#events = this.#stream[Symbol.asyncIterator]();
  }

  /** The next events; throws what the watch ends with. */
  async read(count: number): Promise<readonly ReadEvent[]> {
    const all: ReadEvent[] = [];
    while (all.length < count) all.push(await this.next());
    return all;
  }

  async next(): Promise<ReadEvent> {
    const { value, done } = await this.#events.next();
    if (done === true) throw new Error("the watch has ended");
    const { type, pod } = value as WatchPodsEvent;
    const name = Object.entries(POD_EVENT_TYPE).find(([, number]) => number === type)?.[0];
    return { type: name, pod: pod.length === 0 ? undefined : readPod(pod) };
  }

  cancel(): void {
    this.#stream.on("error", () => {});
    this.#stream.cancel();
  }
}
