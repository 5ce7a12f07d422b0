import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import { type ApiObject, keyOf, type StoredObject } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import { objectNotFound } from "../status-error.ts";
import type { ObjectStore } from "../store/store.ts";
import { type ObjectRequest, storeKeyOf } from "./object-request.ts";

/** Dependencies of all operations on objects. */
export interface ObjectsCore {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Objects whose planning failed in the version they are in, so that each is logged once. */
  readonly unplannable: WeakSet<StoredObject>;
}

/** The stored object of a request. Throws `StatusError` NotFound. */
export function findObject(core: ObjectsCore, request: ObjectRequest): StoredObject {
  const found = core.store.get(request.kind.collection, storeKeyOf(request));
  if (!found) throw objectNotFound(request.kind, request.name);
  return found;
}

/** An object as the resource shows it. */
export const shown = ({ view }: Kind, object: ApiObject): ApiObject =>
  view ? view.show(object) : object;

/** Whether the store still has the version of the object that was read: it may have changed since. */
export function isLatestVersion(
  { store }: ObjectsCore,
  collection: string,
  { metadata }: StoredObject,
): boolean {
  const kept = store.get(collection, keyOf(metadata));
  return kept?.metadata.resourceVersion === metadata.resourceVersion;
}
