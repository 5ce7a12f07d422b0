import { constants } from "node:fs";
import {
  chmod,
  chown,
  type FileHandle,
  lchown,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  symlink,
  unlink,
} from "node:fs/promises";
import { isFileName } from "../../../api/text/path-names.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { appendAll } from "../../../kit/limits/lists.ts";
import { nameIn, openFolder, openFolderIn } from "../beneath.ts";
import { errnoOf, hostError, isMissing } from "../host-errors.ts";
import type { GroupOwnership, PayloadFile } from "../volume-files.ts";
import { randomHex } from "./random-name.ts";
import { removeTree } from "./remove-tree.ts";
import { groupMode } from "./volume-group.ts";

// The layout of the Go kubelet (volume/util atomic_writer.go): files in a folder named after the time, a
// link `..data` to it that is exchanged in one step, and a link through `..data` for each topmost name.
// The volume may be changed by a container meanwhile, so nothing is ever reached through a link in it.

const DATA = "..data";
const FOLDER_MODE = 0o755;

/** Folders of this writer and of the Go kubelet's. */
const STAMPED = /^\.\.\d{4}_\d{2}_\d{2}_\d{2}_\d{2}_\d{2}\.[0-9a-z]+$/;

/** Longer files are compared as different. */
const COMPARE_LIMIT_BYTES = 8 * 1024 * 1024;

/** See `VolumeFiles.writePayload`. */
export async function writePayload(
  folder: string,
  files: readonly PayloadFile[],
  group?: GroupOwnership,
): Promise<boolean> {
  const planned = files.map((file) => ({ ...file, parts: partsOf(file.path) }));
  let volume: FileHandle | undefined;
  try {
    volume = await openFolder(folder);
    const names = [...new Set(planned.map(({ parts }) => parts[0] as string))];
    if (await isInPlace(volume, planned, names, group)) return false;
    const stamped = await makeStamped(volume, planned, group);
    await pointTo(volume, stamped, DATA);
    for (const name of names) await pointTo(volume, `${DATA}/${name}`, name);
    if (group) await giveRoot(volume, [DATA, ...names], group);
    await removeStale(volume, stamped, new Set(names));
    return true;
  } catch (thrown) {
    throw hostError("write volume", folder, thrown);
  } finally {
    await volume?.close();
  }
}

type PlannedFile = PayloadFile & { readonly parts: readonly string[] };

function partsOf(path: string): readonly string[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const bad = parts.length === 0 || !parts.every(isFileName) || path.startsWith("/");
  if (bad || parts[0]?.startsWith("..")) {
    throw new OutsideError(
      "invalid",
      `${JSON.stringify(path)} is not a name for a file of a volume`,
    );
  }
  return parts;
}

/** The mode a file ends up with. */
function modeOf({ mode }: PayloadFile, group: GroupOwnership | undefined): number {
  return group ? groupMode(mode, "file", group) : mode;
}

/** Whether the volume already has the payload, links included. */
async function isInPlace(
  volume: FileHandle,
  files: readonly PlannedFile[],
  names: readonly string[],
  group: GroupOwnership | undefined,
): Promise<boolean> {
  const current = await linkTarget(volume, DATA);
  if (current === undefined || !STAMPED.test(current)) return false;
  for (const name of names)
    if ((await linkTarget(volume, name)) !== `${DATA}/${name}`) return false;
  try {
    await using stamped = await openFolderIn(volume, current);
    let present = 0;
    for (const path of await filesIn(stamped, "")) {
      present += 1;
      const file = files.find(({ parts }) => parts.join("/") === path);
      if (!file || !(await isSame(stamped, file, group))) return false;
    }
    return present === files.length;
  } catch (thrown) {
    if (isMissing(thrown) || errnoOf(thrown) === "ELOOP") return false;
    throw thrown;
  }
}

/** Paths of all that is not a folder. */
async function filesIn(folder: FileHandle, prefix: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(`/proc/self/fd/${folder.fd}`, { withFileTypes: true })) {
    if (!entry.isDirectory()) found.push(prefix + entry.name);
    else {
      await using below = await openFolderIn(folder, entry.name);
      appendAll(found, await filesIn(below, `${prefix}${entry.name}/`));
    }
  }
  return found;
}

async function isSame(
  stamped: FileHandle,
  file: PlannedFile,
  group: GroupOwnership | undefined,
): Promise<boolean> {
  await using place = await openFolders(stamped, file.parts.slice(0, -1));
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using handle = await open(nameIn(place.folder, file.parts.at(-1) as string), flags);
  const facts = await handle.stat();
  if (!facts.isFile() || facts.size !== file.content.length || facts.size > COMPARE_LIMIT_BYTES)
    return false;
  if ((facts.mode & 0o7777) !== modeOf(file, group)) return false;
  if (facts.uid !== (file.ownerUid ?? 0)) return false;
  if (group && facts.gid !== group.groupId) return false;
  return (await handle.readFile()).equals(file.content);
}

