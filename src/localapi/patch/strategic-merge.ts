// pure

import { isSame } from "../../api/decode/strategic-diff.ts";
import type { Tree } from "../../kit/json.ts";
import { isTree, jsonText, ownField, setOwn } from "../../kit/json.ts";
import { fieldShape, type SchemaShape } from "../schema/shapes.ts";
import { PatchFault } from "./json-patch.ts";

const DIRECTIVE = "$patch";
const RETAIN = "$retainKeys";
const REMOVE_FROM = "$deleteFromPrimitiveList/";
const ORDER = "$setElementOrder/";

/**
 * The value after a strategic merge patch: like a merge patch, but lists with a key are merged element by
 * element, with the directives of the API. Throws `PatchFault`.
 */
export function applyStrategicPatch(value: unknown, patch: unknown, shape: SchemaShape): unknown {
  if (!isTree(patch)) return patch;
  const directive = ownField(patch, DIRECTIVE);
  if (directive === "replace") return withoutDirectives(patch, shape);
  if (directive === "delete") return {};
  if (directive !== undefined && directive !== "merge")
    throw new PatchFault(
      `Unknown patch type found: ${typeof directive === "string" ? directive : jsonText(directive)}`,
    );
  const result: Record<string, unknown> = retained(isTree(value) ? value : {}, patch);
  for (const [key, change] of Object.entries(patch)) {
    if (key.startsWith("$")) continue;
    if (change === null) delete result[key];
    else setOwn(result, key, mergeField(ownField(result, key), change, fieldShape(shape, key)));
  }
  for (const [key, list] of Object.entries(patch)) {
    if (key.startsWith(REMOVE_FROM)) removeValues(result, key.slice(REMOVE_FROM.length), list);
    if (key.startsWith(ORDER)) {
      const field = key.slice(ORDER.length);
      order(result, { field, requested: list, before: value, shape: fieldShape(shape, field) });
    }
  }
  return result;
}

function mergeField(value: unknown, change: unknown, shape: SchemaShape): unknown {
  return Array.isArray(change) && shape.kind === "list"
    ? mergeList(value, change, shape)
    : applyStrategicPatch(value, change, shape);
}

/** Only the fields that a patch lists as to be kept, where it lists any. */
function retained(value: Tree, patch: Tree): Record<string, unknown> {
  const kept = ownField(patch, RETAIN);
  if (kept === undefined) return { ...value };
  if (!Array.isArray(kept)) throw new PatchFault(`${RETAIN} is not a list`);
  return Object.fromEntries(Object.entries(value).filter(([key]) => kept.includes(key)));
}

function mergeList(
  value: unknown,
  patch: readonly unknown[],
  shape: Extract<SchemaShape, { kind: "list" }>,
): unknown {
  const { rule, of } = shape;
  const present = Array.isArray(value) ? (value as unknown[]) : [];
  if (!rule) return patch.map((item) => withoutDirectives(item, of));
  const { mergeKey } = rule;
  if (mergeKey === undefined) {
    if (rule.mapKeys.length > 0) return patch;
    return [...present, ...patch.filter((item) => !present.some((each) => isSame(each, item)))];
  }
  if (!patch.every(isTree))
    throw new PatchFault(`an element of a list with the key ${mergeKey} is not an object`);
  const replaces = patch.some((item) => item[DIRECTIVE] === "replace");
  let merged: readonly unknown[] = replaces ? [] : present;
  for (const item of patch) {
    if (item[DIRECTIVE] !== "replace")
      merged = withElement(merged, item, { mergeKey, of, replaces });
    else if (Object.keys(item).length > 1) merged = [...merged, withoutDirectives(item, of)];
  }
  return merged;
}

interface ElementMerge {
  readonly mergeKey: string;
  readonly of: SchemaShape;
  /** Whether the list is recreated: elements are added as they are. */
  readonly replaces: boolean;
}

function withElement(
  list: readonly unknown[],
  item: Tree,
  { mergeKey, of, replaces }: ElementMerge,
): readonly unknown[] {
  const key = ownField(item, mergeKey);
  if (key === undefined)
    throw new PatchFault(`map: ${jsonText(item)} does not contain declared merge key: ${mergeKey}`);
  const isMeant = (each: unknown) => isTree(each) && isSame(each[mergeKey], key);
  if (item[DIRECTIVE] === "delete") return list.filter((each) => !isMeant(each));
  const at = replaces ? -1 : list.findIndex(isMeant);
  if (at < 0) return [...list, applyStrategicPatch({}, item, of)];
  return list.with(at, applyStrategicPatch(list[at], item, of));
}

function removeValues(result: Record<string, unknown>, field: string, values: unknown): void {
  const list = ownField(result, field);
  if (!Array.isArray(values)) throw new PatchFault(`${REMOVE_FROM}${field} is not a list`);
  if (Array.isArray(list))
    setOwn(
      result,
      field,
      list.filter((each) => !values.some((value) => isSame(value, each))),
    );
}

interface Ordering {
  readonly field: string;
  readonly requested: unknown;
  readonly before: unknown;
  readonly shape: SchemaShape;
}

/** Puts elements in the order the patch asks for; those it does not name stay behind their predecessors. */
function order(
  result: Record<string, unknown>,
  { field, requested, before, shape }: Ordering,
): void {
  const list = ownField(result, field);
  if (!Array.isArray(requested)) throw new PatchFault(`${ORDER}${field} is not a list`);
  if (!Array.isArray(list) || shape.kind !== "list") return;
  const key = shape.rule?.mergeKey;
  const idOf = (item: unknown) => jsonText(key !== undefined && isTree(item) ? item[key] : item);
  const ranks = new Map(requested.map((item, i) => [idOf(item), i]));
  const previous = isTree(before) ? ownField(before, field) : undefined;
  const old = new Map((Array.isArray(previous) ? previous : []).map((item, i) => [idOf(item), i]));
  const named = list
    .filter((item) => ranks.has(idOf(item)))
    .toSorted((a, b) => (ranks.get(idOf(a)) ?? 0) - (ranks.get(idOf(b)) ?? 0));
  const others = list.filter((item) => !ranks.has(idOf(item)));
  const ordered: unknown[] = [];
  for (const item of named) {
    const at = old.get(idOf(item));
    while (others.length > 0 && at !== undefined && (old.get(idOf(others[0])) ?? Infinity) < at)
      ordered.push(others.shift());
    ordered.push(item);
  }
  setOwn(result, field, [...ordered, ...others]);
}

/** A deep copy of a patch's value. */
function withoutDirectives(value: unknown, shape: SchemaShape): unknown {
  if (!isTree(value)) return value;
  const plain = Object.entries(value).filter(
    ([key, field]) => !key.startsWith("$") && field !== null,
  );
  return applyStrategicPatch({}, Object.fromEntries(plain), shape);
}
