import type { AnnotatedEventText, EventText } from "../../api/event-text.ts";
import type { CoreEvent, ObjectReference } from "../../api/generated/types.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { Published } from "./broadcaster.ts";
import type { EventMoment } from "./correlator.ts";
import { type FormatValue, formatMessage } from "./format.ts";
import {
  type EventObject,
  type EventSourceName,
  isEventType,
  makeEvent,
  referenceTo,
  uuidFrom,
} from "./make-event.ts";

/** Type and reason of an event whose message is formatted. */
type EventKind = Pick<EventText, "type" | "reason">;

/** Why an event was dropped before it reached any receiver. */
export type RecordFault = "object" | "type" | "full" | "closed" | "fault";

interface RecorderDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly source: EventSourceName;
  readonly publish: (event: CoreEvent) => Published;
  /** Called for every event that was lost; `event` is missing when there was none yet. */
  readonly onLost: (why: RecordFault, event: CoreEvent | undefined) => void;
}

/**
 * Makes events and hands them over. Never waits and never throws: what cannot become an event is logged
 * and counted.
 */
export class Recorder {
  readonly #deps: RecorderDeps;
  readonly #nanos: UniqueNanos;
  readonly #times = new Times();
  readonly #time: () => string;
  readonly #nanosHex: () => string;
  /** Lost events not yet logged, and when some were logged last: a burst must not flood the log. */
  #unlogged = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    this.#nanos = new UniqueNanos(deps.clock);
    this.#time = () => this.#times.text(deps.clock.wall());
    this.#nanosHex = () => this.#nanos.next();
  }

  /** Records an event about an object. */
  event(object: EventObject | undefined, text: EventText): void {
    this.#record(object, () => text);
  }

  /** As `event`, with a format: see `formatMessage`. */
  eventf(
    object: EventObject | undefined,
    kind: EventKind,
    format: string,
    ...values: readonly FormatValue[]
  ): void {
    this.#record(object, () => ({ ...kind, message: formatMessage(format, values) }));
  }

  /** As `eventf`, for an event with annotations. */
  annotatedEventf(
    object: EventObject | undefined,
    kind: EventKind & { readonly annotations: Readonly<Record<string, string>> },
    format: string,
    ...values: readonly FormatValue[]
  ): void {
    this.#record(object, () => ({ ...kind, message: formatMessage(format, values) }));
  }

  /** As `eventf`, for something that happened at another time: both times of the event are `kind.at`. */
  pastEventf(
    object: EventObject | undefined,
    kind: EventKind & { readonly at: WallMs },
    format: string,
    ...values: readonly FormatValue[]
  ): void {
    this.#record(object, () => ({ ...kind, message: formatMessage(format, values) }));
  }

  /** The present moment for the correlator, whose names must be unlike those made here. */
  moment(): EventMoment {
    return {
      at: this.#deps.clock.monotonic(),
      time: this.#time,
      nanosHex: this.#nanosHex,
    };
  }

  #record(object: EventObject | undefined, inputOf: () => EventInput): void {
    try {
      const input = inputOf();
      const reference = object && referenceTo(object);
      if (reference === undefined) this.#lost("object", undefined, input);
      else if (!isEventType(input.type)) this.#lost("type", undefined, input);
      else {
        const event = this.#make(reference, input);
        const published = this.#deps.publish(event);
        if (published !== "queued") this.#lost(published, event, input);
      }
    } catch (error) {
      this.#deps.log.error("failed to construct an event", { error });
      this.#deps.onLost("fault", undefined);
    }
  }

  #make(reference: ObjectReference, input: EventInput): CoreEvent {
    const { clock, random, source } = this.#deps;
    return makeEvent(reference, input, source, {
      time: this.#times.text(input.at ?? clock.wall()),
      nanosHex: this.#nanos.next(),
      uuid: () => uuidFrom(random.hex(16)),
    });
  }

  #lost(why: Exclude<RecordFault, "fault">, event: CoreEvent | undefined, input: EventInput): void {
    const { type, reason, message } = input;
    const now = this.#deps.clock.monotonic();
    this.#unlogged += 1;
    if (now - this.#loggedAt >= LOG_EVERY_MS) {
      const count = this.#unlogged;
      this.#deps.log.error(LOST_TEXTS[why], { type, reason, message, count });
      this.#loggedAt = now;
      this.#unlogged = 0;
    }
    this.#deps.onLost(why, event);
  }
}

type EventInput = AnnotatedEventText & { readonly at?: WallMs };

/** Lost events are logged at most this often. */
const LOG_EVERY_MS = 10_000;

const LOST_TEXTS = {
  object: "event dropped: the object has no kind or name",
  type: "event dropped: its type is neither Normal nor Warning",
  full: "event dropped: the queue is full",
  closed: "event dropped: the recorder is closed",
} as const;

/** Nanoseconds of now in hex, rising with every call: they name events. */
class UniqueNanos {
  readonly #clock: Clock;
  #last = 0n;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  next(): string {
    const nanos = BigInt(Math.floor(this.#clock.wall())) * 1_000_000n;
    this.#last = nanos > this.#last ? nanos : this.#last + 1n;
    return this.#last.toString(16);
  }
}

/** Times as text; events come many in one second. */
class Times {
  #second = Number.NaN;
  #text = "";

  text(wall: WallMs): string {
    const second = Math.floor(wall / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = rfc3339(wall);
    }
    return this.#text;
  }
}
