// pure
import type { ObjectMeta } from "../api/generated/types.ts";

/** An object of JSON. */
export type Tree = Readonly<Record<string, unknown>>;

/** Any object of the API: what it is, its metadata, and fields that its kind knows. */
export interface ApiObject extends Tree {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** Whether a value is an object of JSON, neither a list nor null. */
export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

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
export function keyOf({ namespace = "", name = "" }: ObjectMeta): string {
  return `${namespace}/${name}`;
}
