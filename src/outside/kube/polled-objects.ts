import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { isApiError } from "./api-error.ts";
import type { KubeClient, KubeObject } from "./client.ts";
import type { NamedPlace, ObjectSource } from "./object-source.ts";
import type { Resource } from "./resources.ts";

/** How often objects are asked for. */
export interface PollingOptions {
  /** How long an answer counts, as things are now; 0: each question is asked again. */
  readonly freshMs: () => number;
  /** Poll interval of followed objects. */
  readonly everyMs: number;
}

export interface PollingDeps {
  readonly client: Pick<KubeClient, "get" | "list">;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
}

interface Known {
  readonly object: KubeObject;
  readonly at: MonotonicMs;
}

/** Answers that are kept; what is followed by pods of one node is far less. */
const MAX_KNOWN = 10_000;

/**
 * Objects without watches (`configMapAndSecretChangeDetectionStrategy` Cache and Get): changes are seen
 * when it is read the next time. Who begins to follow an object is answered by nothing older than that, and an absent
 * object is asked for each time (pkg/kubelet/util/manager cache_based_manager.go).
 */
export class PolledObjects implements ObjectSource {
  readonly #options: PollingOptions;
  readonly #deps: PollingDeps;
  readonly #known = new Map<string, Known>();
  /** How often followers of an object have begun; an answer to a question from before that is not kept. */
  #begun = 0;

  constructor(options: PollingOptions, deps: PollingDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  follow<T extends KubeObject>(
    kind: Resource<T>,
    place: NamedPlace,
    onChange?: (object: T | undefined) => void,
  ): () => void {
    const stop = new AbortController();
    this.#begun += 1;
    this.#known.delete(keyOf(kind, place));
    if (onChange) {
      this.#deps.scope.spawn(`object of ${kind.plural}`, "restart", async (leave) => {
        const onLeave = () => stop.abort(leave.reason);
        leave.addEventListener("abort", onLeave, { once: true });
        try {
          await this.#poll(kind, place, { onChange, signal: stop.signal });
        } finally {
          leave.removeEventListener("abort", onLeave);
        }
      });
    }
    return () => stop.abort(new Error("no longer followed"));
  }

  async get<T extends KubeObject>(
    kind: Resource<T>,
    place: NamedPlace,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const key = keyOf(kind, place);
    const now = this.#deps.clock.monotonic();
    const freshMs = this.#options.freshMs();
    const known = this.#known.get(key);
    if (known && now - known.at < freshMs) return known.object as T;
    const begun = this.#begun;
    try {
      const object = await this.#ask(kind, place, signal);
      if (begun === this.#begun) this.#keep(key, object, now);
      return object;
    } catch (error) {
      const isAway = freshMs > 0 && error instanceof OutsideError && error.retryable;
      if (known === undefined || !isAway) throw error;
      return known.object as T;
    }
  }

  #keep(key: string, object: KubeObject | undefined, at: MonotonicMs): void {
    this.#known.delete(key);
    if (object === undefined) return;
    this.#known.set(key, { object, at });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }

  async list<T extends KubeObject>(kind: Resource<T>, signal: AbortSignal): Promise<readonly T[]> {
    return (await this.#deps.client.list(kind, {}, signal)).items;
  }

  async #ask<T extends KubeObject>(
    kind: Resource<T>,
    place: NamedPlace,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await this.#deps.client.get(kind, place, signal);
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      throw error;
    }
  }

  async #poll<T extends KubeObject>(
    kind: Resource<T>,
    place: NamedPlace,
    { onChange, signal }: PollTarget<T>,
  ): Promise<void> {
    const { clock, log } = this.#deps;
    let reported: string | undefined;
    while (!signal.aborted) {
      try {
        const object = await this.get(kind, place, signal);
        const version = `${object?.metadata?.uid} ${object?.metadata?.resourceVersion}`;
        if (version !== reported && !signal.aborted) onChange(object);
        reported = version;
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof OutsideError)) throw error;
        log.verbose(2, "failed to get an object", { error });
      }
      await clock.sleep(this.#options.everyMs, signal).catch(() => {});
    }
  }
}

function keyOf({ group, plural }: Resource<unknown>, { namespace, name }: NamedPlace): string {
  return `${group}/${plural}/${namespace}/${name}`;
}

interface PollTarget<T> {
  readonly onChange: (object: T | undefined) => void;
  readonly signal: AbortSignal;
}
