import { constants, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type FileHandle, open, stat, unlink } from "node:fs/promises";
import { isOutside, messageOf, OutsideError } from "../../../kit/errors.ts";
import { hostError, isMissing } from "../host-errors.ts";
import type { DeviceMount, MappedDevice } from "../volume-files.ts";
import { AS_GIVEN, makeTarget, mountAt, realPlace } from "./mounts.ts";
import type { ProgramEnd, Programs } from "./programs.ts";

// A device is opened once, and everything done about it is done through that descriptor: as long as it is
// open the kernel gives its number to no other device, and replacing the name affects no program.

/** O_PATH of Linux (the same on x86-64 and arm64): a handle on a name that opens nothing. */
const O_PATH = 0o10000000;

/** Path at which a program finds the device that it inherits. */
const INHERITED = "/proc/self/fd/3";

/** blkid: nothing that is known was found (blkid(8)). */
const NOTHING_FOUND = 2;
/** fsck: errors were left uncorrected (fsck(8)). */
const FSCK_UNCORRECTED = 4;

/** Type that is reported for a partition table, which is never formatted. */
const PARTITIONS = "unknown data, probably partitions";

/** It becomes a part of a program's name. */
const FS_TYPE = /^[a-z0-9][a-z0-9_.-]*$/i;

/** Mounts on top of one another that are taken away before it is given up. */
const MOUNTS_LIMIT = 32;

/** Bytes at the start of a device that hold the signatures of most file systems. */
const FIRST_BYTES = 128 * 1024;

const LOOP_NAME = /^loop\d+$/;

/** Block devices: formatted, mounted, held. */
export class BlockDevices {
  readonly #programs: Programs;

  constructor(programs: Programs) {
    this.#programs = programs;
  }

  /** See `VolumeFiles.mountDevice` (mount-utils SafeFormatAndMount). */
  async mount(mount: DeviceMount): Promise<void> {
    const { source, target, options, fsType } = mount;
    if (!FS_TYPE.test(fsType))
      throw new OutsideError("invalid", `"${fsType}" is not a name of a file system`);
    await using device = await holdDevice(source);
    const number = await numberOf(device);
    if (await this.#showsAlready(target, number)) return;
    const readOnly = options.includes("ro");
    const format = await this.#formatOf(device, source);
    if (format === undefined) {
      if (readOnly) throw unformatted(source);
      await this.#format(device, mount);
    } else if (!readOnly) await this.#repair(device, source);
    await this.#mountHeld(device, mount, format ?? fsType);
    if (await isDevice(target, number)) return;
    // The name became another device's between our opening it and mount's.
    await this.#programs.run("umount", [...AS_GIVEN, target]);
    throw new OutsideError("precondition", `${source} is another device now`);
  }

  /** See `VolumeFiles.mapDevice` (volumepathhandler MapDevice, AttachFileDevice). */
  async map(source: string, target: string): Promise<MappedDevice> {
    const present = await this.#mapped(target);
    if (present !== undefined) return { number: present, isNew: false };
    await using device = await holdDevice(source);
    // Half of a mapping, left by an agent that was killed: unused.
    await this.unmap(target);
    try {
      await makeTarget(device, target);
      await this.#programs.run("mount", [...AS_GIVEN, "--bind", INHERITED, target], [device.fd]);
      await this.#programs.run("losetup", ["-f", target]);
      if ((await loopsOver(target)).length === 0)
        throw new OutsideError("precondition", `no loop device holds ${target}`);
    } catch (thrown) {
      await this.unmap(target);
      throw hostError("map", source, thrown);
    }
    return { number: await numberOf(device), isNew: true };
  }

  /** See `VolumeFiles.unmapDevice`. */
  async unmap(target: string): Promise<void> {
    for (const name of await loopsOver(target))
      await this.#programs.run("losetup", ["-d", `/dev/${name}`]);
    for (let left = MOUNTS_LIMIT; await mountAt(target); left -= 1) {
      if (left === 0) throw new OutsideError("precondition", `${target} stays mounted`);
      await this.#programs.run("umount", [...AS_GIVEN, target]);
    }
    try {
      await unlink(target);
    } catch (thrown) {
      if (!isMissing(thrown)) throw hostError("unmap", target, thrown);
    }
  }

  /** The number of the device that is shown and held at `target`. */
  async #mapped(target: string): Promise<string | undefined> {
    if (!(await mountAt(target)) || (await loopsOver(target)).length === 0) return undefined;
    const facts = await stat(target, { bigint: true });
    return facts.isBlockDevice() ? deviceNumber(facts.rdev) : undefined;
  }

