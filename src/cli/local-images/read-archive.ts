/** Image archives as `docker save`, `ctr images export` and `skopeo` write them: which images are in one. */
import { closeSync, createReadStream, fstatSync, openSync, readSync } from "node:fs";
import { Readable } from "node:stream";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_USAGE } from "../../present/exit-codes.ts";
import { type ArchiveContents, entryNames, namedContents } from "./archive-contents.ts";

/** An image archive: a plain tar file. */
export interface ImageArchive {
  readonly file: string;
  readonly sizeBytes: number;
  /** Names of the images as the runtime will have them. */
  readonly names: readonly string[];
  /** The file that lists the images, where its content has to be replaced so that they get these names. */
  readonly replaced?: { readonly entry: TarPlace; readonly content: Uint8Array };
}

/** Position of a file in an archive. */
interface TarPlace {
  readonly headerAt: number;
  readonly sizeBytes: number;
}

const BLOCK_BYTES = 512;
/** Lists of images are short; a longer one is no archive of images. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;
const LISTS = ["index.json", "manifest.json", "oci-layout"] as const;

/**
 * Reads which images are in the archive. `name` is what the only image is to be called, `shown` what errors call the
 * archive. Throws `CliError` when the file is no image archive, or an image has no name.
 */
export function readImageArchive(
  file: string,
  name: string | undefined,
  shown: string = file,
): ImageArchive {
  const fd = openSync(file, "r");
  try {
    const sizeBytes = fstatSync(fd).size;
    const places = findLists(fd, sizeBytes, shown);
    const contents = readLists(fd, places, shown);
    const given = entryNames(contents);
    if (name === undefined && given.every((each) => each !== undefined))
      return { file, sizeBytes, names: given };
    if (given.length !== 1 || name === undefined) throw unnamed(shown, given, name);
    const { list, content } = namedContents(contents, name);
    const entry = places.get(list);
    if (entry === undefined) throw noArchive(shown, `it has no ${list}`);
    return { file, sizeBytes, names: [name], replaced: { entry, content } };
  } finally {
    closeSync(fd);
  }
}

function unnamed(
  shown: string,
  given: readonly (string | undefined)[],
  name: string | undefined,
): CliError {
  if (name !== undefined)
    return new CliError(`${shown} contains ${given.length} images, but --name can name only one`, {
      exitCode: EXIT_USAGE,
      fix: `omit --name; the archive contains: ${given.map((each) => each ?? "<none>").join(", ")}`,
    });
  return new CliError(`the image in ${shown} has no name`, {
    exitCode: EXIT_USAGE,
    fix: "give it a name: --name example/app:1",
  });
}

function noArchive(shown: string, why: string): CliError {
  return new CliError(`${shown} is not an image archive: ${why}`, {
    fix: "write one with `docker save -o image.tar IMAGE`, `ctr images export` or `nodelet images save`",
  });
}

/** Finds the files that list the images; everything else is skipped. */
function findLists(fd: number, sizeBytes: number, shown: string): ReadonlyMap<string, TarPlace> {
  const found = new Map<string, TarPlace>();
  const header = Buffer.alloc(BLOCK_BYTES);
  for (let at = 0; at + BLOCK_BYTES <= sizeBytes; ) {
    readSync(fd, header, 0, BLOCK_BYTES, at);
    if (header.every((byte) => byte === 0)) break;
    const entry = readHeader(header);
    if (entry === undefined) throw noArchive(shown, `byte ${at} is not the start of a tar entry`);
    const name = LISTS.find((each) => each === entry.path);
    if (name !== undefined) found.set(name, { headerAt: at, sizeBytes: entry.sizeBytes });
    at += BLOCK_BYTES + Math.ceil(entry.sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
  }
  return found;
}

/** Path and size of a tar entry; `undefined` for a block that is no header. */
function readHeader(
  block: Buffer,
): { readonly path: string; readonly sizeBytes: number } | undefined {
  let sum = 0;
  for (const [i, byte] of block.entries()) sum += i >= 148 && i < 156 ? 0x20 : byte;
  const text = (from: number, to: number) =>
    block.subarray(from, to).toString("latin1").replace(/\0.*$/s, "");
  if (Number.parseInt(text(148, 156).trim(), 8) !== sum) return undefined;
  // Sizes of 8 GiB and more are binary numbers (GNU tar).
  const large = (block[124] ?? 0) >= 0x80;
  const sizeBytes = large
    ? Number(block.readBigUInt64BE(128))
    : Number.parseInt(text(124, 136).trim() || "0", 8);
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) return undefined;
  return { path: text(0, 100).replace(/^\.\//, ""), sizeBytes };
}

function readLists(
  fd: number,
  places: ReadonlyMap<string, TarPlace>,
  shown: string,
): ArchiveContents {
  const json = (name: string): unknown => {
    const place = places.get(name);
    if (place === undefined) return undefined;
    if (place.sizeBytes > MAX_LIST_BYTES) throw noArchive(shown, `${name} is too large`);
    const content = Buffer.alloc(place.sizeBytes);
    readSync(fd, content, 0, content.length, place.headerAt + BLOCK_BYTES);
    try {
      return JSON.parse(content.toString("utf8"));
    } catch {
      throw noArchive(shown, `${name} is not JSON`);
    }
  };
  const isOci = places.has("oci-layout") && places.has("index.json");
  if (!isOci && !places.has("manifest.json"))
    throw noArchive(shown, "it has neither index.json (OCI) nor manifest.json (docker)");
  return isOci
    ? { kind: "oci", index: json("index.json") }
    : { kind: "docker", manifest: json("manifest.json") };
}

/** The archive's bytes, with the list replaced where the images get other names. */
export function archiveStream({ file, replaced, sizeBytes }: ImageArchive): Readable {
  if (replaced === undefined) return createReadStream(file);
  const { entry, content } = replaced;
  const after =
    entry.headerAt + BLOCK_BYTES + Math.ceil(entry.sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
  const header = Buffer.alloc(BLOCK_BYTES);
  const fd = openSync(file, "r");
  readSync(fd, header, 0, BLOCK_BYTES, entry.headerAt);
  closeSync(fd);
  return Readable.from(spliced());

  async function* spliced(): AsyncGenerator<Uint8Array> {
    if (entry.headerAt > 0) yield* createReadStream(file, { end: entry.headerAt - 1 });
    yield resized(header, content.length);
    yield content;
    yield new Uint8Array((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES);
    if (after < sizeBytes) yield* createReadStream(file, { start: after });
  }
}

/** The header with another size, and the sum that belongs to it. */
function resized(header: Buffer, sizeBytes: number): Uint8Array {
  const block = Buffer.from(header);
  block.write(`${sizeBytes.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  block.write(" ".repeat(8), 148, "latin1");
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}
