// pure

/** An image reference taken apart: `registry/path:tag@digest`. */
export interface ImageName {
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** Longest reference we look at; longer ones are refused before any pattern sees them. */
const MAX_LENGTH = 4096;
const REPOSITORY =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]+)?\/)?[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const DIGEST = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[0-9a-fA-F]{32,}$/;

/** Takes a reference apart; `undefined` when it is none (distribution/reference grammar). */
export function parseImageName(image: string): ImageName | undefined {
  if (image.length === 0 || image.length > MAX_LENGTH) return undefined;
  const [beforeDigest = "", digest, ...rest] = image.split("@");
  if (rest.length > 0 || (digest !== undefined && !DIGEST.test(digest))) return undefined;
  const colon = beforeDigest.lastIndexOf(":");
  const hasTag = colon > beforeDigest.lastIndexOf("/");
  const repository = hasTag ? beforeDigest.slice(0, colon) : beforeDigest;
  const tag = hasTag ? beforeDigest.slice(colon + 1) : undefined;
  if (!REPOSITORY.test(repository) || (tag !== undefined && !TAG.test(tag))) return undefined;
  return { repository, tag, digest };
}

/** The reference with `:latest` added where it has neither tag nor digest; `undefined` when it is none. */
export function withDefaultTag(image: string): string | undefined {
  const name = parseImageName(image);
  if (!name) return undefined;
  return name.tag === undefined && name.digest === undefined ? `${image}:latest` : image;
}
