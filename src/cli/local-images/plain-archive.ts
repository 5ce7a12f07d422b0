/** Image archives as plain tar files, whatever they come as. */
import {
  closeSync,
  createReadStream,
  createWriteStream,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { messageOf } from "../../kit/errors.ts";
import { CliError } from "../../present/cli-error.ts";

/** Source of an archive. */
export interface ArchiveSource {
  /** A stream, or the path of a file or pipe. */
  readonly from: string | Readable;
  /** Name for error messages. */
  readonly shown: string;
}

/**
 * Calls `use` with a plain tar file of what the source holds, compressed or not. A copy that it takes is removed, also
 * when the signal is aborted. Throws `CliError` when the source cannot be read.
 */
export async function withPlainArchive<T>(
  source: ArchiveSource,
  use: (file: string) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { from } = source;
  if (typeof from === "string" && isRegular(from) && compressionOf(from) === undefined)
    return await use(from);
  const folder = mkdtempSync(join(tmpdir(), "nodelet-images-"));
  try {
    return await use(await plainCopy(source, folder, signal));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Pipes and the like can be read once only, so that even their first bytes are read from a copy. */
function isRegular(path: string): boolean {
  const facts = statSync(path);
  if (facts.isDirectory()) throw new CliError(`${path} is a folder, not an archive`);
  return facts.isFile();
}

async function plainCopy(
  { from, shown }: ArchiveSource,
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    const file =
      typeof from === "string" && isRegular(from) ? from : await received(from, folder, signal);
    const compression = compressionOf(file);
    if (compression === undefined) return file;
    const plain = join(folder, "plain");
    const decompress = compression === "gzip" ? createGunzip() : createZstdDecompress();
    await pipeline(createReadStream(file), decompress, createWriteStream(plain), { signal });
    return plain;
  } catch (error) {
    signal.throwIfAborted();
    const isFull = (error as NodeJS.ErrnoException).code === "ENOSPC";
    throw new CliError(`failed to unpack ${shown}: ${messageOf(error)}`, {
      cause: error,
      ...(isFull ? { fix: `free space in ${tmpdir()}, or set TMPDIR to another folder` } : {}),
    });
  }
}

async function received(
  from: string | Readable,
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  const file = join(folder, "received");
  const stream = typeof from === "string" ? createReadStream(from) : from;
  await pipeline(stream, createWriteStream(file), { signal });
  return file;
}

function compressionOf(file: string): "gzip" | "zstd" | undefined {
  const head = Buffer.alloc(4);
  const fd = openSync(file, "r");
  try {
    readSync(fd, head, 0, head.length, 0);
  } finally {
    closeSync(fd);
  }
  if (head.readUInt16BE(0) === 0x1f8b) return "gzip";
  return head.readUInt32LE(0) === 0xfd2fb528 ? "zstd" : undefined;
}
