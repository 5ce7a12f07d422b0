import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { isOutside, OutsideError } from "../../../kit/errors.ts";
import { hostError } from "../host-errors.ts";
import { BlockDevices } from "../mounts/block-devices.ts";
import { Mounts, mountsWithin } from "../mounts/mounts.ts";
import { createPrograms } from "../mounts/programs.ts";
import { holdBeneath } from "../resolve-beneath.ts";
import type { VolumeFiles } from "../volume-files.ts";
import { overwriteFile } from "./overwrite-file.ts";
import { writePayload } from "./payload.ts";
import { giveToGroup } from "./volume-group.ts";

/** Mounts of servers at once; who asks for them limits them further. */
const SERVERS_AT_ONCE = 64;

/** mount.nfs tries for two minutes to reach a server; a server that takes its call and does not answer keeps it for ever. */
const SERVER_LIMIT_MS = 150_000;

/** Volumes of this machine; `onProgress` is called after each step of a walk. */
export function createVolumeFiles(onProgress = () => {}): VolumeFiles {
  const mounts = new Mounts(createPrograms().run);
  const servers = new Mounts(
    createPrograms({ atOnce: SERVERS_AT_ONCE, limitMs: SERVER_LIMIT_MS }).run,
  );
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
    mountServer: (mount) => servers.server(mount),
    mapDevice: (source, target) => devices.map(source, target),
    unmapDevice: (target) => devices.unmap(target),
    unmount: (path) => mounts.unmount(path),
    writePayload,
    giveToGroup: (folder, ownership) => giveToGroup(folder, ownership, onProgress),
    readBeneath,
    overwrite: async (files) => {
      for (const file of files) overwriteFile(file);
    },
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
