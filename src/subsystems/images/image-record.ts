// pure
import { normalImageName } from "../../api/text/image-reference.ts";

/** An image in the runtime's store. Times are Unix milliseconds. */
export interface ImageRecord {
  /** Id in the runtime, `sha256:…`. */
  readonly id: string;
  /** Names with tag, as the runtime gives them. */
  readonly tags: readonly string[];
  /** Names with digest. */
  readonly digests: readonly string[];
  /** As the runtime reports it: of what was pulled, with layers that other images share. */
  readonly sizeBytes: number;
  /** The runtime has pinned it: it must not be removed. */
  readonly pinned: boolean;
  readonly firstDetectedMs: number;
  /** 0 while no container of it was ever seen. */
  readonly lastUsedMs: number;
  /** How long its last pull took; absent when this node did not pull it. */
  readonly pullMs?: number;
}

/** An image in a listing of the runtime. */
export type ListedImage = Pick<ImageRecord, "id" | "tags" | "digests" | "sizeBytes" | "pinned">;

/** Users of images: by image id, e.g. `default/web (c)`. */
export type ImageUsers = ReadonlyMap<string, readonly string[]>;

interface DetectionInputs {
  readonly listed: readonly ListedImage[];
  readonly users: ImageUsers;
  /** When the listing began; new images were first detected then. */
  readonly beganMs: number;
  /** When the listing was there; images in use were last used then. */
  readonly endedMs: number;
}

/**
 * The records after a listing: new images come in, what is used is marked, size and pin are as listed, and
 * what is no longer listed is dropped (image_gc_manager.go detectImages). Times after the beginning of the
 * listing are moved to it: a clock that was set back would protect images until it has caught up.
 */
export function detectImages(
  known: ReadonlyMap<string, ImageRecord>,
  { listed, users, beganMs, endedMs }: DetectionInputs,
): ReadonlyMap<string, ImageRecord> {
  const next = new Map<string, ImageRecord>();
  for (const image of listed) {
    const before = known.get(image.id);
    const usedBeforeMs = Math.min(before?.lastUsedMs ?? 0, beganMs);
    const lastUsedMs = users.has(image.id) ? endedMs : usedBeforeMs;
    next.set(image.id, {
      ...image,
      firstDetectedMs: Math.min(before?.firstDetectedMs ?? beganMs, beganMs),
      lastUsedMs,
      ...(before?.pullMs === undefined ? {} : { pullMs: before.pullMs }),
    });
  }
  return next;
}

/** Finds the image that a text names: an id with or without `sha256:`, a name, or a name with digest. */
export class ImageIndex {
  readonly #ids = new Map<string, string>();

  constructor(images: Iterable<Pick<ImageRecord, "id" | "tags" | "digests">>) {
    for (const { id, tags, digests } of images) {
      this.#ids.set(id, id);
      this.#ids.set(id.slice(id.indexOf(":") + 1), id);
      for (const name of [...tags, ...digests]) {
        this.#ids.set(name, id);
        this.#ids.set(normalImageName(name), id);
      }
    }
  }

  /** The image's id, if there is such an image. */
  idOf(reference: string): string | undefined {
    if (reference === "") return undefined;
    return this.#ids.get(reference) ?? this.#ids.get(normalImageName(reference));
  }
}

/** When an image was last of use: its last use, or its coming when it never had one. */
export function idleSinceMs({ firstDetectedMs, lastUsedMs }: ImageRecord): number {
  return Math.max(firstDetectedMs, lastUsedMs);
}

/** The name to show: a tag, else a name with digest, else the id. */
export function shownName({ id, tags, digests }: Pick<ImageRecord, "id" | "tags" | "digests">) {
  return tags[0] ?? digests[0] ?? id;
}
