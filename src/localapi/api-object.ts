// pure
import type { ObjectMeta } from "../api/generated/types.ts";
import { isTree, type Tree } from "../kit/json.ts";

/** Any object of the API: what it is, its metadata, and fields that its kind knows. */
export interface ApiObject extends Tree {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
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
