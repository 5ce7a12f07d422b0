import { constants } from "node:fs";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { OutsideError } from "../../../kit/errors.ts";
import { errnoOf, isMissing } from "../host-errors.ts";

/** Puts a gzipped copy of `from` at `to`, with the same mode; see `Files.zip`. Throws what Node throws. */
export async function zipFile(from: string, to: string): Promise<void> {
  const source = await openSource(from);
  if (source === undefined) return;
  const temporary = `${from}.tmp`;
  try {
    const facts = await source.stat();
    if (!facts.isFile()) throw new OutsideError("precondition", `zip ${from}: not a regular file`);
    await unlink(temporary).catch(() => {});
    const target = await open(temporary, "wx", facts.mode & 0o777);
    // Both streams close their file, whatever happens.
    await pipeline(
      source.createReadStream({ start: 0 }),
      createGzip(),
      target.createWriteStream({ flush: true }),
    );
    await rename(temporary, to);
  } catch (thrown) {
    await unlink(temporary).catch(() => {});
    throw thrown;
  } finally {
    await source.close();
  }
}

async function openSource(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    if (errnoOf(thrown) === "ELOOP")
      throw new OutsideError("precondition", `zip ${path}: it is a link`);
    throw thrown;
  }
}
