import type { ObjectMeta } from "../../api/generated/types.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import { ApiError, apiErrorOf, isApiError } from "./api-error.ts";
import type { KubeClient, KubeObject, ListOptions, Selection } from "./client.ts";
import type { Resource } from "./resources.ts";
import { parseWatchLines, type WatchEvent } from "./watch-events.ts";

/** A change of the followed objects. */
export type ObjectChange<T> =
  /** These are all there are; what was known beside them is gone. */
  | { readonly kind: "all"; readonly objects: readonly T[] }
  /** Made or changed. */
  | { readonly kind: "set"; readonly object: T }
  /** Gone, as it last was. */
  | { readonly kind: "gone"; readonly object: T };

/** Which objects are followed, and how. */
export interface FollowOptions<T> extends Selection {
  readonly resource: Resource<T>;
  /** Objects asked for at once. */
  readonly pageSize?: number;
  /** Whether to let the server stream the first objects instead of listing them. Tried once. */
  readonly streamList?: boolean;
}

export interface FollowDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called after each list and watch with whether the objects are up to date. */
  readonly onFollowing?: (following: boolean) => void;
}

const PAGE_SIZE = 500;
/** The server is asked to end a watch after 5 to 10 minutes (client-go minWatchTimeout). */
const WATCH_SECONDS = 300;
/** Between attempts that the server refuses (client-go reflector: 800 ms to 30 s, jittered). */
const REFUSED = { initialMs: 800, maxMs: 30_000 };
/** The same of a server that was away lately: it refuses what it will grant as soon as it is ready. */
const STARTING = { initialMs: 500, maxMs: 3_000 };
const LATELY_MS = 60_000;
/** Between attempts to reach a server that does not answer; the transport keeps its own, shorter pace. */
const UNREACHABLE = { initialMs: 250, maxMs: 2_000 };
/** A watch that brought nothing and ended sooner counts as refused, so that nothing runs in circles. */
const SHORT_WATCH_MS = 1_000;

/** A watch that held longer was no failure, whatever came before it. */
const STEADY_WATCH_MS = 5_000;

const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/**
 * Lists objects and then watches them, for ever: ends only with `signal`, by throwing its reason. Every
 * change comes once and in order; after a gap that the server cannot fill (410) comes a new `all`. A watch
 * that stalls is given up after its lifetime. Holds names and versions of the objects, not the objects.
 */
export async function* followObjects<T extends KubeObject>(
  options: FollowOptions<T>,
  deps: FollowDeps,
  signal: AbortSignal,
): AsyncGenerator<ObjectChange<T>, never> {
  const follower = new Follower<T>(options, deps, signal);
  for (;;) yield* follower.once();
}

/**
 * Where the next watch goes on. `unknown` asks for a new list or a watch that begins with all objects, `at` for the changes after a version:
 *
 * ```
 *           list, or the objects that a watch begins with
 *  unknown -----------------------------------------------> at (each change and bookmark moves it on)
 *     ^---- version is gone or ahead of the server (410), event not decoded ----'
 * ```
 */
type Position =
  /** `mustBeConsistent`: the list must not come from a cache that may be behind. */
  | { readonly kind: "unknown"; readonly mustBeConsistent: boolean }
  | { readonly kind: "at"; readonly resourceVersion: string };

/** Attempts in a row that the server refused, or that did not reach it: one kind resets the other. */
interface Failures {
  readonly kind: "refused" | "unreachable";
  readonly times: number;
}

const NO_FAILURES: Failures = { kind: "refused", times: 0 };

class Follower<T extends KubeObject> {
  readonly #options: FollowOptions<T>;
  readonly #deps: FollowDeps;
  readonly #signal: AbortSignal;
  /** Versions by namespace/name, to detect repetitions. */
  readonly #versions = new Map<string, string>();
  #position: Position = { kind: "unknown", mustBeConsistent: false };
  /** The latest version ever seen: nothing older may be shown again. */
  #seenVersion: string | undefined;
  #openedAt: MonotonicMs | undefined;
  #streamList: boolean;
  #failures: Failures = NO_FAILURES;
  #missedAt: MonotonicMs | undefined;

  constructor(options: FollowOptions<T>, deps: FollowDeps, signal: AbortSignal) {
    this.#options = options;
    this.#deps = deps;
    this.#signal = signal;
    this.#streamList = options.streamList ?? false;
  }

