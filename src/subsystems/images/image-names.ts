// pure
import { normalImageName, parseImageReference } from "../../api/text/image-reference.ts";
import { globMatches } from "./glob.ts";

/** Registry and path without tag and digest; `undefined` when the text is not a name. */
export function repositoryOf(name: string): string | undefined {
  const reference = parseImageReference(name);
  return reference && `${reference.domain}/${reference.path}`;
}

/**
 * The name as it is written, without tag and digest: `nginx` and `docker.io/library/nginx` differ. By these names the
 * Go kubelet keeps its records of pulls and its allowlist (pullmanager trimImageTagDigest). A text that is not a
 * name is given back as it is.
 */
export function writtenRepository(name: string): string {
  const reference = parseImageReference(name);
  if (!reference) return name;
  const { tag, digest } = reference;
  const tagged = digest === undefined ? name : name.slice(0, -`@${digest}`.length);
  return tag === undefined ? tagged : tagged.slice(0, -`:${tag}`.length);
}

/** Registry of a name, e.g. `docker.io`; empty when the text is not a name. */
export function registryOf(name: string): string {
  return parseImageReference(name)?.domain ?? "";
}

/**
 * Whether a pattern means an image's name. `*` stands for anything, also slashes; a pattern without tag
 * and digest means all of them. Short names are those of Docker Hub, as everywhere.
 */
export function matchesName(pattern: string, name: string): boolean {
  const globs = globbed(pattern);
  const normal = normalImageName(name);
  const repository = repositoryOf(name) ?? name;
  return globs.some((glob) => globMatches(glob, normal) || globMatches(glob, repository));
}

/** The pattern itself, and what it is with the implied parts of a Docker Hub name. */
function globbed(pattern: string): readonly string[] {
  const first = pattern.split("/")[0] ?? "";
  if (pattern.includes("/") && /[.:*]|^localhost$/.test(first)) return [pattern];
  return pattern.includes("/")
    ? [pattern, `docker.io/${pattern}`]
    : [pattern, `docker.io/library/${pattern}`];
}
