import type { CoreEvent, ObjectReference } from "../../api/generated/types.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import { messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { Published } from "./broadcaster.ts";
import type { Moment } from "./correlator.ts";
import { type FormatValue, formatMessage } from "./format.ts";
import {
  type EventObject,
  type EventSourceName,
  isEventType,
  makeEvent,
  referenceTo,
  type Said,
  uuidFrom,
} from "./make-event.ts";

/** Type and reason of what a format says. */
export type SaidKind = Pick<Said, "type" | "reason">;

/** Why an event was lost before anybody heard of it. */
export type RecordFault = "object" | "type" | "full" | "closed" | "fault";

/** What a recorder needs. */
export interface RecorderDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly source: EventSourceName;
  readonly publish: (event: CoreEvent) => Published;
  /** Told of every event that was lost; `event` is missing when there was none yet. */
  readonly onLost: (why: RecordFault, event: CoreEvent | undefined) => void;
}

/**
 * Makes events and hands them over. Never waits and never throws: what cannot become an event is said in the
 * log and counted.
 */
export class Recorder {
  readonly #deps: RecorderDeps;
  readonly #nanos: UniqueNanos;
  readonly #times = new Times();
  readonly #time: () => string;
  readonly #nanosHex: () => string;
  /** Losses not yet said, and when some were said last: in a flood the log must not be the next to drown. */
  #unsaid = 0;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    this.#nanos = new UniqueNanos(deps.clock);
    this.#time = () => this.#times.text(deps.clock.wall());
    this.#nanosHex = () => this.#nanos.next();
  }

  /** Says something about an object. */
  event(object: EventObject | undefined, said: Said): void {
    this.#record(object, () => said);
  }

  /** As `event`, with a format: see `formatMessage`. */
  eventf(
    object: EventObject | undefined,
    said: SaidKind,
    format: string,
    ...values: readonly FormatValue[]
  ): void {
    this.#record(object, () => ({ ...said, message: formatMessage(format, values) }));
  }

  /** As `eventf`, for an event with annotations. */
  annotatedEventf(
    object: EventObject | undefined,
    said: SaidKind & { readonly annotations: Readonly<Record<string, string>> },
    format: string,
    ...values: readonly FormatValue[]
  ): void {
    this.#record(object, () => ({ ...said, message: formatMessage(format, values) }));
  }

  /** As `eventf`, for something that happened at another time: both times of the event are `said.at`. */
  pastEventf(
    object: EventObject | undefined,
    said: SaidKind & { readonly at: WallMs },
    format: string,
    ...values: readonly FormatValue[]
  ): void {
    this.#record(object, () => ({ ...said, message: formatMessage(format, values) }));
  }

  /** The present moment for the correlator, whose names must be unlike those made here. */
  moment(): Moment {
    return {
      at: this.#deps.clock.monotonic(),
      time: this.#time,
      nanosHex: this.#nanosHex,
    };
  }

  #record(object: EventObject | undefined, say: () => Told): void {
    try {
      const said = say();
      const reference = object && referenceTo(object);
      if (reference === undefined) this.#lost("object", undefined, said);
      else if (!isEventType(said.type)) this.#lost("type", undefined, said);
      else {
        const event = this.#make(reference, said);
        const published = this.#deps.publish(event);
        if (published !== "queued") this.#lost(published, event, said);
      }
    } catch (error) {
      this.#deps.log.error("event could not be made", { problem: messageOf(error) });
      this.#deps.onLost("fault", undefined);
    }
  }

  #make(reference: ObjectReference, said: Told): CoreEvent {
    const { clock, random, source } = this.#deps;
    return makeEvent(reference, said, source, {
      time: this.#times.text(said.at ?? clock.wall()),
      nanosHex: this.#nanos.next(),
      uuid: () => uuidFrom(random.hex(16)),
    });
  }

  #lost(why: Exclude<RecordFault, "fault">, event: CoreEvent | undefined, said: Told): void {
    const { type, reason, message } = said;
    const now = this.#deps.clock.monotonic();
    this.#unsaid += 1;
    if (now - this.#saidAt >= SAY_EVERY_MS) {
      const count = this.#unsaid;
      this.#deps.log.error(LOST_TEXTS[why], { type, reason, message, count });
      this.#saidAt = now;
      this.#unsaid = 0;
    }
    this.#deps.onLost(why, event);
  }
}

type Told = Said & {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly at?: WallMs;
};

/** Lost events are said in the log at most this often. */
const SAY_EVERY_MS = 10_000;

const LOST_TEXTS = {
  object: "event is lost: the object does not say what it is",
  type: "event is lost: its type is neither Normal nor Warning",
  full: "event is lost: too many wait already",
  closed: "event is lost: events are closed",
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
