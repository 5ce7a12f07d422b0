import { constants } from "node:fs";
import { rename, unlink } from "node:fs/promises";
import { isFileName } from "../../../api/text/path-names.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { nameIn, openBeneath } from "../beneath.ts";
import type { FolderChange, SizedEntry } from "../host.ts";
import { hostError, isMissing } from "../host-errors.ts";
import { openFolderBeneath } from "./open-folder.ts";
import { zipFile } from "./zip-file.ts";

/** See `Files.listBeneath`. */
export async function listBeneath(
  root: string,
  relativePath: string,
): Promise<readonly SizedEntry[] | undefined> {
  const folder = await openFolderBeneath(root, relativePath);
  if (!folder) return undefined;
  try {
    return (await folder.list()).map(({ name, kind, sizeBytes }) => ({ name, kind, sizeBytes }));
  } finally {
    await folder[Symbol.asyncDispose]();
  }
}

/** See `Files.changeBeneath`. */
export async function changeBeneath(
  root: string,
  relativePath: string,
  changes: readonly FolderChange[],
): Promise<void> {
  const folder = await openBeneath(root, relativePath, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const change of changes) {
      const shown = `${root}/${relativePath}/${change.kind === "rename" ? change.from : change.name}`;
      const place = (name: string) => nameIn(folder, plainName(name, shown)).toString();
      try {
        await make(change, place);
      } catch (thrown) {
        throw hostError(change.kind, shown, thrown);
      }
    }
  } finally {
    await folder.close();
  }
}

async function make(change: FolderChange, place: (name: string) => string): Promise<void> {
  switch (change.kind) {
    case "remove":
      return await removeFile(place(change.name));
    case "rename":
      return await rename(place(change.from), place(change.to));
    case "zip": {
      const path = place(change.name);
      await zipFile(path, `${path}.gz`);
      return await removeFile(path);
    }
    default:
      return change satisfies never;
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown;
  }
}

function plainName(name: string, shown: string): string {
  if (!isFileName(name))
    throw new OutsideError("invalid", `change ${shown}: ${JSON.stringify(name)} is no file name`);
  return name;
}
