// pure
import type { JsonValue } from "../../api/generated/types.ts";

/** An object of JSON from outside. */
export type Fields = Readonly<Record<string, JsonValue | undefined>>;

/** The value as an object, if it is one. */
export function asFields(value: JsonValue | undefined): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;
}
