// pure
/** The file of `--image-credential-provider-config`: which programs give credentials for which images. */
import type { JsonValue } from "../../../api/generated/types.ts";
import { parseDuration } from "../../../api/text/duration.ts";
import { cutToBytes } from "../../../api/text/names.ts";
import { isFileName } from "../../../api/text/path-names.ts";
import { asFields, type Fields } from "../fields.ts";
import { matchesImage } from "./keyring.ts";
import { readTokenAttributes, type TokenAttributes } from "./token-attributes.ts";

/** One credential program and its images. */
export interface CredentialProvider {
  /** File name below the folder of the programs. */
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheMs: number;
  /** Version of the protocol, `credentialprovider.kubelet.k8s.io/…`. */
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Present when the program gets pods' service accounts. */
  readonly token?: TokenAttributes;
}

/** The pod's service account as a program gets it. */
export interface AccountInRequest {
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Response of a program for an image. */
export interface ProviderAnswer {
  readonly cacheKeyType: "Image" | "Registry" | "Global";
  /** 0: not at all; absent: the provider's default. */
  readonly cacheMs?: number;
  readonly auth: Readonly<Record<string, { readonly username: string; readonly password: string }>>;
}

const CONFIG_VERSIONS = ["v1", "v1beta1", "v1alpha1"].map((v) => `kubelet.config.k8s.io/${v}`);
const PROTOCOL_VERSIONS = ["v1", "v1beta1", "v1alpha1"].map(
  (v) => `credentialprovider.kubelet.k8s.io/${v}`,
);

/** A configuration, or what is wrong with it by path. */
type ProviderConfig =
  | { readonly kind: "providers"; readonly providers: readonly CredentialProvider[] }
  | { readonly kind: "faults"; readonly faults: readonly string[] };

/** Reads the configuration from its decoded YAML or JSON (validateCredentialProviderConfig). */
export function readProviderConfig(value: JsonValue | undefined): ProviderConfig {
  const faults: string[] = [];
  const root = asFields(value);
  if (root?.["kind"] !== "CredentialProviderConfig")
    faults.push("kind: must be CredentialProviderConfig");
  if (!CONFIG_VERSIONS.includes(textOf(root?.["apiVersion"])))
    faults.push(`apiVersion: must be one of ${CONFIG_VERSIONS.join(", ")}`);
  const entries = Array.isArray(root?.["providers"]) ? root["providers"] : [];
  if (entries.length === 0)
    faults.push("providers: Required value: at least 1 item in plugins is required");
  const providers = entries.map((entry, at) =>
    readProvider(asFields(entry) ?? {}, (path, why) =>
      faults.push(`providers[${at}].${path}: ${why}`),
    ),
  );
  const names = providers.map(({ name }) => name);
  names.forEach((name, at) => {
    if (names.indexOf(name) !== at)
      faults.push(`providers[${at}].name: Duplicate value: ${JSON.stringify(name)}`);
  });
  return faults.length > 0 ? { kind: "faults", faults } : { kind: "providers", providers };
}

function readProvider(
  entry: Fields,
  fault: (path: string, why: string) => void,
): CredentialProvider {
  const text = (key: string) => (typeof entry[key] === "string" ? (entry[key] as string) : "");
  const name = text("name");
  if (!isFileName(name) || name.includes(" "))
    fault(
      "name",
      `Invalid value: ${JSON.stringify(name)}: must be the name of a file without path`,
    );
  const matchImages = textsOf(entry["matchImages"]);
  if (matchImages.length === 0) fault("matchImages", "Required value");
  const apiVersion = text("apiVersion");
  if (!PROTOCOL_VERSIONS.includes(apiVersion))
    fault("apiVersion", `Unsupported value: ${JSON.stringify(apiVersion)}`);
  const duration = parseDuration(text("defaultCacheDuration"));
  if (!duration.ok || duration.ms < 0) fault("defaultCacheDuration", "Required value");
  const token = readTokenAttributes(entry["tokenAttributes"], apiVersion, fault);
  return {
    ...(token ? { token } : {}),
    name,
    matchImages,
    apiVersion,
    defaultCacheMs: duration.ok ? duration.ms : 0,
    args: textsOf(entry["args"]),
    env: Object.fromEntries(
      (Array.isArray(entry["env"]) ? entry["env"] : []).flatMap((pair) => {
        const { name: key, value } = asFields(pair) ?? {};
        return typeof key === "string" && typeof value === "string" ? [[key, value]] : [];
      }),
    ),
  };
}

/** Whether a program is meant for an image's repository. */
export function providerMatches(provider: CredentialProvider, repository: string): boolean {
  return provider.matchImages.some((glob) => matchesImage(glob, repository));
}

/** Request to a program. */
export function providerRequest(
  provider: CredentialProvider,
  image: string,
  account?: AccountInRequest,
): string {
  const annotations = account?.annotations ?? {};
  return JSON.stringify({
    kind: "CredentialProviderRequest",
    apiVersion: provider.apiVersion,
    image,
    ...(account ? { serviceAccountToken: account.token } : {}),
    ...(Object.keys(annotations).length > 0 ? { serviceAccountAnnotations: annotations } : {}),
  });
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** Longest part of an answer that an error quotes. */
const MAX_QUOTED_BYTES = 100;
const quoted = (value: JsonValue | undefined) => cutToBytes(textOf(value), MAX_QUOTED_BYTES);

/** Parses a program's response; the `SyntaxError` it throws quotes only names of types, since the rest may hold secrets. */
export function readProviderAnswer(provider: CredentialProvider, output: string): ProviderAnswer {
  let root: Fields | undefined;
  try {
    root = asFields(JSON.parse(output) as JsonValue);
  } catch {
    throw new SyntaxError("error decoding credential provider plugin response from stdout");
  }
  if (root?.["apiVersion"] !== provider.apiVersion)
    throw new SyntaxError(
      `apiVersion from credential plugin response did not match expected apiVersion:${provider.apiVersion}, actual apiVersion:${quoted(root?.["apiVersion"])}`,
    );
  const { kind, cacheKeyType, cacheDuration } = root;
  if (kind !== "CredentialProviderResponse")
    throw new SyntaxError(
      `failed to decode CredentialProviderResponse, unexpected Kind: "${quoted(kind)}"`,
    );
  if (cacheKeyType !== "Image" && cacheKeyType !== "Registry" && cacheKeyType !== "Global")
    throw new SyntaxError(
      `credential provider plugin did not return a valid cacheKeyType: "${quoted(cacheKeyType)}"`,
    );
  const parsed = typeof cacheDuration === "string" ? parseDuration(cacheDuration) : undefined;
  if (parsed && !parsed.ok)
    throw new SyntaxError("error decoding credential provider plugin response from stdout");
  const auth: Record<string, { username: string; password: string }> = {};
  for (const [registry, entry] of Object.entries(asFields(root["auth"]) ?? {})) {
    const { username, password } = asFields(entry) ?? {};
    if (typeof username === "string" && typeof password === "string")
      auth[registry] = { username, password };
  }
  return { cacheKeyType, auth, ...(parsed?.ok ? { cacheMs: parsed.ms } : {}) };
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return (Array.isArray(value) ? value : []).filter((entry) => typeof entry === "string");
}
