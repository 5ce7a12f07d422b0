// pure
/** Credentials for registries: reading docker's configuration, and finding what is meant for an image. */

import type { JsonValue } from "../../../api/generated/types.ts";
import { base64ToBytes } from "../../../kit/base64.ts";
import { asFields, type Fields } from "../fields.ts";
import { globMatches } from "../glob.ts";

/** User name and password for a registry. */
interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
  readonly email?: string;
}

/** A Kubernetes secret that credentials came from. */
export interface SecretSource {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A service account that credentials were given for. */
export interface AccountSource {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Credentials with where they came from; without a source they are the node's own. */
export interface TrackedCredentials extends RegistryCredentials {
  readonly source?: SecretSource;
  /** The service account for which a program gave them. */
  readonly account?: AccountSource;
}

/** Registry, with or without path, to credentials. */
export type DockerConfig = Readonly<Record<string, RegistryCredentials>>;

const DEFAULT_REGISTRY = "index.docker.io";
/** Entries that are read of one configuration. */
const MAX_ENTRIES = 1_000;

/**
 * Reads docker's configuration: `config.json` with `auths`, or the old form with the registries on top.
 * Entries without user name are left out. Throws `SyntaxError` for a text that is no such thing; its
 * message quotes nothing of the text.
 */
export function parseDockerConfig(text: string, form: "config.json" | "dockercfg"): DockerConfig {
  let root: JsonValue;
  try {
    root = JSON.parse(text) as JsonValue;
  } catch {
    throw new SyntaxError("the registry credentials are not JSON");
  }
  const entries = form === "config.json" ? asFields(asFields(root)?.["auths"]) : asFields(root);
  if (!asFields(root)) throw new SyntaxError("the registry credentials are not a JSON object");
  const config: Record<string, RegistryCredentials> = {};
  for (const [registry, entry] of Object.entries(entries ?? {}).slice(0, MAX_ENTRIES)) {
    const credentials = readEntry(asFields(entry));
    if (credentials) config[registry] = credentials;
  }
  return config;
}

function readEntry(entry: Fields | undefined): RegistryCredentials | undefined {
  const text = (key: string) => (typeof entry?.[key] === "string" ? (entry[key] as string) : "");
  const email = text("email") === "" ? {} : { email: text("email") };
  const auth = text("auth");
  if (auth === "") {
    const username = text("username");
    return username === "" ? undefined : { username, password: text("password"), ...email };
  }
  const decoded = decodeBase64(auth);
  const at = decoded.indexOf(":");
  if (at < 0) return undefined;
  return { username: decoded.slice(0, at), password: decoded.slice(at + 1), ...email };
}

function decodeBase64(text: string): string {
  try {
    const bytes = base64ToBytes(text);
    return new TextDecoder().decode(bytes);
  } catch {
    return "";
  }
}

/** Several configurations, each with its source, in the order in which they are tried. */
export interface KeyringPart {
  readonly config: DockerConfig;
  readonly source?: SecretSource;
  readonly account?: AccountSource;
}

/**
 * Credentials for an image, the most specific registry entry first (credentialprovider keyring.go).
 * `repository` is the image's name without tag and digest, registry included. Empty: pull without.
 */
export function lookupCredentials(
  parts: readonly KeyringPart[],
  repository: string,
): readonly TrackedCredentials[] {
  const byKey = new Map<string, TrackedCredentials[]>();
  for (const { config, source, account } of parts) {
    const from = { ...(source ? { source } : {}), ...(account ? { account } : {}) };
    for (const [location, credentials] of Object.entries(config)) {
      const key = keyOf(location);
      const tracked = { ...credentials, ...from };
      byKey.set(key, [...(byKey.get(key) ?? []), tracked]);
    }
  }
  const found = [...byKey.keys()]
    .sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
    .filter((key) => matchesImage(key, repository))
    .flatMap((key) => byKey.get(key) ?? []);
  if (found.length > 0) return found;
  return isDefaultRegistry(repository) ? (byKey.get(DEFAULT_REGISTRY) ?? []) : [];
}

/** The entry without scheme, and without the version that docker writes into it. */
function keyOf(location: string): string {
  const bare = location.replace(/^https?:\/\//, "");
  const slash = bare.indexOf("/");
  if (slash < 0) return bare;
  const path = bare.slice(slash).replace(/^\/v[12](?=\/)/, "");
  return path === "/" || path === "" ? bare.slice(0, slash) : bare.slice(0, slash) + path;
}

function isDefaultRegistry(repository: string): boolean {
  const [first = "", ...rest] = repository.split("/");
  if (first === "") return false;
  if (rest.length === 0 || first === "docker.io" || first === DEFAULT_REGISTRY) return true;
  return !/[.:]/.test(first);
}

/**
 * Whether a registry entry, in whose host `*` stands for anything within one part, is meant for an image.
 * The ports must be equal and the entry's path a prefix of the image's (URLsMatch).
 */
export function matchesImage(glob: string, image: string): boolean {
  const pattern = splitLocation(glob);
  const target = splitLocation(image);
  if (pattern.port !== target.port || pattern.host.length !== target.host.length) return false;
  if (!target.path.startsWith(pattern.path)) return false;
  return pattern.host.every((part, at) => globMatches(part, target.host[at] ?? ""));
}

function splitLocation(location: string): {
  readonly host: readonly string[];
  readonly port: string;
  readonly path: string;
} {
  const slash = location.indexOf("/");
  const authority = slash < 0 ? location : location.slice(0, slash);
  const path = slash < 0 ? "" : location.slice(slash);
  const colon = authority.lastIndexOf(":");
  const hasPort = colon > authority.lastIndexOf("]");
  return {
    host: (hasPort ? authority.slice(0, colon) : authority).split("."),
    port: hasPort ? authority.slice(colon + 1) : "",
    path,
  };
}
