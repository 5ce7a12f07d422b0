/** RuntimeClasses of the handlers that the node offers, made when the API starts. */
import { RUNTIME_CLASS_KIND } from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import { removeObject } from "../objects/remove.ts";
import { ownRequest } from "./controllers.ts";
import { createIfAbsent } from "./namespaces.ts";

/** Marks the classes that are ours to remove; one of the same name that somebody else made stays as it is. */
const OURS = { "app.kubernetes.io/managed-by": "nodelet" };

/** Makes a class for each handler, and removes those of handlers that are no longer offered. */
export function offerRuntimeClasses(core: ObjectsCore, handlers: readonly string[]): void {
  for (const handler of handlers) {
    const metadata = { name: handler, labels: OURS };
    createIfAbsent(core, RUNTIME_CLASS_KIND, "", { metadata, handler });
  }
  for (const object of core.store.list(RUNTIME_CLASS_KIND.collection)) {
    const { name, labels = {} } = object.metadata;
    if (handlers.includes(name)) continue;
    if (!Object.entries(OURS).every(([key, value]) => labels[key] === value)) continue;
    removeObject(core, ownRequest(RUNTIME_CLASS_KIND, "", name), object, {});
  }
}
