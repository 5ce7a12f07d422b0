// pure
/** Image data kept over a restart of the agent: when each was first seen and last used. */
import type { JsonValue } from "../../api/generated/types.ts";
import { asFields } from "./fields.ts";
import type { ImageRecord } from "./image-record.ts";

/** A pod that named an image, and when that was last seen (Unix milliseconds). */
export interface RequestedImage {
  readonly atMs: number;
  readonly pod: string;
}

/** Content of the checkpoint. */
interface KeptImages {
  readonly images: ReadonlyMap<string, KeptImage>;
  /** By normal name. */
  readonly requested: ReadonlyMap<string, RequestedImage>;
}

/** Times of one image; the rest is asked of the runtime. */
export type KeptImage = Pick<ImageRecord, "firstDetectedMs" | "lastUsedMs" | "pullMs">;

const FORMAT = 1;
/** Entries that are read at most; a node has some hundreds. */
const MAX_ENTRIES = 100_000;

/** The checkpoint as text; one image a line, so that people can read it. */
export function encodeKept({ images, requested }: KeptImages): string {
  const lines = [...images].map(([id, { firstDetectedMs, lastUsedMs, pullMs }]) =>
    JSON.stringify({
      id,
      firstDetectedMs,
      lastUsedMs,
      ...(pullMs === undefined ? {} : { pullMs }),
    }),
  );
  const pods = [...requested].map(([name, { atMs, pod }]) => JSON.stringify({ name, atMs, pod }));
  return `{"format":${FORMAT},"images":[\n${lines.join(",\n")}\n],"wanted":[\n${pods.join(",\n")}\n]}\n`;
}

/**
 * Reads a checkpoint. What makes no sense is left out, times to come are moved to now, so that a clock that
 * was wrong once protects no image for ever. `undefined` when the whole text is none.
 */
export function decodeKept(text: string, nowMs: number): KeptImages | undefined {
  const root = asFields(parse(text));
  if (root?.["format"] !== FORMAT) return undefined;
  const images = new Map<string, KeptImage>();
  const requested = new Map<string, RequestedImage>();
  const time = (value: JsonValue | undefined) =>
    // Never -0, which would be written as 0.
    typeof value === "number" && value >= 0 ? Math.max(0, Math.min(value, nowMs)) : undefined;
  for (const entry of asList(root["images"])) {
    const { id, firstDetectedMs, lastUsedMs, pullMs } = asFields(entry) ?? {};
    const first = time(firstDetectedMs);
    const last = time(lastUsedMs);
    if (typeof id !== "string" || first === undefined || last === undefined) continue;
    const isTime = typeof pullMs === "number" && pullMs >= 0 && Number.isFinite(pullMs);
    const took = isTime ? { pullMs: Math.max(0, pullMs) } : {};
    images.set(id, { firstDetectedMs: first, lastUsedMs: last, ...took });
  }
  for (const entry of asList(root["wanted"])) {
    const { name, atMs, pod } = asFields(entry) ?? {};
    const at = time(atMs);
    if (typeof name === "string" && typeof pod === "string" && at !== undefined)
      requested.set(name, { atMs: at, pod });
  }
  return { images, requested };
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function asList(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value.slice(0, MAX_ENTRIES) : [];
}
