/** A box whose machine has cgroups of both versions. */
import type { Box } from "../box/box.ts";

const UNIFIED = "/sys/fs/cgroup/unified";
const LEAVE = `if mountpoint -q ${UNIFIED}; then umount ${UNIFIED} && rmdir ${UNIFIED}; fi`;

/** Takes away the version 2 of a machine of version 1: crun refuses a machine that has controllers in both. */
export async function leaveHybrid(box: Box): Promise<void> {
  await box.run(["sh", "-c", LEAVE]);
}
