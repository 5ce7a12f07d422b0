/** Files that commands write where the user names them. */
import { randomBytes } from "node:crypto";
import { createWriteStream, openSync, renameSync, rmSync, statSync } from "node:fs";
import type { Writable } from "node:stream";
import { CliError } from "../../present/cli-error.ts";

const FILE_MODE = 0o644;

/**
 * Calls `write` with a stream into `file`, which appears whole or not at all: until then its content is in a new file
 * beside it. A pipe or device (`/dev/null`) is written as it is.
 */
export async function withOutputFile(
  file: string,
  write: (output: Writable) => Promise<void>,
): Promise<void> {
  const facts = statSync(file, { throwIfNoEntry: false });
  if (facts?.isDirectory()) throw new CliError(`${file} is a folder`);
  if (facts !== undefined && !facts.isFile()) return await writeTo(openSync(file, "w"), write);
  const partial = `${file}.${randomBytes(4).toString("hex")}.partial`;
  // Exclusive: in a folder of everybody's, a link planted there would lead root to another file.
  const fd = openSync(partial, "wx", FILE_MODE);
  try {
    await writeTo(fd, write);
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

async function writeTo(fd: number, write: (output: Writable) => Promise<void>): Promise<void> {
  const output = createWriteStream("", { fd });
  try {
    await write(output);
  } finally {
    output.destroy();
  }
}
