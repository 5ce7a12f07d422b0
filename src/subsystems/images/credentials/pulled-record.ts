// pure
/**
 * Records of the credentials that pulled each image, in the Go kubelet's format, so that they stay valid when the
 * node changes its agent (KEP-2535, pkg/kubelet/images/pullmanager).
 */

import type { JsonValue } from "../../../api/generated/types.ts";
import { rfc3339 } from "../../../api/text/timestamps.ts";
import type { WallMs } from "../../../kit/clock.ts";
import { setOwn } from "../../../kit/json.ts";
import { asFields, type Fields } from "../fields.ts";
import type { SecretSource } from "./keyring.ts";

/** A secret that has pulled an image, with the hash of the credentials it held then. */
export interface PullingSecret extends SecretSource {
  readonly credentialHash: string;
}

/** A service account that has pulled an image. */
export interface PullingAccount {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Access to an image without pulling it again. */
export interface ImageAccess {
  readonly kubernetesSecrets?: readonly PullingSecret[];
  readonly kubernetesServiceAccounts?: readonly PullingAccount[];
  /** Pulled without credentials, or with those of the node. */
  readonly nodePodsAccessible?: boolean;
}

/** The stored record of one image: who may use it, by its names as pods write them, without tag and digest. */
export interface PulledRecord {
  readonly lastUpdatedMs: number;
  readonly imageRef: string;
  readonly access: Readonly<Record<string, ImageAccess>>;
}

/** While fewer secrets are known, one that matches by name or by content only is taken in. */
const LEARN_BELOW = 100;
const API_VERSION = "kubelet.config.k8s.io/v1beta1";
/** Versions of the Go kubelet's records, which all have the same fields. */
const KNOWN_VERSIONS: readonly JsonValue[] = [API_VERSION, "kubelet.config.k8s.io/v1alpha1"];

/** How strict the node is about images that are there (KubeletConfiguration). */
export type VerificationPolicy =
  | "NeverVerify"
  | "NeverVerifyPreloadedImages"
  | "NeverVerifyAllowlistedImages"
  | "AlwaysVerify";

/** Whether credentials are asked for at all. `repository` is the name as the pod writes it, without tag and digest; `pulledByNode` means a record exists. */
export function needsVerification(
  policy: VerificationPolicy,
  allowlist: readonly string[],
  { repository, pulledByNode }: { readonly repository: string; readonly pulledByNode: boolean },
): boolean {
  switch (policy) {
    case "NeverVerify":
      return false;
    case "NeverVerifyPreloadedImages":
      return pulledByNode;
    case "NeverVerifyAllowlistedImages":
      return !allowlist.some((pattern) =>
        pattern.endsWith("/*")
          ? repository.startsWith(pattern.slice(0, -1))
          : repository === pattern,
      );
    case "AlwaysVerify":
      return true;
    default:
      return policy satisfies never;
  }
}

/** Result of a check: whether the pod may use the image as it is, and what to record. */
interface AccessVerdict {
  readonly allowed: boolean;
  readonly learn?: PullingSecret;
}

/** Whether one of the pod's secrets, or its service account, has pulled the image before (MustAttemptImagePull). */
export function checkAccess(
  access: ImageAccess | undefined,
  podSecrets: readonly PullingSecret[],
  podAccount?: PullingAccount,
): AccessVerdict {
  if (!access) return { allowed: false };
  if (access.nodePodsAccessible === true) return { allowed: true };
  const accounts = access.kubernetesServiceAccounts ?? [];
  if (podAccount && accounts.some((account) => sameSecret(account, podAccount)))
    return { allowed: true };
  const known = access.kubernetesSecrets ?? [];
  for (const secret of podSecrets) {
    for (const cached of known) {
      const sameHash =
        cached.credentialHash !== "" && secret.credentialHash === cached.credentialHash;
      const same = sameSecret(secret, cached);
      const mayLearn = known.length < LEARN_BELOW;
      if (sameHash) return same || !mayLearn ? { allowed: true } : { allowed: true, learn: secret };
      if (same && mayLearn) return { allowed: true, learn: secret };
    }
  }
  return { allowed: false };
}

function sameSecret(a: SecretSource, b: SecretSource): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

/** The record with more access; the same object when nothing changes. Node-wide access replaces all others. */
export function withAccess(
  record: PulledRecord,
  repository: string,
  added: ImageAccess | undefined,
  nowMs: number,
): PulledRecord {
  if (!added) return record;
  const before = Object.hasOwn(record.access, repository) ? record.access[repository] : undefined;
  const merged = mergeAccess(before, added);
  if (merged === before || merged === undefined) return record;
  return {
    ...record,
    lastUpdatedMs: nowMs,
    access: { ...record.access, [repository]: merged },
  };
}

function mergeAccess(before: ImageAccess | undefined, added: ImageAccess): ImageAccess | undefined {
  if (before?.nodePodsAccessible === true) return before;
  if (added.nodePodsAccessible === true) return { nodePodsAccessible: true };
  const secrets = before?.kubernetesSecrets ?? [];
  const news = (added.kubernetesSecrets ?? []).filter(
    (secret) =>
      !secrets.some(
        (known) => sameSecret(known, secret) && known.credentialHash === secret.credentialHash,
      ),
  );
  const accounts = before?.kubernetesServiceAccounts ?? [];
  const newAccounts = (added.kubernetesServiceAccounts ?? []).filter(
    (account) => !accounts.some((known) => sameSecret(known, account)),
  );
  if (news.length + newAccounts.length === 0) return before;
  const kept = secrets.filter((known) => !news.some((secret) => sameSecret(known, secret)));
  const allSecrets = [...kept, ...news].sort(bySecret);
  const allAccounts = [...accounts, ...newAccounts].sort(bySecret);
  return {
    ...(allSecrets.length > 0 ? { kubernetesSecrets: allSecrets } : {}),
    ...(allAccounts.length > 0 ? { kubernetesServiceAccounts: allAccounts } : {}),
  };
}

function bySecret(a: SecretSource, b: SecretSource): number {
  const [left, right] = [a, b].map(({ namespace, name, uid }) => `${namespace}\0${name}\0${uid}`);
  return (left ?? "") < (right ?? "") ? -1 : left === right ? 0 : 1;
}

/** The record as the Go kubelet writes it. */
export function encodeRecord({ lastUpdatedMs, imageRef, access }: PulledRecord): string {
  return `${JSON.stringify({
    kind: "ImagePulledRecord",
    apiVersion: API_VERSION,
    lastUpdatedTime: rfc3339(lastUpdatedMs as WallMs),
    imageRef,
    ...(Object.keys(access).length === 0 ? {} : { credentialMapping: access }),
  })}\n`;
}

/** The note that a pull has begun, as the Go kubelet writes it. */
export function encodeIntent(image: string): string {
  return `${JSON.stringify({ kind: "ImagePullIntent", apiVersion: API_VERSION, image })}\n`;
}

/**
 * Reads a record; `undefined` when the text is none, or one of a version that is not known: whom that lets use the image
 * is not to be guessed.
 */
export function decodeRecord(text: string): PulledRecord | undefined {
  const root = parseVersioned(text);
  const { kind, imageRef, lastUpdatedTime, credentialMapping } = root ?? {};
  if (kind !== "ImagePulledRecord" || typeof imageRef !== "string") return undefined;
  const at = typeof lastUpdatedTime === "string" ? Date.parse(lastUpdatedTime) : Number.NaN;
  const access: Record<string, ImageAccess> = {};
  for (const [repository, value] of Object.entries(asFields(credentialMapping) ?? {}))
    setOwn(access, repository, readAccess(asFields(value) ?? {}));
  return { imageRef, lastUpdatedMs: Number.isNaN(at) ? 0 : at, access };
}

/** The image of a pull that began; `undefined` when the text is no such note. */
export function decodeIntent(text: string): string | undefined {
  const { kind, image } = parseVersioned(text) ?? {};
  return kind === "ImagePullIntent" && typeof image === "string" ? image : undefined;
}

function parseVersioned(text: string): Fields | undefined {
  const fields = parse(text);
  return KNOWN_VERSIONS.includes(fields?.["apiVersion"] ?? null) ? fields : undefined;
}

function parse(text: string): Fields | undefined {
  try {
    return asFields(JSON.parse(text) as JsonValue);
  } catch {
    return undefined;
  }
}

function readAccess(fields: Fields): ImageAccess {
  const coordinates = (value: JsonValue | undefined) => {
    const entry = asFields(value) ?? {};
    const text = (key: string) => (typeof entry[key] === "string" ? (entry[key] as string) : "");
    return { uid: text("uid"), namespace: text("namespace"), name: text("name"), text };
  };
  const list = (key: string) => {
    const value = fields[key];
    return (Array.isArray(value) ? value : []).map(coordinates);
  };
  const secrets = list("kubernetesSecrets").map(({ text, ...secret }) => ({
    ...secret,
    credentialHash: text("credentialHash"),
  }));
  const accounts = list("kubernetesServiceAccounts").map(({ text: _, ...account }) => account);
  return {
    ...(secrets.length > 0 ? { kubernetesSecrets: secrets } : {}),
    ...(accounts.length > 0 ? { kubernetesServiceAccounts: accounts } : {}),
    ...(fields["nodePodsAccessible"] === true ? { nodePodsAccessible: true } : {}),
  };
}
