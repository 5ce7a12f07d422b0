/** Builds an image of one layer from a folder: an OCI archive, which `docker load` reads too. */
import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { messageOf } from "../../kit/errors.ts";
import { CliError } from "../../present/cli-error.ts";
import type { Progress } from "../progress.ts";
import { type FolderLayer, type SkippedEntry, writeFolderLayer } from "./folder-layer.ts";
import { type ImageConfig, imageConfigBytes } from "./image-archive.ts";
import { type TarEntry, tarHeader, tarPadding, writeTar } from "./tar.ts";

interface ImageBuild {
  readonly layer: FolderLayer;
  /** Full references with host and tag; at least one. */
  readonly names: readonly string[];
  readonly config: ImageConfig;
  /** In Go's spelling, e.g. `amd64`. */
  readonly architecture: string;
  readonly onProgress: (progress: Progress) => void;
}

/** Result of an image build. */
export interface BuiltImage {
  /** Digest of its configuration, `sha256:…`. */
  readonly id: string;
  /** Bytes of the layer. */
  readonly sizeBytes: number;
  readonly skipped: readonly SkippedEntry[];
}

const BLOCK_BYTES = 512;
const BUFFER_BYTES = 1024 * 1024;
const MEDIA_TYPE = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
} as const;

/**
 * Writes the archive to `file`, which must not exist. Same folder content, names and configuration: same bytes. Throws
 * `CliError` when the folder cannot be read, or the archive cannot be written.
 */
export async function buildImage(build: ImageBuild, file: string): Promise<BuiltImage> {
  const { layer, names, config, architecture, onProgress } = build;
  const archive = new ArchiveFile(await open(file, "wx", 0o600), onProgress);
  try {
    // The header of the layer names its digest: it is written when the digest is known.
    await archive.append(new Uint8Array(BLOCK_BYTES));
    archive.startDigest();
    const skipped = await writeFolderLayer(layer, (bytes) => archive.append(bytes));
    const sizeBytes = archive.sizeBytes - BLOCK_BYTES;
    const digest = archive.endDigest();
    await archive.append(tarPadding(sizeBytes));
    const configBlob = blobOf(imageConfigBytes(config, [digest], architecture));
    const described = { digest, sizeBytes };
    await archive.append(
      writeTar(listEntries({ layer: described, configBlob, names, architecture })),
    );
    await archive.flush();
    await archive.overwrite(tarHeader({ kind: "file", path: blobPath(digest), sizeBytes }), 0);
    return { id: configBlob.digest, sizeBytes, skipped };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    throw new CliError(`failed to write ${file}: ${messageOf(error)}`, {
      cause: error,
      fix: "free space there, or set TMPDIR to another folder",
    });
  } finally {
    await archive.close();
  }
}

interface Blob {
  readonly bytes: Uint8Array;
  readonly digest: string;
}

interface ArchiveLists {
  readonly layer: { readonly digest: string; readonly sizeBytes: number };
  readonly configBlob: Blob;
  readonly names: readonly string[];
  readonly architecture: string;
}

/** Everything but the layer: configuration, manifest, OCI's list of images and docker's. */
function listEntries({ layer, configBlob, names, architecture }: ArchiveLists): TarEntry[] {
  const manifest = blobOf(
    json({
      schemaVersion: 2,
      mediaType: MEDIA_TYPE.manifest,
      config: {
        mediaType: MEDIA_TYPE.config,
        digest: configBlob.digest,
        size: configBlob.bytes.length,
      },
      layers: [{ mediaType: MEDIA_TYPE.layer, digest: layer.digest, size: layer.sizeBytes }],
    }),
  );
  const images = names.map((name) => ({
    mediaType: MEDIA_TYPE.manifest,
    digest: manifest.digest,
    size: manifest.bytes.length,
    platform: { architecture, os: "linux" },
    annotations: {
      "io.containerd.image.name": name,
      "org.opencontainers.image.ref.name": name.slice(name.lastIndexOf(":") + 1),
    },
  }));
  const docker = {
    Config: blobPath(configBlob.digest),
    RepoTags: names,
    Layers: [blobPath(layer.digest)],
  };
  const file = (path: string, content: Uint8Array): TarEntry => ({ kind: "file", path, content });
  return [
    file(blobPath(configBlob.digest), configBlob.bytes),
    file(blobPath(manifest.digest), manifest.bytes),
    file("index.json", json({ schemaVersion: 2, mediaType: MEDIA_TYPE.index, manifests: images })),
    file("manifest.json", json([docker])),
    file("oci-layout", json({ imageLayoutVersion: "1.0.0" })),
  ];
}

function blobOf(bytes: Uint8Array): Blob {
  return { bytes, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}` };
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** A file that is written from start to end, in large pieces. */
class ArchiveFile {
  readonly #file: FileHandle;
  readonly #onProgress: (progress: Progress) => void;
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #buffered = 0;
  #written = 0;
  #hash: Hash | undefined;

  constructor(file: FileHandle, onProgress: (progress: Progress) => void) {
    this.#file = file;
    this.#onProgress = onProgress;
  }

  get sizeBytes(): number {
    return this.#written + this.#buffered;
  }

  /** From here on, what is appended counts for the digest. */
  startDigest(): void {
    this.#hash = createHash("sha256");
  }

  /** `sha256:…` */
  endDigest(): string {
    const hex = this.#hash?.digest("hex") ?? "";
    this.#hash = undefined;
    return `sha256:${hex}`;
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#hash?.update(bytes);
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + BUFFER_BYTES - this.#buffered);
      this.#buffer.set(part, this.#buffered);
      this.#buffered += part.length;
      at += part.length;
      if (this.#buffered === BUFFER_BYTES) await this.flush();
    }
  }

  async flush(): Promise<void> {
    await this.overwrite(this.#buffer.subarray(0, this.#buffered), this.#written);
    this.#written += this.#buffered;
    this.#buffered = 0;
    this.#onProgress({ doneBytes: this.#written, totalBytes: 0 });
  }

  async overwrite(bytes: Uint8Array, position: number): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, position + at);
      at += bytesWritten;
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
