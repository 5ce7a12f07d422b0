// pure
import type { JsonValue } from "../api/generated/types.ts";
import { isTree } from "../kit/json.ts";

/** A JSON object. */
export type JsonObject = { readonly [name: string]: JsonValue };

/** The value at a dotted path; `undefined` when it or something above it is missing. */
export function getAt(tree: JsonObject, path: string): JsonValue | undefined {
  let at: JsonValue | undefined = tree;
  for (const name of path.split(".")) {
    if (!isTree(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

/** The same tree with `value` at a dotted path; objects above are made when missing. */
export function setAt(tree: JsonObject, path: string, value: JsonValue): JsonObject {
  const [name = "", ...rest] = path.split(".");
  if (rest.length === 0) return withEntry(tree, name, value);
  const below = Object.hasOwn(tree, name) ? tree[name] : undefined;
  return withEntry(tree, name, setAt(isTree(below) ? below : {}, rest.join("."), value));
}

/** The same object with one more entry, safe for any name: a computed key `__proto__` does not set the prototype. */
function withEntry(object: JsonObject, name: string, value: JsonValue): JsonObject {
  return { ...object, [name]: value };
}
