import { statfs } from "node:fs/promises";
import type { DiskUsage } from "./host.ts";
import { hostError, isMissing } from "./host-errors.ts";

/**
 * Usage of the file system that holds `path`, as unprivileged users see it (root's reserve counts as
 * used); `undefined` when the path is missing. Asynchronous, since a dead network file system never
 * answers.
 */
export async function readDiskUsage(path: string): Promise<DiskUsage | undefined> {
  try {
    const facts = await statfs(path, { bigint: true });
    return {
      capacityBytes: Number(facts.blocks * facts.bsize),
      availableBytes: Number(facts.bavail * facts.bsize),
      inodes: Number(facts.files),
      inodesFree: Number(facts.ffree),
    };
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw hostError("measure disk of", path, thrown);
  }
}
