import type { ObjectMeta, Status } from "../../api/generated/types.ts";
import { OutsideError } from "../../kit/errors.ts";
import { apiErrorOfStatus } from "./api-error.ts";
import type { KubeObject } from "./client.ts";

/** An event of a watch as the server sends it. */
export interface WatchEvent {
  readonly type: string;
  readonly object: KubeObject & { readonly metadata?: ObjectMeta };
}

/**
 * Finds an object at a version that is known already, as from the answer to a write; `undefined` where it is not. An object
 * is the same wherever it has the same UID and version.
 */
export type KnownObjects<T> = (uid: string, resourceVersion: string) => T | undefined;

/** Decodes the lines of a watch. Throws what an `ERROR` event tells, and `OutsideError` "invalid" for what is no event. */
export async function* parseWatchLines(
  lines: AsyncIterable<string>,
  known: KnownObjects<KubeObject> | undefined,
): AsyncGenerator<WatchEvent, void> {
  for await (const line of lines) {
    const object = known && knownObject(line, known);
    const event = object ? { type: "MODIFIED", object } : parseEvent(line);
    if (event.type === "ERROR") throw apiErrorOfStatus(event.object as Status);
    yield event;
  }
}

/** How Kubernetes begins an event of a changed object, up to the version. Any other is decoded as a whole. */
const MODIFIED =
  /^\{"type":"MODIFIED","object":\{(?:"kind":"[^"\\]*",)?(?:"apiVersion":"[^"\\]*",)?"metadata":\{"name":"[^"\\]*",(?:"generateName":"[^"\\]*",)?(?:"namespace":"[^"\\]*",)?"uid":"([^"\\]+)","resourceVersion":"([^"\\]+)"/;

/** The object of an event that need not be decoded. */
function knownObject(line: string, known: KnownObjects<KubeObject>): KubeObject | undefined {
  const [, uid, resourceVersion] = MODIFIED.exec(line) ?? [];
  return uid === undefined || resourceVersion === undefined
    ? undefined
    : known(uid, resourceVersion);
}

function parseEvent(line: string): WatchEvent {
  try {
    const event = JSON.parse(line) as Partial<WatchEvent> | null;
    if (typeof event?.type === "string" && typeof event.object === "object" && event.object)
      return { type: event.type, object: event.object };
  } catch (error) {
    throw new OutsideError("invalid", "the watch returned invalid JSON", {
      cause: error,
    });
  }
  throw new OutsideError("invalid", "the watch returned something that is not an event");
}
