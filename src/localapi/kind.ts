// pure
/** Properties of a kind of objects for the server. */
import type { Problems } from "../api/validation/fields.ts";
import type { Tree } from "../kit/json.ts";
import type { ApiObject, ObjectDraft } from "./api-object.ts";

/** A column of `kubectl get`. */
export interface PrintedColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly format?: "name";
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority: 0 | 1;
}

/** Cells of a row in the order of the columns. */
type Cells = readonly (string | number)[];

/** How objects of a kind are shown in a table. */
export interface ObjectTable {
  readonly columns: readonly PrintedColumn[];
  /** At `now`, Unix milliseconds. */
  cells(object: ApiObject, now: number): Cells;
}

/** Rules of a kind beside those of all kinds. Every part is optional. */
export interface KindRules {
  /** Fills in what the API fills in. Done again it changes nothing. */
  readonly complete?: (object: ApiObject) => ApiObject;
  /** Makes a new object fit to be kept, e.g. with its first status. */
  readonly begin?: (object: ApiObject) => ApiObject;
  /** Copies fields that an update cannot change from the stored object. */
  readonly keep?: (now: ApiObject, before: ApiObject) => ApiObject;
  /** Of a status that is written through its own path: what is left out and nevertheless stays. */
  readonly keepStatus?: (now: ApiObject, before: ApiObject) => ApiObject;
  readonly validate?: (object: ApiObject) => Problems;
  /** Names are not those of other kinds: `validate` judges them. */
  readonly hasOwnNames?: true;
  /** Warnings for the client that creates or replaces the object. */
  readonly warn?: (object: ApiObject) => readonly string[];
  /** Beside `validate`, for updates. */
  readonly validateChange?: (now: ApiObject, before: ApiObject, subresource: string) => Problems;
  /** Seconds an object is given when it is deleted; 0 for at once. `asked` is what the request says. */
  readonly graceSeconds?: (object: ApiObject, asked: number | undefined) => number;
}

/** Requests that a resource answers. */
export type Verb =
  | "create"
  | "delete"
  | "deletecollection"
  | "get"
  | "list"
  | "patch"
  | "update"
  | "watch";

/** A resource: a kind, where it is, and its rules. */
export interface Kind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Name in `API_SCHEMA`. */
  readonly type: string;
  /** Collection of its objects in the store; two resources may share one. */
  readonly collection: string;
  readonly verbs: readonly Verb[];
  readonly hasStatus: boolean;
  readonly rules: KindRules;
  readonly table: ObjectTable;
  /** Fields, beside name and namespace, that can be selected by. */
  readonly selectable: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Between what is kept and what this resource shows. */
  readonly view?: {
    readonly show: (kept: ApiObject) => ApiObject;
    readonly keep: (shown: ObjectDraft) => ObjectDraft;
  };
}

/** A field of an object by its path, as text. */
export function textAt(object: Tree, ...path: readonly string[]): string {
  let value: unknown = object;
  for (const name of path) {
    if (typeof value !== "object" || value === null) return "";
    value = (value as Tree)[name];
  }
  return value === undefined || value === null || typeof value === "object" ? "" : String(value);
}
