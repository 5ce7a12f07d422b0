import { LRUCache } from "lru-cache";
import type { CoreEvent } from "../../api/generated/types.ts";
import type { EventPatch, Observation, Similar } from "./correlate.ts";
import { aggregate, combine, observationOf, observe, spend } from "./correlate.ts";
import { digest, eventKey } from "./event-keys.ts";
import type { CorrelatorRules } from "./policy.ts";

/** The present moment, as correlating needs it. */
export interface Moment {
  /** Milliseconds of a clock that never steps. */
  readonly at: number;
  /** RFC 3339; asked for only when events are combined, as the name is. */
  readonly time: () => string;
  /** Nanoseconds since the epoch in hex, never the same twice. */
  readonly nanosHex: () => string;
}

/** What became of an event among those before it. */
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
  readonly #observed: LRUCache<string, Observation>;
  readonly #spent: LRUCache<string, number>;

  constructor(rules: CorrelatorRules) {
    this.#rules = rules;
    const max = rules.cacheSize;
    this.#similar = new LRUCache({ max });
    this.#observed = new LRUCache({ max });
    this.#spent = new LRUCache({ max });
  }

  /** Takes one event in: combine, count, then filter. Never called twice for one event. */
  correlate(event: CoreEvent, now: Moment): Correlation {
    const { rules, key, combined, aggregated } = this.#aggregate(event, now);
    const { event: counted, patch, record } = observe(this.#observed.get(key), aggregated);
    this.#observed.set(key, record);
    const filtered = rules.filter ? rules.filter(counted) : !this.#mayWrite(counted, now.at);
    return { event: counted, patch, combined, filtered };
  }

  /** Takes over name, count and version of an event as the API server has it. */
  update(event: CoreEvent): void {
    this.#observed.set(eventKey(event), observationOf(event));
  }

  #aggregate(event: CoreEvent, now: Moment) {
    const rules = this.#rules;
    const similar = rules.similarKeyOf(event);
    const { combine: isCombined, record } = aggregate(
      this.#similar.get(similar.key),
      digest(similar.differsBy),
      now.at,
      rules.similar,
    );
    this.#similar.set(similar.key, record);
    if (!isCombined)
      return { rules, key: eventKey(event), combined: false, aggregated: event } as const;
    const name = `${event.involvedObject.name ?? ""}.${now.nanosHex()}`;
    const message = rules.similarMessage(event);
    const aggregated = combine(event, { name, time: now.time(), message });
    return { rules, key: similar.key, combined: true, aggregated } as const;
  }

  #mayWrite(event: CoreEvent, at: number): boolean {
    const key = this.#rules.spamKeyOf(event);
    const { granted, fullAt } = spend(this.#spent.get(key), at, this.#rules.budgetOf(event));
    this.#spent.set(key, fullAt);
    return granted;
  }
}
