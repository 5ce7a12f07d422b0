import { constants } from "node:fs";
import { chmod, chown, type FileHandle, lchown, open, opendir } from "node:fs/promises";
import { errnoOf, hostError, isMissing } from "../host-errors.ts";
import { nameIn, openFolder, openFolderIn } from "./beneath.ts";
import type { GroupOrder } from "./volume-files.ts";

/** O_PATH of Linux (the same on x86-64 and arm64): a handle on a name that opens nothing. */
const O_PATH = 0o10000000;

/** Permission bits with set-id and sticky. */
const MODE_BITS = 0o7777;

const SETGID = 0o2000;

/** The mode of a file or folder of the group (volume/volume_linux.go: 0660 or 0440, folders 0110 and setgid too). */
export function groupMode(
  mode: number,
  kind: "file" | "directory",
  { readOnly }: Pick<GroupOrder, "readOnly">,
): number {
  const rights = readOnly ? 0o440 : 0o660;
  return mode | rights | (kind === "directory" ? 0o110 | SETGID : 0);
}

interface GroupWalk extends GroupOrder {
  readonly onProgress: () => void;
}

/** See `VolumeFiles.giveToGroup`. */
export async function giveToGroup(
  folder: string,
  order: GroupOrder,
  onProgress = () => {},
): Promise<void> {
  try {
    await using top = await openFolder(folder);
    if (order.onlyOnMismatch && (await isRight(top, order))) return;
    await giveBelow(top, { ...order, onProgress });
    await giveFolder(top, order);
  } catch (thrown) {
    throw hostError("give to its group", folder, thrown);
  }
}

async function isRight(folder: FileHandle, order: GroupOrder): Promise<boolean> {
  const { gid, mode } = await folder.stat();
  const bits = mode & MODE_BITS;
  return gid === order.groupId && groupMode(bits, "directory", order) === bits;
}

/** The topmost folder comes last, so that a walk that was cut short is done again. */
async function giveBelow(folder: FileHandle, order: GroupWalk): Promise<void> {
  const reader = await opendir(`/proc/self/fd/${folder.fd}`, { encoding: "latin1" });
  for await (const entry of reader) {
    const name = Buffer.from(entry.name, "latin1");
    order.onProgress();
    try {
      await giveEntry(folder, name, order);
    } catch (thrown) {
      // Removed or exchanged meanwhile.
      if (!isMissing(thrown) && errnoOf(thrown) !== "ELOOP") throw thrown;
    }
  }
}

async function giveEntry(folder: FileHandle, name: Buffer, order: GroupWalk): Promise<void> {
  await using held = await open(nameIn(folder, name), O_PATH | constants.O_NOFOLLOW);
  const facts = await held.stat();
  if (facts.isDirectory()) {
    await using child = await openFolderIn(folder, name);
    await giveBelow(child, order);
    await giveFolder(child, order);
    return;
  }
  if (facts.isSymbolicLink()) {
    await lchown(nameIn(folder, name), facts.uid, order.groupId);
    return;
  }
  const path = `/proc/self/fd/${held.fd}`;
  const mode = groupMode(facts.mode & MODE_BITS, "file", order);
  if (facts.gid !== order.groupId) await chown(path, facts.uid, order.groupId);
  if (mode !== (facts.mode & MODE_BITS)) await chmod(path, mode);
}

async function giveFolder(folder: FileHandle, order: GroupOrder): Promise<void> {
  const { gid, uid, mode } = await folder.stat();
  if (gid !== order.groupId) await folder.chown(uid, order.groupId);
  await folder.chmod(groupMode(mode & MODE_BITS, "directory", order));
}
