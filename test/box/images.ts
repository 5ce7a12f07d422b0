/**
 * The images of the tests, built without a registry from the machine's static busybox. Archives are kept
 * in the cache outside the checkout under the digest of their content.
 */
import { createCipheriv, createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { busyboxEntries } from "../../src/cli/local-images/busybox.ts";
import {
  dockerArchive,
  goArchitecture,
  type ImageConfig,
  type ImageSpec,
  imageId,
  layer,
} from "../../src/cli/local-images/image-archive.ts";
import type { TarEntry } from "../../src/cli/local-images/tar.ts";
import { pauseProgram } from "../../src/cli/local-images/tiny-elf.ts";
import { CACHE_DIR } from "../../tools/debian-suite.mjs";

export type { ImageConfig, ImageSpec } from "../../src/cli/local-images/image-archive.ts";

/** The sandbox image that every box configures. */
export const PAUSE_IMAGE = "nodelet.test/pause:1";

/** busybox with all applets and the scripts of `rootfs/bin`; sleeps by default. */
export const TEST_IMAGE = "nodelet.test/nodelet-test:1";

/** How an image built on busybox differs from the plain test image. */
export interface ImageVariant extends ImageConfig {
  /** Full references with host and tag. */
  readonly names: readonly string[];
  /** Adds a layer with one incompressible file of this size, of its own for each first name. */
  readonly paddingBytes?: number;
  /** Adds a layer with these text files; `path` is relative to the root. */
  readonly files?: Readonly<Record<string, { readonly text: string; readonly mode?: number }>>;
}

/** Scripts, web pages and accounts of the test image; each script says in its head what it does. */
/** Folder of the archives that boxes import. */
export const IMAGES_FOLDER = join(CACHE_DIR, "images");
const ROOTFS = join(import.meta.dirname, "rootfs");

/** Pause and test image, which every box starts with. Throws when there is no static busybox. */
export function standardImages(): readonly ImageSpec[] {
  return [pauseImage(), testImage({ names: [TEST_IMAGE] })];
}

/** An image on top of the test image's files. */
export function testImage(variant: ImageVariant): ImageSpec {
  const { names, paddingBytes, files, ...config } = variant;
  const layers = [busyboxLayer()];
  if (paddingBytes !== undefined && paddingBytes > 0) {
    const content = noise(names[0] ?? "", paddingBytes);
    layers.push(layer([{ kind: "file", path: "padding", content }]));
  }
  if (files) {
    const entries = Object.entries(files).map(
      ([path, { text, mode }]): TarEntry => ({
        kind: "file",
        path,
        content: new TextEncoder().encode(text),
        mode: mode ?? 0o644,
      }),
    );
    layers.push(layer(entries));
  }
  const command = config.command ?? (config.entrypoint ? undefined : ["sleep", "2147483647"]);
  return { names, layers, config: command ? { ...config, command } : config };
}

/** The sandbox image: a few bytes of program where we have it, else busybox' sleep. */
function pauseImage(): ImageSpec {
  const program = pauseProgram(goArchitecture());
  if (!program)
    return testImage({ names: [PAUSE_IMAGE], entrypoint: ["/bin/sleep", "2147483647"] });
  const files = layer([{ kind: "file", path: "pause", content: program, mode: 0o755 }]);
  return { names: [PAUSE_IMAGE], config: { entrypoint: ["/pause"] }, layers: [files] };
}

/** The digest that the runtime will use as the image's id. */
export function idOf(image: ImageSpec): string {
  return imageId(image, goArchitecture());
}

/** Path of an archive with all the given images, written when the cache does not have it yet. */
export function archiveFile(images: readonly ImageSpec[]): string {
  const bytes = dockerArchive(images, goArchitecture());
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 32);
  const file = join(IMAGES_FOLDER, `${digest}.tar`);
  if (existsSync(file)) return file;
  mkdirSync(IMAGES_FOLDER, { recursive: true });
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, bytes);
  renameSync(partial, file);
  return file;
}

/** The one layer that all images share, built once a process. */
const built = new Map<"busybox", Uint8Array>();

function busyboxLayer(): Uint8Array {
  const known = built.get("busybox");
  if (known) return known;
  const files = layer([...directories(), ...busyboxEntries(), ...ownFiles()]);
  built.set("busybox", files);
  return files;
}

function directories(): TarEntry[] {
  const plain = ["bin", "dev", "etc", "home", "proc", "root", "run", "sys", "var", "www"];
  return [
    ...[...plain, "www/cgi-bin"].map((path): TarEntry => ({ kind: "directory", path })),
    { kind: "directory", path: "tmp", mode: 0o1777 },
    { kind: "directory", path: "home/user", uid: 1000, gid: 1000 },
  ];
}

function ownFiles(): TarEntry[] {
  return readdirSync(ROOTFS, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file): TarEntry => {
      const path = relative(ROOTFS, file);
      const mode = /bin\//.test(path) ? 0o755 : 0o644;
      return { kind: "file", path, content: readFileSync(file), mode };
    });
}

/** Pseudorandom bytes, always the same for the same seed. */
function noise(seed: string, length: number): Uint8Array {
  const key = createHash("sha256").update(seed).digest();
  return createCipheriv("aes-256-ctr", key, new Uint8Array(16)).update(new Uint8Array(length));
}
