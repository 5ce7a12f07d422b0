// pure
import { humanDuration } from "../../api/text/human-duration.ts";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import type { ApiObject } from "../api-object.ts";
import type { PrintedColumn } from "../kind.ts";

/** Placeholder for absent values. */
export const NONE = "<none>";
/** Placeholder for unknown values. */
export const UNKNOWN = "<unknown>";
/** Placeholder for values that were not given. */
export const UNSET = "<unset>";

/** A column that is always shown. */
export const column = (name: string, type: PrintedColumn["type"] = "string"): PrintedColumn => ({
  name,
  type,
  priority: 0,
});

/** A column of `-o wide`. */
export const wideColumn = (
  name: string,
  type: PrintedColumn["type"] = "string",
): PrintedColumn => ({
  name,
  type,
  priority: 1,
});

/** The first column of nearly every table. */
export const NAME: PrintedColumn = { name: "Name", type: "string", format: "name", priority: 0 };
/** How old an object is. */
export const AGE: PrintedColumn = column("Age");

/** How long ago a time of the API was. */
export function age(text: string | undefined, now: number): string {
  const at = text === undefined ? undefined : parseTimestamp(text);
  return at === undefined ? UNKNOWN : humanDuration(now - at);
}

/** How old the object is. */
export const ageOf = ({ metadata }: ApiObject, now: number): string =>
  age(metadata.creationTimestamp, now);

/** The text, or `<none>` in place of an empty one. */
export const orNone = (text: string | undefined): string =>
  text === undefined || text === "" ? NONE : text;

/** `a=b,c=d` in the order of the keys. */
export function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return orNone(pairs.toSorted().join(","));
}
