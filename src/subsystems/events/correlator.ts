import { LRUCache } from "lru-cache";
import type { CoreEvent } from "../../api/generated/types.ts";
import { spend } from "../../kit/limits/token-budget.ts";
import type { EventPatch, SeenEvent, Similar } from "./correlate.ts";
import { combine, combineSimilar, observationOf, observe } from "./correlate.ts";
import { digest, eventKey, objectKey } from "./event-keys.ts";
import type { CorrelatorRules } from "./policy.ts";

/** The present moment, as correlating needs it. */
export interface EventMoment {
  /** Milliseconds of a clock that never steps. */
  readonly at: number;
  /** RFC 3339; asked for only when events are combined, as the name is. */
  readonly time: () => string;
  /** Nanoseconds since the epoch in hex, never the same twice. */
  readonly nanosHex: () => string;
}

/** Outcome of correlating an event. */
export interface Correlation {
  /** As the API server is to have it: with its count, or combined with similar ones. */
  readonly event: CoreEvent;
  /** There for an event that was seen before. */
  readonly patch: EventPatch | undefined;
  readonly combined: boolean;
  /** Its budget is spent: it is counted, and not sent. */
  readonly filtered: boolean;
}

/** The memory of the correlator: three caches with a bound, lost with the process. */
export class Correlator {
  readonly #rules: CorrelatorRules;
  readonly #similar: LRUCache<string, Similar>;
  readonly #observed: LRUCache<string, SeenEvent>;
  readonly #spent: LRUCache<string, number>;

  constructor(rules: CorrelatorRules) {
    this.#rules = rules;
    const max = rules.cacheSize;
    this.#similar = new LRUCache({ max });
    this.#observed = new LRUCache({ max });
    this.#spent = new LRUCache({ max });
  }

  /** Takes one event in: combine, count, then filter. Never called twice for one event. */
  correlate(event: CoreEvent, now: EventMoment): Correlation {
    const { filter } = this.#rules;
    const object = objectKey(event);
    const message = digest(event.message ?? "");
    const similarTo = this.#aggregate(event, now, { object, message });
    const combined = similarTo !== undefined;
    const key = similarTo ?? eventKey(event, object, message);
    const aggregated = combined ? this.#combine(event, now) : event;
    const { event: counted, patch, record } = observe(this.#observed.get(key), aggregated);
    this.#observed.set(key, record);
    const filtered = filter ? filter(counted) : !this.#mayWrite(counted, object, now.at);
    return { event: counted, patch, combined, filtered };
  }

  /** Takes over name, count and version of an event as the API server has it. */
  update(event: CoreEvent): void {
    this.#observed.set(eventKey(event), observationOf(event));
  }

  /** The key of the events that this one is to be combined with; `undefined` when it stays single. */
  #aggregate(event: CoreEvent, now: EventMoment, known: Known): string | undefined {
    const { similarKeyOf, similar: limits } = this.#rules;
    const { key, differsBy } = similarKeyOf(event, known.object);
    const message = differsBy === event.message ? known.message : digest(differsBy);
    const { combine: isCombined, record } = combineSimilar(
      this.#similar.get(key),
      message,
      now.at,
      limits,
    );
    this.#similar.set(key, record);
    return isCombined ? key : undefined;
  }

  #combine(event: CoreEvent, now: EventMoment): CoreEvent {
    const name = `${event.involvedObject.name ?? ""}.${now.nanosHex()}`;
    const message = this.#rules.similarMessage(event);
    return combine(event, { name, time: now.time(), message });
  }

  #mayWrite(event: CoreEvent, object: string, at: number): boolean {
    const key = this.#rules.spamKeyOf(event, object);
    const { granted, fullAt } = spend(this.#spent.get(key), at, this.#rules.budgetOf(event));
    this.#spent.set(key, fullAt);
    return granted;
  }
}

/** Values computed once for all three steps. */
interface Known {
  readonly object: string;
  readonly message: number;
}
