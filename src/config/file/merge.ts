// pure
import type { JsonValue } from "../../api/generated/types.ts";
import { isObject, type JsonObject } from "../tree.ts";

/**
 * Applies a JSON merge patch (RFC 7386): mappings are merged name by name, everything else, lists
 * included, replaces what was there, and `null` takes it away.
 */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map<string, JsonValue>(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) {
      merged.delete(name);
    } else if (isObject(value)) {
      const below = merged.get(name);
      merged.set(name, mergePatch(isObject(below) ? below : {}, value));
    } else {
      merged.set(name, value);
    }
  }
  return Object.fromEntries(merged);
}
