import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { OutsideError } from "../../../kit/errors.ts";
import { hostError, isMissing } from "../host-errors.ts";
import type { OverwrittenFile } from "../volume-files.ts";

const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Writes the text into the file itself, synchronously: for workers, which have nothing else to do meanwhile. */
export function overwriteFile({ path, text, mode, folderMode }: OverwrittenFile): void {
  try {
    const descriptor = openIn(path, mode, folderMode);
    try {
      overwrite(descriptor, path, Buffer.from(text), mode);
    } finally {
      closeSync(descriptor);
    }
  } catch (thrown) {
    throw hostError("write", path, thrown);
  }
}

function openIn(path: string, mode: number, folderMode: number | undefined): number {
  try {
    return openSync(path, FLAGS, mode);
  } catch (thrown) {
    if (folderMode === undefined || !isMissing(thrown)) throw thrown;
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true, mode: folderMode });
    chmodSync(folder, folderMode);
    return openSync(path, FLAGS, mode);
  }
}

/**
 * The old text is cut off last, so that a reader sees the beginning of one or the other. Space for a longer one is
 * taken before, as empty lines: a full disk leaves the old text as it was.
 */
function overwrite(descriptor: number, path: string, content: Buffer, mode: number): void {
  const facts = fstatSync(descriptor);
  if (!facts.isFile()) throw new OutsideError("precondition", `write ${path}: not a regular file`);
  fchmodSync(descriptor, mode);
  if (facts.size === content.length && readFileSync(descriptor).equals(content)) return;
  if (content.length > facts.size) {
    const padding = Buffer.alloc(content.length - facts.size, "\n");
    try {
      writeAt(descriptor, padding, facts.size);
    } catch (thrown) {
      ftruncateSync(descriptor, facts.size);
      throw thrown;
    }
  }
  writeAt(descriptor, content, 0);
  ftruncateSync(descriptor, content.length);
}

/** write(2) may take less than it is given, as on a disk that gets full. */
function writeAt(descriptor: number, content: Buffer, position: number): void {
  for (let done = 0; done < content.length; )
    done += writeSync(descriptor, content, done, content.length - done, position + done);
}
