import type { Clock } from "../../kit/clock.ts";
import { messageOf, OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { isApiError } from "./api-error.ts";
import type { KubeClient, KubeObject } from "./client.ts";
import { followObjects, type ObjectChange } from "./reflector.ts";
import type { Resource } from "./resources.ts";

/** One object by its name. */
export interface NamedPlace {
  readonly namespace: string;
  readonly name: string;
}

/** Objects that pods refer to: secrets, config maps, and whatever else is to be had by name. */
export interface ObjectSource {
  /**
   * Keeps an object fresh until the result is called. `onChange` gets what it is as soon as that is
   * known, and of every change; `undefined`: there is none of this name. Followed by several, it is
   * watched once.
   */
  follow<T extends KubeObject>(
    kind: Resource<T>,
    place: NamedPlace,
    onChange?: (object: T | undefined) => void,
  ): () => void;
  /**
   * The object as it is known if it is followed, else asked for; `undefined`: there is none. What was
   * known stays so while the API is away. Throws `OutsideError` when nothing is known and nothing can be
   * found out (`deadline`, `unavailable`), or when the node may not see it (`denied`).
   */
  get<T extends KubeObject>(
    kind: Resource<T>,
    place: NamedPlace,
    signal: AbortSignal,
  ): Promise<T | undefined>;
  /** All objects of a kind, asked for now. Throws `OutsideError`. For kinds of which a cluster has few. */
  list<T extends KubeObject>(kind: Resource<T>, signal: AbortSignal): Promise<readonly T[]>;
}

export interface ObjectSourceDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly scope: TaskScope;
}

/** How long a first answer is waited for. */
const FIRST_ANSWER_MS = 10_000;

interface Followed {
  readonly listeners: Set<(object: KubeObject | undefined) => void>;
  readonly stop: AbortController;
  holders: number;
  /** Absent until the first answer of the API. */
  known?: { readonly object: KubeObject | undefined };
  readonly waiting: Set<() => void>;
}

/**
 * One watch for each object that is followed, as the Go kubelet's watch-based manager: the node may watch
 * what its pods refer to and nothing beside. An immutable object is watched no longer once it is known.
 */
export class WatchedObjects implements ObjectSource {
  readonly #deps: ObjectSourceDeps;
  readonly #followed = new Map<string, Followed>();

  constructor(deps: ObjectSourceDeps) {
    this.#deps = deps;
  }

  /** Objects that are followed now. */
  get size(): number {
    return this.#followed.size;
  }

  follow<T extends KubeObject>(
    kind: Resource<T>,
    place: NamedPlace,
    onChange?: (object: T | undefined) => void,
  ): () => void {
    const key = keyOf(kind, place);
    const entry = this.#followed.get(key) ?? this.#start(key, kind, place);
    entry.holders += 1;
    const listener = onChange && ((object: KubeObject | undefined) => onChange(object as T));
    if (listener) {
      entry.listeners.add(listener);
      if (entry.known) listener(entry.known.object);
    }
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      if (listener) entry.listeners.delete(listener);
      entry.holders -= 1;
      if (entry.holders > 0) return;
      this.#followed.delete(key);
      entry.stop.abort(new Error("no longer followed"));
    };
  }

  async get<T extends KubeObject>(
    kind: Resource<T>,
    place: NamedPlace,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const entry = this.#followed.get(keyOf(kind, place));
    if (entry) {
      const known = entry.known ?? (await this.#firstAnswer(entry, kind, place, signal));
      if (known.object) return known.object as T;
    }
    // A list may come from a cache that is behind: what is missing in it is requested by name.
    try {
      return await this.#deps.client.get(kind, place, signal);
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      if (entry?.known && error instanceof OutsideError && error.retryable) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(kind: Resource<T>, signal: AbortSignal): Promise<readonly T[]> {
    return (await this.#deps.client.list(kind, {}, signal)).items;
  }

  #start<T extends KubeObject>(key: string, kind: Resource<T>, place: NamedPlace): Followed {
    const entry: Followed = {
      listeners: new Set(),
      stop: new AbortController(),
      holders: 0,
      waiting: new Set(),
    };
    this.#followed.set(key, entry);
    this.#deps.scope.spawn(`object of ${kind.plural}`, "restart", (signal) =>
      this.#run(entry, kind, place, signal),
    );
    return entry;
  }

  async #run<T extends KubeObject>(
    entry: Followed,
    kind: Resource<T>,
    { namespace, name }: NamedPlace,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, random, log } = this.#deps;
    const onLeave = () => entry.stop.abort(signal.reason);
    signal.addEventListener("abort", onLeave, { once: true });
    try {
      const options = { resource: kind, namespace, fieldSelector: `metadata.name=${name}` };
      const changes = followObjects(options, { client, clock, random, log }, entry.stop.signal);
      for await (const change of changes) {
        this.#learn(entry, objectAfter(change));
        if (isImmutable(entry.known?.object)) return;
      }
    } catch (error) {
      if (entry.stop.signal.aborted) return;
      throw error;
    } finally {
      signal.removeEventListener("abort", onLeave);
    }
  }

  #learn(entry: Followed, object: KubeObject | undefined): void {
    if (entry.known?.object === undefined && object === undefined && entry.known) return;
    entry.known = { object };
    for (const listener of [...entry.listeners]) {
      try {
        listener(object);
      } catch (error) {
        this.#deps.log.error("object change handler failed", { error: messageOf(error) });
      }
    }
    for (const resolve of [...entry.waiting]) resolve();
  }

  #firstAnswer(
    entry: Followed,
    kind: Resource<KubeObject>,
    { namespace, name }: NamedPlace,
    signal: AbortSignal,
  ): Promise<NonNullable<Followed["known"]>> {
    return new Promise((resolve, reject) => {
      const end = (finish: () => void) => {
        cancel();
        entry.waiting.delete(onKnown);
        signal.removeEventListener("abort", onAbort);
        finish();
      };
      const onKnown = () => entry.known && end(() => entry.known && resolve(entry.known));
      const onAbort = () => end(() => reject(signal.reason as Error));
      const late = `${kind.plural} "${namespace}/${name}": the API server did not return it in time`;
      const cancel = this.#deps.clock.alarm(FIRST_ANSWER_MS, () =>
        end(() => reject(new OutsideError("deadline", late))),
      );
      entry.waiting.add(onKnown);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
  }
}

function keyOf({ group, plural }: Resource<unknown>, { namespace, name }: NamedPlace): string {
  return `${group}/${plural}/${namespace}/${name}`;
}

/** The followed object after a change; the watch selects one name only. */
function objectAfter<T>(change: ObjectChange<T>): T | undefined {
  switch (change.kind) {
    case "all":
      return change.objects[0];
    case "set":
      return change.object;
    case "gone":
      return undefined;
    default:
      return change satisfies never;
  }
}

function isImmutable(object: KubeObject | undefined): boolean {
  return object !== undefined && "immutable" in object && object.immutable === true;
}