  async #showsAlready(target: string, number: string): Promise<boolean> {
    const present = await mountAt(target);
    if (!present) return false;
    if (await isDevice(target, number)) return true;
    const message = `${target} shows ${present.source}, which is another device`;
    throw new OutsideError("precondition", message);
  }

  /** The file system, or what else blkid knows of. */
  async #formatOf(device: FileHandle, source: string): Promise<string | undefined> {
    const args = ["-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", INHERITED];
    const found = await this.#programs.attempt("blkid", args, [device.fd]);
    if (found.code === NOTHING_FOUND) {
      await readSome(device, source);
      return undefined;
    }
    if (found.code === 0) {
      if (/^PTTYPE=./m.test(found.words)) return PARTITIONS;
      return /^TYPE=(.+)$/m.exec(found.words)?.[1] ?? "unknown data";
    }
    const why = `${found.end} ${found.words}`.trim();
    throw new OutsideError("io", `failed to get disk format of disk ${source}: ${why}`);
  }

  async #format(
    device: FileHandle,
    { source, target, fsType, options }: DeviceMount,
  ): Promise<void> {
    const force = fsType === "ext4" || fsType === "ext3" ? ["-F", "-m0"] : [];
    const made = await this.#programs
      .attempt(`mkfs.${fsType}`, [...force, INHERITED], [device.fd])
      .catch(notThere);
    if (made.code === 0) return;
    const type = `type:(${JSON.stringify(fsType)}) target:(${JSON.stringify(target)})`;
    const end = `options:(${JSON.stringify(options.join(","))}) errcode:(${made.end}) output:(${made.words})`;
    throw new OutsideError("io", `format of disk "${source}" failed: ${type} ${end} `);
  }

  /** As the Go kubelet: what fsck cannot do is left to the mount, errors it cannot correct are not. */
  async #repair(device: FileHandle, source: string): Promise<void> {
    const done = await this.#programs
      .attempt("fsck", ["-a", INHERITED], [device.fd])
      .catch(notThere);
    if (done.code !== FSCK_UNCORRECTED) return;
    const message = `'fsck' found errors on device ${source} but could not correct them: ${done.words}`;
    throw new OutsideError("io", message);
  }

  /** By its name, since that is what the table of mounts shows for ever. */
  async #mountHeld(
    device: FileHandle,
    { target, fsType, options }: DeviceMount,
    format: string,
  ): Promise<void> {
    const name = readlinkSync(`/proc/self/fd/${device.fd}`);
    const args = ["-t", fsType, "-o", [...options, "defaults"].join(","), name, target];
    const { code, end, words } = await this.#programs.attempt("mount", [...AS_GIVEN, ...args]);
    if (code === 0) return;
    const message = `mount failed: ${end}\nMounting command: mount\nMounting arguments: ${args.join(" ")}\nOutput: ${words}`;
    throw new OutsideError(format === fsType ? "io" : "invalid", message, { retryable: true });
  }
}

function unformatted(source: string): OutsideError {
  const why = "as we are manipulating it in read-only mode";
  return new OutsideError("precondition", `cannot mount unformatted disk ${source} ${why}`);
}

/** A program that is missing ends like one that fails. */
function notThere(thrown: unknown): ProgramEnd {
  if (!isOutside(thrown, "unimplemented")) throw thrown;
  return { code: -1, end: messageOf(thrown), words: "" };
}

/** Opens a block device for reading; what is none is not even opened. */
async function holdDevice(path: string): Promise<FileHandle> {
  try {
    await using named = await open(path, O_PATH);
    if (!(await named.stat()).isBlockDevice())
      throw new OutsideError("precondition", `${path} is not a block device`);
    return await open(`/proc/self/fd/${named.fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (thrown) {
    throw hostError("open", path, thrown);
  }
}

/** A disk that cannot be read is empty for blkid. */
async function readSome(device: FileHandle, source: string): Promise<void> {
  try {
    await device.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
  } catch (thrown) {
    throw hostError("read", source, thrown);
  }
}

async function numberOf(device: FileHandle): Promise<string> {
  return deviceNumber((await device.stat({ bigint: true })).rdev);
}

/** `major:minor` of what stat(2) gives (makedev(3)). */
export function deviceNumber(device: bigint): string {
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}

/** File systems of several devices have no number of theirs in the table; their source has. */
async function isDevice(target: string, number: string): Promise<boolean> {
  const mount = await mountAt(target);
  if (!mount) return false;
  if (!mount.device.startsWith("0:")) return mount.device === number;
  const source = await stat(mount.source, { bigint: true }).catch(() => undefined);
  return source?.isBlockDevice() === true && deviceNumber(source.rdev) === number;
}

/** Names of the loop devices over a file. */
async function loopsOver(path: string): Promise<readonly string[]> {
  const real = await realPlace(path);
  return readdirSync("/sys/block").filter(
    (name) => LOOP_NAME.test(name) && backingFile(name) === real,
  );
}

function backingFile(loop: string): string | undefined {
  try {
    return readFileSync(`/sys/block/${loop}/loop/backing_file`, "utf8").replace(/\n$/, "");
  } catch {
    return undefined;
  }
}
