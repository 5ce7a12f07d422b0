import type { ListMeta } from "../../api/generated/types.ts";
import { isTree } from "../../kit/json.ts";
import { type ApiObject, keyOf } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import { badRequest, expired } from "../status-error.ts";
import type { ObjectStore } from "../store/store.ts";
import type { Selects } from "./select.ts";

/** Objects of one version with what goes on behind them. */
export interface Page {
  readonly objects: readonly ApiObject[];
  readonly metadata: ListMeta;
}

interface Token {
  /** Version of all pages of the list. */
  readonly version: number;
  /** Key of the last object that was given. */
  readonly after: string;
}

const TOO_OLD =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.";

/** One page of a list. Throws `StatusError` BadRequest, or Expired when its version is forgotten. */
export function listPage(
  store: ObjectStore,
  kind: Kind,
  selects: Selects,
  query: URLSearchParams,
): Page {
  const limit = limitOf(query);
  const token = tokenOf(query.get("continue") ?? "");
  const version = token?.version ?? versionOf(store, query);
  const all = store.listAt(kind.collection, version);
  if (!all)
    throw expired(token ? TOO_OLD : `The resourceVersion for the provided list is too old.`);
  const matching = all.filter(
    (object) => selects(object) && (!token || keyOf(object.metadata) > token.after),
  );
  const objects = limit === 0 ? matching : matching.slice(0, limit);
  const last = objects.at(-1);
  const resourceVersion = String(version);
  const left = matching.length - objects.length;
  if (left === 0 || !last) return { objects, metadata: { resourceVersion } };
  return {
    objects,
    metadata: {
      resourceVersion,
      continue: writeToken({ version, after: keyOf(last.metadata) }),
      remainingItemCount: left,
    },
  };
}

function limitOf(query: URLSearchParams): number {
  const text = query.get("limit") ?? "";
  if (text === "") return 0;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 0)
    throw badRequest(`invalid limit ${JSON.stringify(text)}`);
  return limit;
}

function versionOf(store: ObjectStore, query: URLSearchParams): number {
  const text = query.get("resourceVersion") ?? "";
  if (text === "" || text === "0") return store.version;
  const version = Number(text);
  if (!/^[0-9]{1,15}$/.test(text))
    throw badRequest(`Invalid value: ${JSON.stringify(text)}: resource version must be a number`);
  if (query.get("resourceVersionMatch") !== "Exact") return store.version;
  return version;
}

function writeToken(token: Token): string {
  return btoa(JSON.stringify({ v: "meta.k8s.io/v1", rv: token.version, start: token.after }));
}

function tokenOf(text: string): Token | undefined {
  if (text === "") return undefined;
  try {
    const value: unknown = JSON.parse(atob(text));
    if (isTree(value)) {
      const { rv: version, start: after } = value;
      if (typeof version === "number" && typeof after === "string") return { version, after };
    }
  } catch {
    // Other tokens are rejected below.
  }
  throw badRequest("continue key is not valid");
}
