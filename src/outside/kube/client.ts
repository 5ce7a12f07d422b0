import type { DeleteOptions, ListMeta, ObjectMeta } from "../../api/generated/types.ts";
import { apiVersionOf } from "../../api/text/api-version.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf, OutsideError } from "../../kit/errors.ts";
import { type RateLimit, TokenBucket } from "../../kit/limits/token-bucket.ts";
import type { Log } from "../../kit/log.ts";
import { apiErrorOf } from "./api-error.ts";
import { apiPath, type ObjectPlace, type Query, type Resource } from "./resources.ts";
import type { ApiReply, ApiRequest, ApiTransport, ApiWatchReply } from "./transport/transport.ts";

/** Fields of every object of the API. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

/** Objects with the metadata of the list. */
export interface ObjectList<T> {
  readonly metadata: ListMeta;
  readonly items: readonly T[];
}

/** Which objects of a resource are meant. */
export interface Selection {
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface ListOptions extends Selection {
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
  readonly limit?: number;
  readonly continue?: string;
}

interface WatchOptions extends Selection {
  readonly resourceVersion?: string;
  /** After which the server ends the watch. */
  readonly timeoutSeconds: number;
  /** Begin with all objects there are, then a bookmark that says so (Kubernetes 1.27 and later). */
  readonly sendInitialEvents?: boolean;
}

/** A change of a part of an object, in one of the ways the API knows. */
export type Patch =
  | { readonly kind: "merge" | "strategic" | "json"; readonly body: unknown }
  | {
      readonly kind: "apply";
      readonly body: unknown;
      readonly fieldManager: string;
      readonly force?: boolean;
    };

const PATCH_TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** Limits of a client. */
export interface KubeClientOptions {
  /** Requests beyond it wait; none: no limit. */
  readonly limit?: RateLimit;
  /** For one request with all its repetitions; default a minute, as servers have it. */
  readonly timeoutMs?: number;
}

export interface KubeClientDeps {
  readonly transport: ApiTransport;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: CallObserver;
}

/** Code of a request that had no answer, as client-go's metrics name it. */
export const NO_ANSWER = "<error>";

/** Notified of what requests do, for counting. */
export interface CallObserver {
  /** A request ended; the code is `NO_ANSWER` when there was no answer. Sizes in bytes. */
  ended(call: {
    readonly verb: string;
    readonly code: string;
    readonly seconds: number;
    readonly sent: number;
    readonly received: number;
  }): void;
  /** A request had its turn after so long. */
  admitted(verb: string, seconds: number): void;
  /** A request is sent again, since the server asked for that with this status. */
  repeated(verb: string, code: number): void;
  /** Objects were handed out by a watch or a list; the function is called once they are handled. */
  notified(resource: Resource<unknown>, objects: number): () => void;
}

const DEFAULT_TIMEOUT_MS = 60_000;
/** How much longer than asked for a watch may go on before it is given up. */
const WATCH_SLACK_MS = 30_000;
/** How often a request is repeated that the server asked to be repeated (client-go: 10). */
const MAX_REPETITIONS = 10;
const REQUEST_LOG_LEVEL = 6;

/**
 * The API by objects. Throws `ApiError` for what the server refuses and `OutsideError` for what comes
 * between. Waits for its share of the rate limit, and as long as a busy server asks for.
 */
export class KubeClient {
  readonly #deps: KubeClientDeps;
  readonly #timeoutMs: number;
  readonly #budget: TokenBucket | undefined;

  constructor(options: KubeClientOptions, deps: KubeClientDeps) {
    this.#deps = deps;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#budget = options.limit && new TokenBucket(options.limit, deps.clock);
  }

  /** Observer of requests. */
  get observer(): CallObserver | undefined {
    return this.#deps.observer;
  }

  get transport(): ApiTransport {
    return this.#deps.transport;
  }

  async get<T>(kind: Resource<T>, place: ObjectPlace, signal: AbortSignal): Promise<T> {
    return await this.#json("GET", apiPath(kind, place), {}, signal);
  }

  async list<T>(
    kind: Resource<T>,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<ObjectList<T & KubeObject>> {
    const { namespace, ...query } = options;
    const place = namespace === undefined ? {} : { namespace };
    const list = await this.#json<{ metadata?: ListMeta; items?: readonly T[] | null }>(
      "GET",
      apiPath(kind, place, query),
      {},
      signal,
    );
    const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
    return {
      metadata: list.metadata ?? {},
      // Objects of a list have no apiVersion and kind.
      items: (list.items ?? []).map((item) => ({ ...type, ...item })),
    };
  }

