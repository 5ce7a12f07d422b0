/**
 * Operations for volumes beyond plain files: mounts, and files in folders that a container may
 * change at the same time. Every step starts from a folder held open, so that exchanging names leads
 * nothing elsewhere.
 */

/** One mount at or beneath a folder. */
export interface MountPoint {
  readonly path: string;
  readonly fsType: string;
  /** Device, `tmpfs` or whatever was given as source. */
  readonly source: string;
  readonly readOnly: boolean;
  /** Options of the file system, e.g. `size=1024k`. */
  readonly options: readonly string[];
}

/** One file of a payload. */
export interface PayloadFile {
  /** Relative to the volume; folders in it are made. */
  readonly path: string;
  readonly content: Uint8Array;
  /** Permission bits. */
  readonly mode: number;
  /** Owner; root by default. */
  readonly ownerUid?: number;
}

/** Which files and folders get a group, and what it may do. */
export interface GroupOwnership {
  readonly groupId: number;
  /** The group may read only; else also write. */
  readonly readOnly: boolean;
  /** Leaves all as it is when the topmost folder is right already (`OnRootMismatch`). */
  readonly onlyOnMismatch?: boolean;
}

/** A path in a volume and its mount target. */
export interface BindMount {
  /** The volume; trusted, may be reached through links. */
  readonly root: string;
  /** Place in it; links are followed as long as they stay in `root`. */
  readonly relativePath: string;
  /** Made as file or folder like the source; what else is mounted there goes first. */
  readonly target: string;
  /** Missing folders of `relativePath` are made with this mode; without, they are "notFound". */
  readonly createMode?: number;
}

/** A block device whose file system is to be mounted. */
export interface DeviceMount {
  /** Path of the device; links are followed. */
  readonly source: string;
  /** An existing folder. */
  readonly target: string;
  /** File system that is expected, and made where there is none: `ext4`. */
  readonly fsType: string;
  /** Options for mount(8); with `ro` nothing is ever written to the device. */
  readonly options: readonly string[];
}

/** A file system of another machine that is to be mounted. */
export interface ServerMount {
  /** `server:/folder`; does not begin with a dash. */
  readonly source: string;
  /** An existing folder. */
  readonly target: string;
  readonly fsType: "nfs";
  /** Options for mount(8). */
  readonly options: readonly string[];
}

/** A block device that is held for a pod. */
export interface MappedDevice {
  /** `major:minor`. */
  readonly number: string;
  /** It was not held before. */
  readonly isNew: boolean;
}

/** A file and the text that it is to have. */
export interface OverwrittenFile {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  readonly mode: number;
  /** With it the folder is made when it is missing. */
  readonly folderMode?: number;
}

/**
 * Errors are `OutsideError`: "invalid" for a path that leaves its root, "precondition" where a link or a
 * mount is in the way, "notFound", else what the kernel says.
 */
export interface VolumeFiles {
  /** Mounts at `path` or beneath it, in the order they were made. */
  mountsWithin(path: string): Promise<readonly MountPoint[]>;
  /** Mounts memory at an existing folder; kept out of swap where the kernel can. */
  mountMemory(path: string, options: { readonly sizeBytes?: number }): Promise<void>;
  /** Mounts huge pages of one size at an existing folder. */
  mountHugePages(
    path: string,
    options: { readonly pageBytes: number; readonly sizeBytes: number },
  ): Promise<void>;
  /** Shows the folder or file `source` at the existing `target` too, there with these options (`ro`). */
  bind(source: string, target: string, options?: readonly string[]): Promise<void>;
  /**
   * Makes mounts below an existing folder seen in containers, and mounts of containers here (rshared): where they are
   * not yet, the folder becomes a mount of its own, "precondition" when that would hide mounts below it. Resolves with
   * whether anything was changed.
   */
  makeShared(path: string): Promise<boolean>;
  /** As `bind`, from within a volume whose content is not trusted. */
  bindBeneath(mount: BindMount): Promise<void>;
  /**
   * Mounts the file system of a block device; one that holds nothing is formatted first, one that holds
   * anything never. Mounted already is fine; another device there is "precondition", a file system that
   * is another one and cannot be mounted as what is expected "invalid".
   */
  mountDevice(mount: DeviceMount): Promise<void>;
  /** Mounts a file system of another machine, through the program of this machine for its kind ("io" where that is missing). */
  mountServer(mount: ServerMount): Promise<void>;
  /**
   * Shows the node of the block device `source` at `target`, made as a file, and holds the device so that
   * its number stays its own until `unmapDevice`, whatever ends meanwhile. What is held there stays, also
   * when `source` is another device by now.
   */
  mapDevice(source: string, target: string): Promise<MappedDevice>;
  /** Undoes `mapDevice` and removes `target`; nothing there is fine. */
  unmapDevice(target: string): Promise<void>;
  /** Takes the topmost mount at `path` away; none is fine. */
  unmount(path: string): Promise<void>;
  /**
   * Makes `files` the content of the volume `folder` in one step, seen through `..data`, and removes what
   * was there before of earlier payloads. Resolves with whether anything was changed.
   */
  writePayload(
    folder: string,
    files: readonly PayloadFile[],
    group?: GroupOwnership,
  ): Promise<boolean>;
  /** Gives a folder with all it holds to a group; links themselves are given, never followed. */
  giveToGroup(folder: string, mount: GroupOwnership): Promise<void>;
  /** The text of a regular file in a volume, links followed within it; missing is `undefined`. */
  readBeneath(root: string, relativePath: string, maxBytes: number): Promise<string | undefined>;
  /**
   * Writes the texts into the files themselves, so that they are seen where the files are mounted: one after the other, up to
   * the first that cannot be written.
   */
  overwrite(files: readonly OverwrittenFile[]): Promise<void>;
}
