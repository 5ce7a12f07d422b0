// pure
import type { ObjectMeta } from "../api/generated/types.ts";
import { isTree, type Tree } from "../kit/json.ts";

/** Metadata with a name. */
export type NamedMeta = ObjectMeta & { readonly name: string };

/** An object of the API as it is stored: type, metadata with a name, and the fields of its kind. */
export interface ApiObject extends Tree {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: NamedMeta;
}

/** Metadata that the store keeps: the server gave the object a UID. */
type StoredMeta = NamedMeta & { readonly uid: string };

/** An object as the store has it. */
export interface StoredObject extends ApiObject {
  readonly metadata: StoredMeta;
}

/** A stored object with the fields of its kind. */
export type Stored<T> = T & StoredObject;

/** An object as clients send it; one that is to be created may leave its name to the server. */
export interface ObjectDraft extends Tree {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** The value as an object of the API, or the reason why it is none. */
export function parseApiObject(value: unknown): ApiObject | string {
  if (!isTree(value)) return "it is not an object";
  const { metadata, kind, apiVersion } = value;
  if (!isTree(metadata)) return "it has no metadata";
  if (typeof kind !== "string" || typeof apiVersion !== "string")
    return "it has no kind or apiVersion";
  const { name } = metadata;
  if (typeof name !== "string" || name === "") return "it has no name";
  return { ...value, apiVersion, kind, metadata: { ...metadata, name } };
}

/** The object as its kind has it. The fields are those that were validated when it was written. */
export function storedAs<T>(object: StoredObject): Stored<T> {
  return object as Stored<T>;
}

/** The object with the fields of its kind: it was decoded as one before. */
export const as = <T>(object: ApiObject): T => object as unknown as T;

/** The value as an object; an empty one in place of anything else. */
export function treeOf(value: unknown): Tree {
  return isTree(value) ? value : {};
}

/** The value as a text; empty in place of anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The object without some of its fields. */
export function without(tree: Tree, ...names: readonly string[]): Tree {
  return Object.fromEntries(Object.entries(tree).filter(([name]) => !names.includes(name)));
}

/** `namespace/name`, or `/name` for what belongs to no namespace; sorts as the API's lists do. */
export function keyOf({ namespace = "", name }: NamedMeta): string {
  return `${namespace}/${name}`;
}

/** Whether the object was deleted and nothing keeps it any more: no grace period, no finalizer. */
export function isFullyDeleted({ metadata }: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata;
  return (
    deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0
  );
}
