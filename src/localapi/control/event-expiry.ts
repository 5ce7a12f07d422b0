/** Forgets events after an hour, as the API server does (`--event-ttl`). */
import type { CoreEvent } from "../../api/generated/types.ts";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import { storedAs } from "../api-object.ts";
import { EVENT_KIND } from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import type { Controller } from "./controllers.ts";

const LIFETIME_MS = 3_600_000;
const EVERY_MS = 60_000;
/** More events than this are not kept, however young they are. */
const MAX_EVENTS = 10_000;

/** See the head of this file. */
export function eventController({ store, clock }: ObjectsCore): Controller {
  let checkedAt = Number.NEGATIVE_INFINITY;
  return {
    name: "local API: events",
    everyMs: EVERY_MS,
    plan: () => {
      const now = clock.wall();
      // Every write wakes all controllers; this one has time unless there are too many.
      if (now - checkedAt < EVERY_MS && store.count(EVENT_KIND.collection) <= MAX_EVENTS) return [];
      checkedAt = now;
      const byAge = store
        .list(EVENT_KIND.collection)
        .map((object) => ({ object, at: seenAt(storedAs(object)) }))
        .toSorted((a, b) => a.at - b.at);
      const surplus = Math.max(0, byAge.length - MAX_EVENTS);
      return byAge
        .filter(({ at }, i) => i < surplus || now - at > LIFETIME_MS)
        .map(
          ({ object }) =>
            () =>
              void store.remove(EVENT_KIND.collection, object),
        );
    },
  };
}

function seenAt({ series, lastTimestamp, eventTime, metadata }: CoreEvent): number {
  const text =
    series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata?.creationTimestamp ?? "";
  return parseTimestamp(text) ?? 0;
}
