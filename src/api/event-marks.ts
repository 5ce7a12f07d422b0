// pure
import type { CoreEvent } from "./generated/types.ts";

/** Data of an event beside its fields in the API. */
export interface EventMarks {
  /** It was not sent as it is: the API server has one event that stands for it and similar ones. */
  readonly combined: boolean;
  /** Times it happened that were not sent because it happened too often. */
  readonly filtered: number;
  /** Times it happened that wait on disk for the API server. */
  readonly spooled: number;
  /** Times it happened that were lost on the way to the API server. */
  readonly dropped: number;
}

/** The annotation that carries marks, e.g. `combined,filtered=3`. Never sent to an API server. */
const EVENT_MARKS_ANNOTATION = "nodelet.dev/event-marks";

/** An event without marks. */
export const NO_MARKS: EventMarks = { combined: false, filtered: 0, spooled: 0, dropped: 0 };

/** The marks as text; empty without marks. */
function formatMarks({ combined, filtered, spooled, dropped }: EventMarks): string {
  return [
    ...(combined ? ["combined"] : []),
    ...(filtered > 0 ? [`filtered=${filtered}`] : []),
    ...(spooled > 0 ? [`spooled=${spooled}`] : []),
    ...(dropped > 0 ? [`dropped=${dropped}`] : []),
  ].join();
}

/** The event with its marks as an annotation. */
export function withMarks(event: CoreEvent, marks: EventMarks): CoreEvent {
  const text = formatMarks(marks);
  if (text === "") return event;
  const { metadata } = event;
  const annotations = { ...metadata.annotations, [EVENT_MARKS_ANNOTATION]: text };
  return { ...event, metadata: { ...metadata, annotations } };
}

/** The marks of an event as text, without the annotation's name; empty when it has none. */
export const marksOf = ({ metadata }: CoreEvent): string =>
  metadata.annotations?.[EVENT_MARKS_ANNOTATION] ?? "";
