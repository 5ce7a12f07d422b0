// pure

import {
  type Allocatable,
  fieldText,
  resourceText,
  type Selected,
} from "../../api/env/downward.ts";
import type {
  ConfigMap,
  Container,
  DownwardAPIVolumeFile,
  KeyToPath,
  Secret,
} from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { base64ToBytes } from "../../kit/base64.ts";

/** One file of a volume. */
export interface VolumeFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
  readonly ownerUid?: number;
}

/** The files of a volume or of a part of one, or why they cannot be had. */
export type Payload =
  | { readonly kind: "files"; readonly files: readonly VolumeFile[] }
  | { readonly kind: "fault"; readonly message: string };

/** How keys become files. */
export interface KeySelection {
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number;
  /** Keys that are not there are left out. */
  readonly optional: boolean;
}

const utf8 = new TextEncoder();

/** Kubernetes' own default for files of volumes. */
export const DEFAULT_FILE_MODE = 0o644;

/** Files of a config map; binary data is base64 in the API (configmap MakePayload). */
export function configMapFiles(configMap: ConfigMap, selection: KeySelection): Payload {
  const content = new Map<string, () => Uint8Array>();
  for (const [key, text] of Object.entries(configMap.data ?? {}))
    content.set(key, () => utf8.encode(text));
  for (const [key, text] of Object.entries(configMap.binaryData ?? {}))
    if (!content.has(key)) content.set(key, () => decodedBytes(text));
  return keyFiles(
    content,
    selection,
    (key) => `configmap references non-existent config key: ${key}`,
  );
}

/** Files of a secret (secret MakePayload). */
export function secretFiles(secret: Secret, selection: KeySelection): Payload {
  const content = new Map(
    Object.entries(secret.data ?? {}).map(
      ([key, text]) => [key, () => decodedBytes(text)] as const,
    ),
  );
  return keyFiles(content, selection, (key) => `references non-existent secret key: ${key}`);
}

function keyFiles(
  content: ReadonlyMap<string, () => Uint8Array>,
  { items = [], defaultMode, optional }: KeySelection,
  missing: (key: string) => string,
): Payload {
  if (items.length === 0) {
    const files = [...content].map(([key, bytes]) => ({
      path: key,
      content: bytes(),
      mode: defaultMode,
    }));
    return { kind: "files", files };
  }
  const files: VolumeFile[] = [];
  for (const { key, path, mode = defaultMode } of items) {
    const bytes = content.get(key);
    if (bytes) files.push({ path, content: bytes(), mode });
    else if (!optional) return { kind: "fault", message: missing(key) };
  }
  return { kind: "files", files };
}

/** Base64 as Go's decoder accepts it; other characters are skipped, since the API has validated the value. */
function decodedBytes(base64: string): Uint8Array {
  return base64ToBytes(base64.replace(/[^A-Za-z0-9+/=]/g, ""));
}

/** Files with fields of the pod and resources of its containers (downwardapi CollectData). */
export function downwardFiles(
  pod: IdentifiedPod,
  items: readonly DownwardAPIVolumeFile[] | undefined,
  { defaultMode, allocatable }: { readonly defaultMode: number; readonly allocatable: Allocatable },
): Payload {
  const files: VolumeFile[] = [];
  const faults: string[] = [];
  for (const item of items ?? []) {
    const { path, mode = defaultMode, fieldRef, resourceFieldRef } = item;
    const found: Selected = resourceFieldRef
      ? resourceText(pod, resourceFieldRef, allocatable)
      : fieldText(pod, fieldRef?.fieldPath ?? "");
    if (found.kind === "fault") faults.push(found.message);
    else files.push({ path, content: utf8.encode(found.text), mode });
  }
  return faults.length > 0 ? aggregated(faults) : { kind: "files", files };
}

/** All parts as one; later files of the same path win, faults are aggregated (NewAggregate). */
export function mergePayloads(parts: readonly Payload[]): Payload {
  const faults = parts.flatMap((part) => (part.kind === "fault" ? [part.message] : []));
  if (faults.length > 0) return aggregated(faults);
  const byPath = new Map<string, VolumeFile>();
  for (const part of parts)
    if (part.kind === "files") for (const file of part.files) byPath.set(file.path, file);
  return { kind: "files", files: [...byPath.values()] };
}

function aggregated(faults: readonly string[]): Payload {
  const distinct = [...new Set(faults)];
  const message = distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
  return { kind: "fault", message };
}

/**
 * The one user that all containers run as; `undefined` when there is none such, or one does not say
 * (volume/util FsUserFrom).
 */
export function onlyUser(pod: Pick<IdentifiedPod, "spec">): number | undefined {
  const { initContainers = [], containers = [], securityContext } = pod.spec ?? {};
  const userOf = (container: Container) =>
    container.securityContext?.runAsUser ?? securityContext?.runAsUser;
  const users = new Set([...initContainers, ...containers].map(userOf));
  const [user] = users;
  return users.size === 1 ? user : undefined;
}
