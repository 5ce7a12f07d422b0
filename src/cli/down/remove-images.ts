/** Which images go with a node, and their removal. */
import { plainMessageOf } from "../../kit/errors.ts";
import type { ImageService } from "../../outside/cri/cri.ts";
import type { Image } from "../../outside/cri/generated/api.ts";

/** Ids of the images that have none of the kept names, neither as tag nor as digest. */
export function imagesWithout(
  images: readonly Pick<Image, "id" | "repoTags" | "repoDigests">[],
  kept: readonly string[],
): readonly string[] {
  const names = new Set(kept);
  return images.flatMap(({ id, repoTags, repoDigests }) =>
    [...repoTags, ...repoDigests].some((name) => names.has(name)) ? [] : [id],
  );
}

/** Outcome of images, each with the reason where it is left. */
interface RemovedImages {
  readonly removed: readonly string[];
  readonly left: readonly string[];
}

/** Removes images one after the other; one that fails does not keep the others. */
export async function removeImages(
  service: Pick<ImageService, "removeImage">,
  images: readonly string[],
  signal: AbortSignal,
): Promise<RemovedImages> {
  const removed: string[] = [];
  const left: string[] = [];
  for (const image of images) {
    try {
      await service.removeImage(image, signal);
      removed.push(`image ${image}`);
    } catch (error) {
      left.push(`image ${image}: ${plainMessageOf(error)}`);
    }
  }
  return { removed, left };
}
