import type { CoreEvent } from "../../api/generated/types.ts";
import { type EventApi, type EventWrite, isUnknownObject } from "./event-api.ts";

/**
 * Writes one event: a patch for one that was seen before, and where the server has forgotten it, or never
 * had it, the whole event with its count. Resolves with what the server made of it (recordEvent).
 */
export async function writeEvent(
  api: EventApi,
  { event, patch }: EventWrite,
  signal: AbortSignal,
): Promise<CoreEvent> {
  if (patch) {
    const { name = "", namespace = "" } = event.metadata;
    try {
      return await api.patch({ name, namespace }, patch, signal);
    } catch (error) {
      if (!isUnknownObject(error)) throw error;
    }
  }
  const { resourceVersion: _, ...metadata } = event.metadata;
  return await api.create({ ...event, metadata }, signal);
}