interface Place extends AsyncDisposable {
  readonly folder: FileHandle;
}

/** Goes down by names from a held folder; `make` is called for each that is missing. */
async function openFolders(
  from: FileHandle,
  names: readonly string[],
  make?: (parent: FileHandle, name: string) => Promise<void>,
): Promise<Place> {
  let folder = from;
  try {
    for (const name of names) {
      await make?.(folder, name);
      const next = await openFolderIn(folder, name);
      if (folder !== from) await folder.close();
      folder = next;
    }
  } catch (thrown) {
    if (folder !== from) await folder.close();
    throw thrown;
  }
  const close = async () => {
    if (folder !== from) await folder.close();
  };
  return { folder, [Symbol.asyncDispose]: close };
}

/** Writes the files into a new folder that is not visible yet; returns its name. */
async function makeStamped(
  volume: FileHandle,
  files: readonly PlannedFile[],
  group: GroupOwnership | undefined,
): Promise<string> {
  const stamp = new Date().toISOString().slice(0, 19).replace(/[-T:]/g, "_");
  const name = `..${stamp}.${randomHex(5)}`;
  try {
    await makeFolder(volume, name, group);
    await using stamped = await openFolderIn(volume, name);
    for (const file of files) await writeFile(stamped, file, group);
    return name;
  } catch (thrown) {
    await removeTree(nameIn(volume, name).toString()).catch(() => {});
    throw thrown;
  }
}

async function makeFolder(
  parent: FileHandle,
  name: string,
  group: GroupOwnership | undefined,
): Promise<void> {
  try {
    await mkdir(nameIn(parent, name), FOLDER_MODE);
  } catch (thrown) {
    if (errnoOf(thrown) === "EEXIST") return;
    throw thrown;
  }
  await using made = await openFolderIn(parent, name);
  if (group) await made.chown(0, group.groupId);
  await made.chmod(group ? groupMode(FOLDER_MODE, "directory", group) : FOLDER_MODE);
}

async function writeFile(
  stamped: FileHandle,
  file: PlannedFile,
  group: GroupOwnership | undefined,
): Promise<void> {
  const parents = file.parts.slice(0, -1);
  await using place = await openFolders(stamped, parents, (parent, name) =>
    makeFolder(parent, name, group),
  );
  const path = nameIn(place.folder, file.parts.at(-1) as string);
  await using handle = await open(path, "wx", 0o600);
  await handle.writeFile(file.content);
  const owner = file.ownerUid ?? 0;
  if (owner !== 0 || group) await handle.chown(owner, group?.groupId ?? 0);
  await handle.chmod(modeOf(file, group));
}

/** Makes `name` a link to `target` in one step, whatever was there before. */
async function pointTo(volume: FileHandle, target: string, name: string): Promise<void> {
  if ((await linkTarget(volume, name)) === target) return;
  const temporary = nameIn(volume, `..tmp-${randomHex(6)}`);
  await symlink(target, temporary);
  try {
    await rename(temporary, nameIn(volume, name));
  } catch (thrown) {
    if (!["EISDIR", "ENOTEMPTY", "EEXIST"].includes(errnoOf(thrown))) throw thrown;
    // There is a folder.
    await removeTree(nameIn(volume, name).toString());
    await rename(temporary, nameIn(volume, name));
  } finally {
    await unlink(temporary).catch(() => {});
  }
}

async function linkTarget(volume: FileHandle, name: string): Promise<string | undefined> {
  try {
    return await readlink(nameIn(volume, name));
  } catch (thrown) {
    if (isMissing(thrown) || errnoOf(thrown) === "EINVAL") return undefined;
    throw thrown;
  }
}

async function giveRoot(
  volume: FileHandle,
  links: readonly string[],
  group: GroupOwnership,
): Promise<void> {
  const facts = await volume.stat();
  const path = `/proc/self/fd/${volume.fd}`;
  if (facts.gid !== group.groupId) await chown(path, facts.uid, group.groupId);
  const mode = groupMode(facts.mode & 0o7777, "directory", group);
  if ((facts.mode & 0o7777) !== mode || facts.gid !== group.groupId) await chmod(path, mode);
  for (const name of links) await lchown(nameIn(volume, name), 0, group.groupId);
}

/** Earlier payloads and the links that only they needed; what others put there stays. */
async function removeStale(
  volume: FileHandle,
  stamped: string,
  names: ReadonlySet<string>,
): Promise<void> {
  for (const name of await readdir(`/proc/self/fd/${volume.fd}`)) {
    if (STAMPED.test(name)) {
      if (name !== stamped) await removeTree(nameIn(volume, name).toString());
    } else if (name.startsWith("..tmp-")) {
      await removeTree(nameIn(volume, name).toString());
    } else if (!names.has(name) && (await linkTarget(volume, name))?.startsWith(`${DATA}/`)) {
      await unlink(nameIn(volume, name)).catch(() => {});
    }
  }
}
