import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isOutside, OutsideError } from "../../../kit/errors.ts";
import { hostError } from "../host-errors.ts";
import { BlockDevices } from "../mounts/block-devices.ts";
import { Mounts, mountsWithin } from "../mounts/mounts.ts";
import { createPrograms } from "../mounts/programs.ts";
import { writePayload } from "./payload.ts";
import { holdBeneath } from "./resolve-beneath.ts";
import type { VolumeFiles } from "./volume-files.ts";
import { giveToGroup } from "./volume-group.ts";

/** Volumes of this machine; `onProgress` is called after each step of a walk. */
export function createVolumeFiles(onProgress = () => {}): VolumeFiles {
  const mounts = new Mounts(createPrograms().run);
  // Formatting takes its time and keeps no other mount waiting.
  const devices = new BlockDevices(createPrograms());
  return {
    mountsWithin,
    mountMemory: (path, options) => mounts.memory(path, options),
    mountHugePages: (path, options) => mounts.hugePages(path, options),
    bind: (source, target, options) => mounts.bind(source, target, options),
    makeShared: (path) => mounts.makeShared(path),
    bindBeneath: (mount) => mounts.bindBeneath(mount),
    mountDevice: (mount) => devices.mount(mount),
    mapDevice: (source, target) => devices.map(source, target),
    unmapDevice: (target) => devices.unmap(target),
    unmount: (path) => mounts.unmount(path),
    writePayload,
    giveToGroup: (folder, ownership) => giveToGroup(folder, ownership, onProgress),
    readBeneath,
    overwrite,
  };
}

async function readBeneath(
  root: string,
  relativePath: string,
  maxBytes: number,
): Promise<string | undefined> {
  try {
    await using held = await holdBeneath(root, relativePath);
    const shown = `${root}/${relativePath}`;
    const facts = await held.stat();
    if (!facts.isFile()) throw new OutsideError("invalid", `read ${shown}: not a regular file`);
    if (facts.size > maxBytes)
      throw new OutsideError("exhausted", `read ${shown}: longer than ${maxBytes} bytes`);
    await using handle = await open(`/proc/self/fd/${held.fd}`, constants.O_RDONLY);
    const buffer = Buffer.alloc(maxBytes);
    const { bytesRead } = await handle.read(buffer, 0, maxBytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch (thrown) {
    if (isOutside(thrown, "notFound")) return undefined;
    throw hostError("read", `${root}/${relativePath}`, thrown);
  }
}

/**
 * The old text is cut off last, so that a reader sees the beginning of one or the other. Room for a longer one is
 * taken before, as empty lines: a full disk leaves the old text as it was.
 */
async function overwrite(path: string, text: string, mode: number): Promise<void> {
  try {
    const flags =
      constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    await using handle = await open(path, flags, mode);
    const content = Buffer.from(text);
    const facts = await handle.stat();
    if (!facts.isFile())
      throw new OutsideError("precondition", `write ${path}: not a regular file`);
    await handle.chmod(mode);
    if (facts.size === content.length && (await handle.readFile()).equals(content)) return;
    if (content.length > facts.size) {
      const padding = Buffer.alloc(content.length - facts.size, "\n");
      try {
        await writeAt(handle, padding, facts.size);
      } catch (thrown) {
        await handle.truncate(facts.size);
        throw thrown;
      }
    }
    await writeAt(handle, content, 0);
    await handle.truncate(content.length);
  } catch (thrown) {
    throw hostError("write", path, thrown);
  }
}

/** write(2) may take less than it is given, as on a disk that gets full. */
async function writeAt(handle: FileHandle, content: Buffer, position: number): Promise<void> {
  for (let done = 0; done < content.length; ) {
    const left = content.length - done;
    const { bytesWritten } = await handle.write(content, done, left, position + done);
    done += bytesWritten;
  }
}
