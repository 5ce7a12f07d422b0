/** Images as a registry keeps them: blobs by digest and manifests by name, in one folder. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  configBytes,
  goArchitecture,
  type ImageSpec,
} from "../../../src/cli/local-images/image-archive.ts";

const MEDIA_TYPE = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
} as const;
/** File with the digest of the manifest by name with tag. */
export const INDEX_FILE = "index.json";

/** What stands in the store. */
export type StoreIndex = Readonly<Record<string, string>>;

/** An image as a registry serves it. */
export interface PackedImage {
  readonly manifest: Uint8Array;
  readonly digest: string;
  /** Configuration and layers by digest. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/** Manifest and blobs of an image. */
export function packImage(image: ImageSpec): PackedImage {
  const blobs = new Map<string, Uint8Array>();
  const described = (mediaType: string, bytes: Uint8Array) => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return { mediaType, size: bytes.length, digest };
  };
  const config = described(MEDIA_TYPE.config, configBytes(image, goArchitecture()));
  const layers = image.layers.map((layer) => described(MEDIA_TYPE.layer, layer));
  const content = { schemaVersion: 2, mediaType: MEDIA_TYPE.manifest, config, layers };
  const manifest = new TextEncoder().encode(JSON.stringify(content));
  return { manifest, digest: digestOf(manifest), blobs };
}

/** Path of a blob below the store. */
export function blobPath(store: string, digest: string): string {
  return join(store, "blobs", digest.replace(":", "/"));
}

/** Writes the store; it appears when it is complete. */
export function writeStore(store: string, images: readonly ImageSpec[]): void {
  const partial = `${store}.partial`;
  rmSync(partial, { recursive: true, force: true });
  const index: Record<string, string> = {};
  for (const image of images) {
    const { manifest, digest, blobs } = packImage(image);
    for (const [name, bytes] of [...blobs, [digest, manifest] as const]) {
      const path = blobPath(partial, name);
      if (existsSync(path)) continue;
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, bytes);
    }
    for (const name of image.names) index[name] = digest;
  }
  writeFileSync(join(partial, INDEX_FILE), JSON.stringify(index, null, 1));
  renameSync(partial, store);
}

/** Digests of the manifests by name with tag. */
export function readIndex(stores: readonly string[]): StoreIndex {
  const indexes = stores.map((store) => JSON.parse(readFileSync(join(store, INDEX_FILE), "utf8")));
  return Object.assign({}, ...indexes);
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
