import { constants } from "node:fs";
import { chmod, chown, type FileHandle, lchown, open, opendir } from "node:fs/promises";
import { nameIn, openFolder, openFolderIn } from "../beneath.ts";
import { errnoOf, hostError, isMissing } from "../host-errors.ts";
import type { GroupOwnership } from "../volume-files.ts";

/** O_PATH of Linux (the same on x86-64 and arm64): a handle on a name that opens nothing. */
const O_PATH = 0o10000000;

/** Permission bits with set-id and sticky. */
const MODE_BITS = 0o7777;

const SETGID = 0o2000;

/** The mode of a file or folder of the group (volume/volume_linux.go: 0660 or 0440, folders 0110 and setgid too). */
export function groupMode(
  mode: number,
  kind: "file" | "directory",
  { readOnly }: Pick<GroupOwnership, "readOnly">,
): number {
  const rights = readOnly ? 0o440 : 0o660;
  return mode | rights | (kind === "directory" ? 0o110 | SETGID : 0);
}

interface GroupWalk extends GroupOwnership {
  readonly onProgress: () => void;
}

/** See `VolumeFiles.giveToGroup`. */
export async function giveToGroup(
  folder: string,
  ownership: GroupOwnership,
  onProgress = () => {},
): Promise<void> {
  try {
    await using top = await openFolder(folder);
    if (ownership.onlyOnMismatch && (await isRight(top, ownership))) return;
    await giveBelow(top, { ...ownership, onProgress });
    await giveFolder(top, ownership);
  } catch (thrown) {
    throw hostError("set group of", folder, thrown);
  }
}

async function isRight(folder: FileHandle, ownership: GroupOwnership): Promise<boolean> {
  const { gid, mode } = await folder.stat();
  const bits = mode & MODE_BITS;
  return gid === ownership.groupId && groupMode(bits, "directory", ownership) === bits;
}

/** The topmost folder comes last, so that a walk that was cut short is done again. */
async function giveBelow(folder: FileHandle, ownership: GroupWalk): Promise<void> {
  const reader = await opendir(`/proc/self/fd/${folder.fd}`, { encoding: "latin1" });
  for await (const entry of reader) {
    const name = Buffer.from(entry.name, "latin1");
    ownership.onProgress();
    try {
      await giveEntry(folder, name, ownership);
    } catch (thrown) {
      // Removed or exchanged meanwhile.
      if (!isMissing(thrown) && errnoOf(thrown) !== "ELOOP") throw thrown;
    }
  }
}

async function giveEntry(folder: FileHandle, name: Buffer, ownership: GroupWalk): Promise<void> {
  await using held = await open(nameIn(folder, name), O_PATH | constants.O_NOFOLLOW);
  const facts = await held.stat();
  if (facts.isDirectory()) {
    await using child = await openFolderIn(folder, name);
    await giveBelow(child, ownership);
    await giveFolder(child, ownership);
    return;
  }
  if (facts.isSymbolicLink()) {
    await lchown(nameIn(folder, name), facts.uid, ownership.groupId);
    return;
  }
  const path = `/proc/self/fd/${held.fd}`;
  const mode = groupMode(facts.mode & MODE_BITS, "file", ownership);
  if (facts.gid !== ownership.groupId) await chown(path, facts.uid, ownership.groupId);
  if (mode !== (facts.mode & MODE_BITS)) await chmod(path, mode);
}

async function giveFolder(folder: FileHandle, ownership: GroupOwnership): Promise<void> {
  const { gid, uid, mode } = await folder.stat();
  if (gid !== ownership.groupId) await folder.chown(uid, ownership.groupId);
  await folder.chmod(groupMode(mode & MODE_BITS, "directory", ownership));
}
