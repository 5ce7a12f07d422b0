import { closeSync, constants, openSync, readSync } from "node:fs";

const { O_RDONLY } = constants;

/** What one read may give. Reading does not wait, so that all files share it. */
const SHARED = Buffer.allocUnsafe(64 * 1024);

/**
 * Where the entries of a file are this short at most, a read that gives less than this has given the rest: the kernel fills a
 * page (seq_file.c) and stops before the entry that does not fit. Groups' files are of this kind.
 */
const SHORT_ENTRY_BYTES = 2 * 1024;

/** The text without its last newline of a group's file that is open, from its beginning. Throws as reading does. */
export function openGroupFileText(descriptor: number): string {
  return withoutNewline(readFrom(descriptor, SHORT_ENTRY_BYTES), "latin1");
}

/** A kernel file's text without its last newline; `undefined` when it cannot be read, whatever the reason. */
export function readIfPresent(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, O_RDONLY);
    return withoutNewline(readFrom(descriptor, 0), "utf8");
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Reads until a read gives no more than `restBytes`. */
function readFrom(descriptor: number, restBytes: number): Buffer {
  let buffer = SHARED;
  for (let at = 0; ; ) {
    if (at === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(at)]);
    const length = readSync(descriptor, buffer, at, buffer.length - at, at);
    at += length;
    if (length <= restBytes) return buffer.subarray(0, at);
  }
}

function withoutNewline(bytes: Buffer, encoding: "latin1" | "utf8"): string {
  const end =
    bytes.length > 0 && bytes[bytes.length - 1] === NEWLINE ? bytes.length - 1 : bytes.length;
  return bytes.toString(encoding, 0, end);
}

const NEWLINE = 10;
