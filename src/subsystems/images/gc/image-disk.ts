/** The file systems that hold images and containers, from runtime and kernel. */
import { OutsideError } from "../../../kit/errors.ts";
import type { FilesystemUsage, ImageService } from "../../../outside/cri/cri.ts";
import type { Host } from "../../../outside/host/host.ts";

/** One file system with what the runtime uses of it. */
export interface RuntimeFilesystem {
  /** Folder of the runtime on it. */
  readonly mountPoint: string;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  /** Number of the device: paths with the same one are on one file system. */
  readonly device: number;
  /** Disk usage of images or containers as reported by the runtime. */
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** Both file systems; the same by default. */
export interface RuntimeFilesystems {
  readonly images: RuntimeFilesystem;
  /** Writable layers of containers. */
  readonly containers: RuntimeFilesystem;
  /** Whether images and writable layers are apart. */
  readonly split: boolean;
}

/**
 * Asks the runtime where images and containers are, and the kernel how large and how full that is (CRI
 * ImageFsInfo, statfs). Throws `OutsideError`; "precondition" when the runtime names no file system.
 */
export async function measureFilesystems(
  images: Pick<ImageService, "filesystems">,
  host: Pick<Host, "diskUsage">,
  signal: AbortSignal,
): Promise<RuntimeFilesystems> {
  const found = await images.filesystems(signal);
  const [first] = found.images;
  if (!first)
    throw new OutsideError(
      "precondition",
      "no imageFs usage information: the runtime reports no image file system",
    );
  const [writable] = found.containers;
  const imageFs = await measure(first, host);
  const mountPoint = writable?.fsId?.mountpoint ?? "";
  const split = writable !== undefined && mountPoint !== "" && mountPoint !== imageFs.mountPoint;
  return { images: imageFs, containers: split ? await measure(writable, host) : imageFs, split };
}

async function measure(
  usage: FilesystemUsage,
  host: Pick<Host, "diskUsage">,
): Promise<RuntimeFilesystem> {
  const mountPoint = usage.fsId?.mountpoint ?? "";
  const disk = mountPoint === "" ? undefined : await host.diskUsage(mountPoint);
  if (!disk)
    throw new OutsideError("precondition", `no file system at ${JSON.stringify(mountPoint)}`);
  return {
    mountPoint,
    ...disk,
    usedBytes: Number(usage.usedBytes?.value ?? 0n),
    inodesUsed: Number(usage.inodesUsed?.value ?? 0n),
  };
}
