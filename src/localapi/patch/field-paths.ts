// pure
/**
 * Fields of an object that a manager can own, as server-side apply names them (FieldsV1): `f:name` is a
 * field, `k:{…}` an element of a list by its keys, `v:…` a value of a set.
 */

import { isSame } from "../../api/decode/strategic-diff.ts";
import type { Tree } from "../../kit/json.ts";
import { isTree, ownField, setOwn } from "../../kit/json.ts";
import type { ListRule } from "../schema/list-rules.ts";
import { KEY_DEFAULTS } from "../schema/list-rules.ts";
import { fieldShape, isGranular, type SchemaShape } from "../schema/shapes.ts";

/** Steps from the root of an object to a place in it. */
export type ObjectPath = readonly string[];

/** Places by their text; see `pathText`. */
export type FieldSet = ReadonlyMap<string, ObjectPath>;

const SEPARATOR = "\u0000";
/** In FieldsV1 the place itself, beside the places beneath it. */
const SELF = ".";

/** One text for a path. */
export const pathText = (path: ObjectPath): string => path.join(SEPARATOR);

/** A set of the given places. */
export function fieldSet(paths: Iterable<ObjectPath>): FieldSet {
  return new Map([...paths].map((path) => [pathText(path), path]));
}

/** Every place of `object` that has an owner of its own. What `isIgnored` holds for is left out. */
export function ownedPaths(
  object: Tree,
  shape: SchemaShape,
  isIgnored: (path: ObjectPath) => boolean = () => false,
): FieldSet {
  const found: ObjectPath[] = [];
  const visit = (value: unknown, at: SchemaShape, path: ObjectPath) => {
    if (isIgnored(path)) return;
    const children = value === undefined ? [] : childrenOf(value, at);
    if (children === undefined || children.length === 0) {
      if (path.length > 0 && value !== undefined) found.push(path);
      return;
    }
    if (path.at(-1)?.startsWith("k:")) found.push(path);
    for (const { step, value: child, shape: below } of children)
      visit(child, below, [...path, step]);
  };
  visit(object, shape, []);
  return fieldSet(found);
}

interface Child {
  readonly step: string;
  readonly value: unknown;
  readonly shape: SchemaShape;
}

const LEAF: SchemaShape = { kind: "leaf" };

/** The places right below one; undefined when the place is owned as a whole. */
function childrenOf(value: unknown, shape: SchemaShape): readonly Child[] | undefined {
  if (!isGranular(shape)) return undefined;
  if (shape.kind === "list") {
    if (!Array.isArray(value) || !shape.rule) return undefined;
    const { rule, of } = shape;
    return value.map((item: unknown) =>
      rule.mapKeys.length === 0
        ? { step: `v:${JSON.stringify(item)}`, value: item, shape: LEAF }
        : { step: keyStep(item, rule), value: item, shape: of },
    );
  }
  if (!isTree(value)) return undefined;
  return Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .map(([name, field]) => ({ step: `f:${name}`, value: field, shape: fieldShape(shape, name) }));
}

/** The step to an element: its key fields in the order of their names, as the API writes them. */
export function keyStep(item: unknown, { mapKeys }: ListRule): string {
  const tree = isTree(item) ? item : {};
  const keys = mapKeys.toSorted().flatMap((name) => {
    const value = ownField(tree, name) ?? KEY_DEFAULTS[name];
    return value === undefined ? [] : [[name, value]];
  });
  return `k:${JSON.stringify(Object.fromEntries(keys))}`;
}

/** The value at a place; undefined when there is none. */
export function valueAt(object: unknown, path: ObjectPath, shape: SchemaShape): unknown {
  let value = object;
  let at = shape;
  for (const step of path) {
    const child: Child | undefined = childrenOf(value, at)?.find((each) => each.step === step);
    if (!child) return undefined;
    value = child.value;
    at = child.shape;
  }
  return value;
}

/** The object without what is at a place; maps and lists that become empty go too. */
export function removeAt(value: unknown, path: ObjectPath, shape: SchemaShape): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return undefined;
  if (shape.kind === "list") {
    if (!Array.isArray(value)) return value;
    const children = childrenOf(value, shape) ?? [];
    const left = children.flatMap(({ step: own, value: item, shape: below }) => {
      if (own !== step) return [item];
      const kept = rest.length === 0 ? undefined : removeAt(item, rest, below);
      return kept === undefined ? [] : [kept];
    });
    return left.length === 0 ? undefined : left;
  }
  if (!isTree(value)) return value;
  const name = step.slice(2);
  const result: Record<string, unknown> = { ...value };
  if (!Object.hasOwn(value, name)) return value;
  const kept = rest.length === 0 ? undefined : removeAt(value[name], rest, fieldShape(shape, name));
  if (kept === undefined) delete result[name];
  else setOwn(result, name, kept);
  return Object.keys(result).length === 0 ? undefined : result;
}

/** Places of `before` and `now` that are not the same in both: changed or added, and removed. */
export function comparePaths(
  before: { readonly object: Tree; readonly paths: FieldSet },
  now: { readonly object: Tree; readonly paths: FieldSet },
  shape: SchemaShape,
): { readonly changed: FieldSet; readonly removed: FieldSet } {
  const changed = [...now.paths.values()].filter((path) => {
    if (!before.paths.has(pathText(path))) return true;
    // Elements are compared by their fields.
    if (path.at(-1)?.startsWith("k:")) return false;
    return !isSame(valueAt(before.object, path, shape), valueAt(now.object, path, shape));
  });
  const removed = [...before.paths.values()].filter((path) => !now.paths.has(pathText(path)));
  return { changed: fieldSet(changed), removed: fieldSet(removed) };
}

/** Writes a set as FieldsV1. */
export function toFieldsV1(set: FieldSet): Tree {
  const root: Record<string, unknown> = {};
  for (const path of set.values()) {
    let at = root;
    for (const step of path) {
      if (!Object.hasOwn(at, step)) at[step] = {};
      at = at[step] as Record<string, unknown>;
    }
    at[SELF] = {};
  }
  return collapsed(root);
}

/** A place with nothing beneath it is written as `{}`. */
function collapsed(node: Tree): Tree {
  const entries = Object.entries(node).map(([step, below]) => [
    step,
    step === SELF ? {} : collapsed(below as Tree),
  ]);
  return entries.length === 1 && entries[0]?.[0] === SELF ? {} : Object.fromEntries(entries);
}

/** Reads FieldsV1; what is no step is left out. */
export function fromFieldsV1(fields: unknown): FieldSet {
  const found: ObjectPath[] = [];
  const visit = (node: unknown, path: ObjectPath) => {
    const entries = isTree(node) ? Object.entries(node) : [];
    if (entries.length === 0 && path.length > 0) found.push(path);
    for (const [step, below] of entries) {
      // The object itself is nobody's field.
      if (step === SELF && path.length > 0) found.push(path);
      else if (/^[fkvi]:/.test(step)) visit(below, [...path, step]);
    }
  };
  visit(fields, []);
  return fieldSet(found);
}