  /** One list, if need be, and one watch. Never throws but for the signal. */
  async *once(): AsyncGenerator<ObjectChange<T>, void> {
    const { clock } = this.#deps;
    const began = clock.monotonic();
    let changes = 0;
    try {
      if (this.#position.kind === "unknown" && !this.#streamList) {
        const all = await this.#list();
        const handled = this.#notify(all);
        yield all;
        handled?.();
        changes += 1;
        this.#failures = NO_FAILURES;
      }
      for await (const change of this.#watch()) {
        this.#failures = NO_FAILURES;
        if (change === "bookmark") continue;
        changes += 1;
        const handled = this.#notify(change);
        yield change;
        handled?.();
      }
      if (changes === 0 && clock.monotonic() - began < SHORT_WATCH_MS)
        await this.#pauseRefused(new OutsideError("unavailable", "the watch ended at once"));
    } catch (error) {
      this.#signal.throwIfAborted();
      await this.#recover(error);
    }
  }

  #notify(change: ObjectChange<T>): (() => void) | undefined {
    const objects = change.kind === "all" ? change.objects.length : 1;
    return this.#deps.client.observer?.notified(this.#options.resource, objects);
  }

  async #list(): Promise<ObjectChange<T>> {
    const { client } = this.#deps;
    const { resource, pageSize = PAGE_SIZE, streamList: _, ...selection } = this.#options;
    const objects: T[] = [];
    let page = await client.list(
      resource,
      { ...selection, ...this.#firstPage(pageSize) },
      this.#signal,
    );
    for (;;) {
      for (const item of page.items) objects.push(withoutManagedFields(item as T));
      const from = page.metadata.continue;
      if (!from) break;
      const options = { ...selection, limit: pageSize, continue: from };
      page = await client.list(resource, options, this.#signal);
    }
    this.#startOver(objects, page.metadata.resourceVersion ?? "");
    return { kind: "all", objects };
  }

  /**
   * From the server's cache, but never older than what was seen before; from the store when the cache
   * is behind. With a version a server cannot give pages.
   */
  #firstPage(limit: number): Partial<ListOptions> {
    if (this.#position.kind === "unknown" && this.#position.mustBeConsistent) return { limit };
    if (this.#seenVersion === undefined) return { limit, resourceVersion: "0" };
    return { resourceVersion: this.#seenVersion, resourceVersionMatch: "NotOlderThan" };
  }

  #startOver(objects: readonly T[], resourceVersion: string): void {
    this.#versions.clear();
    for (const { metadata } of objects)
      this.#versions.set(keyOf(metadata), metadata?.resourceVersion ?? "");
    this.#position = { kind: "at", resourceVersion };
    this.#seenVersion = resourceVersion;
  }

  async *#watch(): AsyncGenerator<ObjectChange<T> | "bookmark", void> {
    const events = await this.#openWatch();
    try {
      if (this.#position.kind === "unknown") yield await this.#collect(events);
      for (let next = await events.next(); !next.done; next = await events.next()) {
        const { type, object } = next.value;
        if (type === "BOOKMARK") {
          this.#goOnFrom(object.metadata?.resourceVersion);
          yield "bookmark";
        } else {
          const change = this.#take(next.value);
          if (change) yield change;
        }
      }
    } finally {
      await events.return();
    }
  }

  async #openWatch(): Promise<AsyncGenerator<WatchEvent, void>> {
    const { client, random, clock } = this.#deps;
    const { resource, pageSize: _, streamList: __, ...selection } = this.#options;
    const from =
      this.#position.kind === "unknown"
        ? { sendInitialEvents: true }
        : { resourceVersion: this.#position.resourceVersion };
    const timeoutSeconds = Math.floor(WATCH_SECONDS * (1 + random.next()));
    const options = { ...selection, ...from, timeoutSeconds };
    const reply = await client.watch(resource, options, this.#signal);
    if (reply.kind === "refused") throw apiErrorOf(reply.reply);
    this.#openedAt = clock.monotonic();
    this.#deps.onFollowing?.(true);
    return parseWatchLines(reply.lines);
  }

  /** The objects that a watch begins with, up to the bookmark that ends them. */
  async #collect(events: AsyncGenerator<WatchEvent, void>): Promise<ObjectChange<T>> {
    const objects: T[] = [];
    for (;;) {
      const next = await events.next();
      if (next.done)
        throw new OutsideError("unavailable", "the watch ended before all objects were sent");
      const { type, object } = next.value;
      if (type !== "BOOKMARK") objects.push(withoutManagedFields(object as T));
      else if (object.metadata?.annotations?.[INITIAL_EVENTS_END] === "true") {
        this.#startOver(objects, object.metadata.resourceVersion ?? "");
        return { kind: "all", objects };
      }
    }
  }

  #goOnFrom(resourceVersion: string | undefined): void {
    if (!resourceVersion) return;
    this.#position = { kind: "at", resourceVersion };
    this.#seenVersion = resourceVersion;
  }

  /** Decodes a change; undefined when it was seen before. */
  #take({ type, object }: WatchEvent): ObjectChange<T> | undefined {
    const key = keyOf(object.metadata);
    const version = object.metadata?.resourceVersion ?? "";
    this.#goOnFrom(version);
    const slim = withoutManagedFields(object as T);
    if (type === "DELETED") {
      this.#versions.delete(key);
      return { kind: "gone", object: slim };
    }
    if (type !== "ADDED" && type !== "MODIFIED")
      throw new OutsideError("invalid", `the watch returned an event of unknown type ${type}`);
    if (version !== "" && this.#versions.get(key) === version) return undefined;
    this.#versions.set(key, version);
    return { kind: "set", object: slim };
  }

  /** Decides how to go on after something went wrong, and waits as long as that asks for. */
  async #recover(error: unknown): Promise<void> {
    const { log, clock } = this.#deps;
    const { plural } = this.#options.resource;
    const heldMs = this.#openedAt === undefined ? 0 : clock.monotonic() - this.#openedAt;
    this.#openedAt = undefined;
    if (heldMs > STEADY_WATCH_MS) this.#failures = NO_FAILURES;
    if (!(error instanceof OutsideError)) throw error;
    if (isGone(error)) {
      log.verbose(2, "watch expired; listing again", { resource: plural, error });
      const isRepeated = this.#failures.kind === "refused" && this.#failures.times > 0;
      this.#position = { kind: "unknown", mustBeConsistent: isAhead(error) || isRepeated };
      if (isRepeated) await this.#pauseRefused(error);
      else this.#failures = { kind: "refused", times: 1 };
      return;
    }
    if (this.#streamList && this.#position.kind === "unknown" && isApiError(error, 400, 422)) {
      log.verbose(2, "the server does not stream lists", { resource: plural });
      this.#streamList = false;
      return;
    }
    // An event that could not be decoded fails again from the same version: start with a listing.
    if (error.code === "invalid" && this.#position.kind === "at")
      this.#position = { kind: "unknown", mustBeConsistent: false };
    const unreachable = error.code === "unavailable" && !(error instanceof ApiError);
    if (!unreachable) {
      await this.#pauseRefused(error);
      return;
    }
    this.#missedAt = clock.monotonic();
    await this.#pause(error, this.#countFailure("unreachable"), UNREACHABLE);
  }

  #countFailure(kind: Failures["kind"]): number {
    const times = (this.#failures.kind === kind ? this.#failures.times : 0) + 1;
    this.#failures = { kind, times };
    return times;
  }

  async #pauseRefused(error: OutsideError): Promise<void> {
    const refused = this.#countFailure("refused");
    const sinceMs =
      this.#missedAt === undefined ? LATELY_MS : this.#deps.clock.monotonic() - this.#missedAt;
    await this.#pause(error, refused, sinceMs < LATELY_MS ? STARTING : REFUSED);
  }

  async #pause(
    error: OutsideError,
    failures: number,
    policy: { readonly initialMs: number; readonly maxMs: number },
  ): Promise<void> {
    const { clock, random, log } = this.#deps;
    const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    const delayMs = Math.max(asked, retryDelayMs(failures, policy) * (0.5 + random.next() / 2));
    this.#deps.onFollowing?.(false);
    const fields = { resource: this.#options.resource.plural, error };
    // Logged when it begins; while it lasts at a higher verbosity.
    if (failures === 1) log.warn("failed to list or watch objects; will retry", fields);
    else log.verbose(2, "failed to list or watch objects; will retry", { ...fields, delayMs });
    await clock.sleep(delayMs, this.#signal);
  }
}

/** Whether the server cannot go on from where we are: it has forgotten, or not come as far yet. */
function isGone(error: OutsideError): boolean {
  return isApiError(error, 410) || isAhead(error);
}

/** Whether we have seen more than the server knows, as after it was restored from a backup. */
function isAhead(error: OutsideError): boolean {
  if (!(error instanceof ApiError)) return false;
  const causes = error.status.details?.causes ?? [];
  return (
    causes.some(({ reason }) => reason === "ResourceVersionTooLarge") ||
    /too large resource version/i.test(error.message)
  );
}

function keyOf(metadata: ObjectMeta | undefined): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

/** Fields that the agent does not read, about half of an object. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata?.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
