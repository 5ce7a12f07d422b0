import type { ObjectMeta, Status } from "../../api/generated/types.ts";
import { OutsideError } from "../../kit/errors.ts";
import { apiErrorOfStatus } from "./api-error.ts";
import type { KubeObject } from "./client.ts";

/** An event of a watch as the server sends it. */
export interface WatchEvent {
  readonly type: string;
  readonly object: KubeObject & { readonly metadata?: ObjectMeta };
}

/** Decodes the lines of a watch. Throws the status of an `ERROR` event, and `OutsideError` "invalid" for what is no event. */
export async function* parseWatchLines(
  lines: AsyncIterable<string>,
): AsyncGenerator<WatchEvent, void> {
  for await (const line of lines) {
    const event = parseEvent(line);
    if (event.type === "ERROR") throw apiErrorOfStatus(event.object as Status);
    yield event;
  }
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
