// pure
/** Field ownership (`metadata.managedFields`): updated by every write, enforced by server-side apply. */

import { isSame } from "../../api/decode/strategic-diff.ts";
import type { JsonValue, ManagedFieldsEntry, ObjectMeta } from "../../api/generated/types.ts";
import type { Tree } from "../../kit/json.ts";
import { isTree, ownField, setOwn } from "../../kit/json.ts";
import { type ApiObject, treeOf } from "../api-object.ts";
import { fieldShape, isGranular, type SchemaShape } from "../schema/shapes.ts";
import {
  comparePaths,
  type FieldSet,
  fieldSet,
  fromFieldsV1,
  keyStep,
  type ObjectPath,
  ownedPaths,
  pathText,
  removeAt,
  toFieldsV1,
  valueAt,
} from "./field-paths.ts";

/** A field manager: its name, and the subresource it writes. */
export interface Writer {
  readonly manager: string;
  readonly apiVersion: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** RFC 3339. */
  readonly time: string;
}

interface Owner {
  readonly entry: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

/** Metadata that the server sets and no field manager owns. */
const SYSTEM_METADATA: ReadonlySet<string> = new Set([
  "creationTimestamp",
  "deletionGracePeriodSeconds",
  "deletionTimestamp",
  "generation",
  "managedFields",
  "name",
  "namespace",
  "resourceVersion",
  "selfLink",
  "uid",
]);

function isSystemField(path: ObjectPath): boolean {
  const [first, second] = path;
  if (path.length === 1) return first === "f:apiVersion" || first === "f:kind";
  return path.length === 2 && first === "f:metadata" && SYSTEM_METADATA.has(second?.slice(2) ?? "");
}

/** Places of an object that can be owned. */
function pathsOf(object: Tree, shape: SchemaShape): FieldSet {
  const all = ownedPaths(object, shape, isSystemField);
  // Metadata of which the server's own fields are all there is, has no owner.
  return new Map([...all].filter(([, path]) => path.length > 1 || path[0] !== "f:metadata"));
}

function ownersOf({ managedFields }: ObjectMeta): readonly Owner[] {
  return (managedFields ?? []).map((entry) => ({ entry, fields: fromFieldsV1(entry.fieldsV1) }));
}

function minus(set: FieldSet, others: readonly FieldSet[]): FieldSet {
  return new Map([...set].filter(([text]) => !others.some((other) => other.has(text))));
}

function union(...sets: readonly FieldSet[]): FieldSet {
  return new Map(sets.flatMap((set) => [...set]));
}

function entryOf(
  { manager, apiVersion, subresource, time }: Writer,
  operation: "Apply" | "Update",
  fields: FieldSet,
): Owner {
  const entry: ManagedFieldsEntry = {
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: "FieldsV1",
    fieldsV1: toFieldsV1(fields) as JsonValue,
    ...(subresource === "" ? {} : { subresource }),
  };
  return { entry, fields };
}

function isEntryOf(entry: ManagedFieldsEntry, writer: Writer, operation: string): boolean {
  return (
    entry.manager === writer.manager &&
    entry.operation === operation &&
    (entry.subresource ?? "") === writer.subresource
  );
}

function withOwners(object: ApiObject, owners: readonly Owner[]): ApiObject {
  const kept = owners.filter(({ fields }) => fields.size > 0);
  const entries = kept.map(({ entry, fields }) =>
    isSame(fromFieldsV1(entry.fieldsV1).size, fields.size)
      ? entry
      : { ...entry, fieldsV1: toFieldsV1(fields) as JsonValue },
  );
  // Whoever owned the metadata as a whole and no longer says so has removed it; validation says what is missing.
  const left = (object as Partial<ApiObject>).metadata ?? ({} as ApiObject["metadata"]);
  const { managedFields: _, ...metadata } = left;
  return {
    ...object,
    metadata: entries.length === 0 ? metadata : { ...metadata, managedFields: entries },
  };
}

/**
 * The object with its owners after an ordinary write: whoever writes owns what they changed, and nobody
 * else does any more. `before` is undefined for an object that is new.
 */
export function afterUpdate(
  before: ApiObject | undefined,
  now: ApiObject,
  writer: Writer,
  shape: SchemaShape,
): ApiObject {
  const empty: Tree = {};
  const old = { object: before ?? empty, paths: pathsOf(before ?? empty, shape) };
  const fresh = { object: now, paths: pathsOf(now, shape) };
  const { changed, removed } = comparePaths(old, fresh, shape);
  const owners = before ? ownersOf(before.metadata) : [];
  if (changed.size === 0 && removed.size === 0) return withOwners(now, owners);
  const own = owners.find(({ entry }) => isEntryOf(entry, writer, "Update"));
  const others = owners
    .filter((owner) => owner !== own)
    .map(({ entry, fields }) => ({ entry, fields: minus(fields, [changed, removed]) }));
  const fields = minus(union(own?.fields ?? new Map(), changed), [removed]);
  return withOwners(now, [...others, entryOf(writer, "Update", fields)]);
}

/** A field that another manager owns and whose value would change. */
export interface ApplyConflict {
  readonly path: ObjectPath;
  readonly owner: ManagedFieldsEntry;
}

/** Result of applying a configuration. */
type Applied =
  | { readonly kind: "applied"; readonly object: ApiObject }
  | { readonly kind: "conflicts"; readonly conflicts: readonly ApplyConflict[] };

/**
 * Server-side apply: `live` with what `configuration` says, without what the same manager applied before
 * and no longer says, unless another manager owns it too. `force` takes fields from their owners.
 */
export function applyConfiguration(
  live: ApiObject,
  configuration: Tree,
  by: { readonly writer: Writer; readonly force: boolean },
  shape: SchemaShape,
): Applied {
  const { writer, force } = by;
  const requested = pathsOf(configuration, shape);
  const owners = ownersOf(live.metadata);
  const own = owners.find(({ entry }) => isEntryOf(entry, writer, "Apply"));
  const others = owners.filter((owner) => owner !== own);
  const disputed = (fields: FieldSet) =>
    fieldSet(
      [...requested.values()].filter(
        (path) =>
          fields.has(pathText(path)) &&
          !path.at(-1)?.startsWith("k:") &&
          !isSame(valueAt(live, path, shape), valueAt(configuration, path, shape)),
      ),
    );
  const conflicts = others.flatMap(({ entry, fields }) =>
    [...disputed(fields).values()].map((path) => ({ path, owner: entry })),
  );
  if (conflicts.length > 0 && !force) return { kind: "conflicts", conflicts };
  const left = others.map(({ entry, fields }) => ({
    entry,
    fields: minus(fields, [disputed(fields)]),
  }));
  const dropped = minus(own?.fields ?? new Map(), [requested, ...left.map(({ fields }) => fields)]);
  let merged: unknown = mergeApplied(live, configuration, shape);
  for (const path of dropped.values()) merged = removeAt(merged, path, shape) ?? {};
  return {
    kind: "applied",
    object: withOwners(merged as ApiObject, [...left, entryOf(writer, "Apply", requested)]),
  };
}

/** Structures and maps are merged, lists by their keys, sets united; everything else is replaced. */
function mergeApplied(live: unknown, requested: unknown, shape: SchemaShape): unknown {
  if (shape.kind === "list" && shape.rule && Array.isArray(live) && Array.isArray(requested)) {
    const { rule, of } = shape;
    if (rule.mapKeys.length === 0)
      return [...live, ...requested.filter((item) => !live.some((each) => isSame(each, item)))];
    const merged: unknown[] = [...live];
    for (const item of requested) {
      const at = merged.findIndex((each) => keyStep(each, rule) === keyStep(item, rule));
      if (at < 0) merged.push(item);
      else merged[at] = mergeApplied(merged[at], item, of);
    }
    return merged;
  }
  if (!isTree(live) || !isTree(requested) || shape.kind === "list" || !isGranular(shape))
    return requested;
  const result: Record<string, unknown> = { ...live };
  for (const [key, value] of Object.entries(requested)) {
    if (key === "managedFields") continue;
    setOwn(result, key, mergeApplied(ownField(treeOf(live), key), value, fieldShape(shape, key)));
  }
  return result;
}

/** A path in words, as conflicts name it: `.spec.containers[name="a"].image`. */
export function shownPath(path: ObjectPath): string {
  return path
    .map((step) => {
      if (step.startsWith("f:")) return `.${step.slice(2)}`;
      if (!step.startsWith("k:")) return `[=${step.slice(2)}]`;
      const keys = Object.entries(JSON.parse(step.slice(2)) as Tree);
      return `[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`;
    })
    .join("");
}
