// pure

import type { PodFiles } from "../host.ts";
import type { VolumeFiles } from "../volume-files.ts";

/** How long an operation may take without any progress before its worker is given up (`limitOperation`), in milliseconds. */
export const OPERATION_LIMITS_MS = {
  "files.readText": 10_000,
  "files.readTail": 10_000,
  "files.list": 10_000,
  "files.listBeneath": 10_000,
  "files.facts": 10_000,
  "files.remove": 10_000,
  "files.link": 10_000,
  "files.rename": 10_000,
  "files.factsOfAll": 10_000,
  "files.makeDirectory": 10_000,
  "files.makeDirectories": 10_000,
  // Writing waits for the disk (fsync), which a busy one makes long.
  "files.writeAtomic": 60_000,
  "files.append": 60_000,
  "files.changeBeneath": 60_000,
  // Walks report progress: the limit is for one step of them.
  "files.removeTree": 30_000,
  "files.measureTrees": 10_000,
  "disk.usage": 10_000,
  "volumes.mountsWithin": 10_000,
  "volumes.readBeneath": 10_000,
  "volumes.overwrite": 60_000,
  "volumes.writePayload": 60_000,
  "volumes.giveToGroup": 30_000,
  "volumes.mountMemory": 30_000,
  "volumes.mountHugePages": 30_000,
  "volumes.bind": 30_000,
  "volumes.makeShared": 30_000,
  "volumes.bindBeneath": 30_000,
  "volumes.unmount": 30_000,
  // Formatting and checking a large device takes its time.
  "volumes.mountDevice": 600_000,
  // Longer than the program may take (`SERVER_LIMIT_MS`): this is about the worker.
  "volumes.mountServer": 240_000,
  "volumes.mapDevice": 30_000,
  "volumes.unmapDevice": 30_000,
  "folder.open": 10_000,
  "folder.list": 10_000,
  "folder.openFile": 10_000,
  "folder.watch": 10_000,
  "folder.unwatch": 10_000,
  "file.size": 10_000,
  "file.read": 10_000,
  "handle.close": 10_000,
  "memory.release": 10_000,
} as const satisfies Record<string, number> &
  Record<`files.${keyof PodFiles}` | `volumes.${keyof VolumeFiles}`, number>;

/** Names of all operations. */
export type OperationName = keyof typeof OPERATION_LIMITS_MS;

/**
 * Requests about several places, whose callers ask for each alone when they fail: where one hangs it is not known
 * which of the places it was.
 */
export const COLLECTIVE: ReadonlySet<OperationName> = new Set([
  "files.factsOfAll",
  "files.measureTrees",
  "files.makeDirectories",
]);
