import type { EventText } from "../../api/event-text.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { StoredObject } from "../api-object.ts";
import { EVENT_KIND } from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import { createObject } from "../objects/create.ts";
import { ownRequest } from "./controllers.ts";

/** An event of a controller. */
interface EventNote extends EventText {
  /** Reporting component, e.g. `default-scheduler`. */
  readonly component: string;
}

/** Writes an event about an object, as a controller of a cluster does. */
export function noteEvent(
  core: ObjectsCore,
  { apiVersion, kind, metadata }: StoredObject,
  { type, reason, message, component }: EventNote,
): void {
  const { namespace = "", name, uid, resourceVersion = "" } = metadata;
  const now = rfc3339(core.clock.wall());
  // Events are namespaced: those about objects that are not are in `default`, as in a cluster.
  const eventNamespace = namespace === "" ? "default" : namespace;
  createObject(core, ownRequest(EVENT_KIND, eventNamespace, ""), {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${core.random.hex(8)}`, namespace: eventNamespace },
    involvedObject: { apiVersion, kind, namespace, name, uid, resourceVersion },
    type,
    reason,
    message,
    count: 1,
    firstTimestamp: now,
    lastTimestamp: now,
    source: { component },
    reportingComponent: component,
    reportingInstance: "",
  });
}
