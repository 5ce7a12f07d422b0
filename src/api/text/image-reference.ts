// pure

/** The parts of an image's name as the user wrote it, with the implied ones filled in. */
export interface ImageReference {
  /** E.g. `docker.io`, `localhost:5000`. */
  readonly domain: string;
  /** E.g. `library/nginx`. */
  readonly path: string;
  readonly tag?: string;
  /** E.g. `sha256:…`. */
  readonly digest?: string;
}

const DEFAULT_DOMAIN = "docker.io";
const LEGACY_DEFAULT_DOMAIN = "index.docker.io";
const MAX_PATH_LENGTH = 255;
/** Longer texts are no image names. */
const MAX_LENGTH = 4096;

const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const IMAGE_ID = /^[a-f0-9]{64}$/;
const DOMAIN_LABEL = /^(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])$/;
const IPV6 = /^\[[0-9a-fA-F:]+\]$/;
const PATH_COMPONENT = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;
const PORT = /^[0-9]+$/;

const DIGEST_LENGTHS: ReadonlyMap<string, number> = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

function isDigest(text: string): boolean {
  if (!DIGEST.test(text)) return false;
  const [algorithm = "", hex = ""] = text.split(":");
  const length = DIGEST_LENGTHS.get(algorithm);
  return length === undefined || (hex.length === length && hex === hex.toLowerCase());
}

function isDomain(text: string): boolean {
  const portAt = text.lastIndexOf(":");
  const hasPort = portAt > text.lastIndexOf("]");
  if (hasPort && !PORT.test(text.slice(portAt + 1))) return false;
  const host = hasPort ? text.slice(0, portAt) : text;
  return IPV6.test(host) || host.split(".").every((label) => DOMAIN_LABEL.test(label));
}

/** The first part is a registry when it looks like a host: a dot, a port, `localhost`, or capitals. */
function splitDomain(name: string): readonly [string, string] {
  const slash = name.indexOf("/");
  const first = name.slice(0, Math.max(slash, 0));
  const isHost =
    /[.:]/.test(first) || first === "localhost" || (first !== "" && first !== first.toLowerCase());
  const [domain, path] = isHost ? [first, name.slice(slash + 1)] : [DEFAULT_DOMAIN, name];
  const canonical = domain === LEGACY_DEFAULT_DOMAIN ? DEFAULT_DOMAIN : domain;
  return [
    canonical,
    canonical === DEFAULT_DOMAIN && !path.includes("/") ? `library/${path}` : path,
  ];
}

/**
 * Reads an image's name by the grammar of `distribution/reference`, short names as those of Docker Hub.
 * `undefined` when it is none. No default tag is put in.
 */
export function parseImageReference(text: string): ImageReference | undefined {
  if (text.length > MAX_LENGTH || IMAGE_ID.test(text)) return undefined;
  const at = text.indexOf("@");
  const digest = at < 0 ? undefined : text.slice(at + 1);
  const named = at < 0 ? text : text.slice(0, at);
  const colon = named.lastIndexOf(":");
  const hasTag = colon > named.lastIndexOf("/");
  const tag = hasTag ? named.slice(colon + 1) : undefined;
  const [domain, path] = splitDomain(hasTag ? named.slice(0, colon) : named);
  if (tag !== undefined && !TAG.test(tag)) return undefined;
  if (digest !== undefined && !isDigest(digest)) return undefined;
  if (!isDomain(domain) || path.length > MAX_PATH_LENGTH) return undefined;
  if (!path.split("/").every((component) => PATH_COMPONENT.test(component))) return undefined;
  return {
    domain,
    path,
    ...(tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest }),
  };
}

/** Why a text is not an image name, in the wording of `distribution/reference`. */
export function imageReferenceFault(text: string): string {
  if (IMAGE_ID.test(text))
    return `invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`;
  const [, remainder] = splitDomain(text);
  const [remote = ""] = remainder.split(":", 1);
  return remote === remote.toLowerCase()
    ? "invalid reference format"
    : `invalid reference format: repository name (${remote}) must be lowercase`;
}

/** The pull policy that holds when none is given: `Always` for the tag `latest`, explicit or implied. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const reference = parseImageReference(image);
  if (reference === undefined) return "IfNotPresent";
  const { tag, digest } = reference;
  return tag === "latest" || (tag === undefined && digest === undefined)
    ? "Always"
    : "IfNotPresent";
}

/**
 * Whether both texts name the same image: as they are, or with what short names imply filled in. A digest counts more
 * than a tag beside it.
 */
export function isSameImage(a: string, b: string): boolean {
  if (a === b) return true;
  const [left, right] = [parseImageReference(a), parseImageReference(b)];
  if (left === undefined || right === undefined) return false;
  return fullName(left) === fullName(right);
}

function fullName({ domain, path, tag, digest }: ImageReference): string {
  return digest === undefined
    ? `${domain}/${path}:${tag ?? "latest"}`
    : `${domain}/${path}@${digest}`;
}

/**
 * One spelling for all names of the same image: with registry, and with tag or digest, of which the digest
 * wins as in the runtime. A text that is not a name (an id) is given back as it is.
 */
export function normalImageName(name: string): string {
  const reference = parseImageReference(name);
  return reference ? fullName(reference) : name;
}