  /** Begins a watch; its events are read by `followObjects`. */
  async watch(
    kind: Resource<unknown>,
    options: WatchOptions,
    signal: AbortSignal,
  ): Promise<ApiWatchReply> {
    const { namespace, sendInitialEvents, ...selection } = options;
    const query: Query = {
      watch: true,
      allowWatchBookmarks: true,
      ...selection,
      ...(sendInitialEvents
        ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
        : {}),
    };
    const path = apiPath(kind, namespace === undefined ? {} : { namespace }, query);
    const lifetimeMs = options.timeoutSeconds * 1000 + WATCH_SLACK_MS;
    await this.#admit("WATCH", signal);
    return await this.#counted("WATCH", path, 0, async () => {
      const timeoutMs = this.#timeoutMs;
      const reply = await this.#deps.transport.watch({ path, timeoutMs, lifetimeMs }, signal);
      const code = reply.kind === "stream" ? 200 : reply.reply.status;
      return { result: reply, code, received: 0 };
    });
  }

  /** Makes an object, or asks something of a subresource of one (`place.name` and `place.subresource`). */
  async create<T extends object>(
    kind: Resource<T>,
    place: ObjectPlace,
    object: T,
    signal: AbortSignal,
  ): Promise<T> {
    return await this.#send("POST", kind, { place, object }, signal);
  }

  /** Replaces an object; its resource version must be the present one. */
  async update<T extends object>(
    kind: Resource<T>,
    place: ObjectPlace,
    object: T,
    signal: AbortSignal,
  ): Promise<T> {
    return await this.#send("PUT", kind, { place, object }, signal);
  }

  async patch<T>(
    kind: Resource<T>,
    place: ObjectPlace,
    patch: Patch,
    signal: AbortSignal,
  ): Promise<T> {
    const { fieldManager, force } =
      patch.kind === "apply" ? patch : { fieldManager: undefined, force: undefined };
    const path = apiPath(kind, place, { fieldManager, force });
    const body = JSON.stringify(patch.body);
    return await this.#json("PATCH", path, { body, contentType: PATCH_TYPES[patch.kind] }, signal);
  }

  /** Asks for an object to be deleted; an object that is gone already is an `ApiError` 404. */
  async delete(
    kind: Resource<unknown>,
    place: ObjectPlace,
    options: DeleteOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const body = JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", ...options });
    await this.#json("DELETE", apiPath(kind, place), { body }, signal);
  }

  /** Deletes all objects that the selection names. */
  async deleteAll(
    kind: Resource<unknown>,
    { namespace, ...query }: Selection,
    signal: AbortSignal,
  ): Promise<void> {
    const place = namespace === undefined ? {} : { namespace };
    await this.#json("DELETE", apiPath(kind, place, query), {}, signal);
  }

  #send<T extends object>(
    method: "POST" | "PUT",
    kind: Resource<T>,
    { place, object }: { readonly place: ObjectPlace; readonly object: T },
    signal: AbortSignal,
  ): Promise<T> {
    const body = JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object });
    return this.#json(method, apiPath(kind, place), { body }, signal);
  }

  async #json<T>(
    method: ApiRequest["method"],
    path: string,
    content: Pick<ApiRequest, "body" | "contentType">,
    signal: AbortSignal,
  ): Promise<T> {
    await this.#admit(method, signal);
    const sent = content.body?.length ?? 0;
    const reply = await this.#counted(method, path, sent, async () => {
      const answer = await this.#untilNotBusy({ method, path, ...content }, signal);
      return { result: answer, code: answer.status, received: answer.body.length };
    });
    if (reply.status < 200 || reply.status >= 300) throw apiErrorOf(reply);
    try {
      return JSON.parse(reply.body) as T;
    } catch (error) {
      throw new OutsideError("invalid", `${method} ${path}: the answer is not JSON`, {
        cause: error,
      });
    }
  }

  /** Waits for a share of the rate limit. */
  async #admit(verb: string, signal: AbortSignal): Promise<void> {
    if (!this.#budget) return;
    const { clock, observer } = this.#deps;
    const asked = clock.monotonic();
    await this.#budget.take(signal);
    observer?.admitted(verb, (clock.monotonic() - asked) / 1000);
  }

  /** Repeats a request when the server says after which time to (client-go `Retry-After`). */
  async #untilNotBusy(
    options: Omit<ApiRequest, "timeoutMs">,
    signal: AbortSignal,
  ): Promise<ApiReply> {
    const { transport, clock } = this.#deps;
    const deadline = clock.monotonic() + this.#timeoutMs;
    for (let repetitions = 0; ; repetitions += 1) {
      const timeoutMs = deadline - clock.monotonic();
      const reply = await transport.request({ ...options, timeoutMs }, signal);
      const pauseMs = Number(reply.headers["retry-after"]) * 1000;
      const busy = reply.status === 429 || reply.status >= 500;
      const left = deadline - clock.monotonic();
      if (!busy || !(pauseMs >= 0) || pauseMs >= left || repetitions >= MAX_REPETITIONS)
        return reply;
      this.#deps.observer?.repeated(options.method, reply.status);
      await clock.sleep(pauseMs, signal);
    }
  }

  async #counted<T>(
    verb: string,
    path: string,
    sent: number,
    call: () => Promise<{ readonly result: T; readonly code: number; readonly received: number }>,
  ): Promise<T> {
    const { clock, log, observer } = this.#deps;
    const began = clock.monotonic();
    const ended = (code: string, received: number, problem?: string) => {
      const seconds = (clock.monotonic() - began) / 1000;
      observer?.ended({ verb, code, seconds, sent, received });
      if (log.enabled(REQUEST_LOG_LEVEL))
        log.verbose(REQUEST_LOG_LEVEL, "api request", {
          verb,
          path,
          code,
          seconds,
          ...(problem === undefined ? {} : { error: problem }),
        });
    };
    try {
      const { result, code, received } = await call();
      ended(`${code}`, received);
      return result;
    } catch (error) {
      ended(NO_ANSWER, 0, messageOf(error));
      throw error;
    }
  }
}
