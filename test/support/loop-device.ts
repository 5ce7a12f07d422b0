// Disks for tests: loop devices over sparse files.
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { basename } from "node:path";

const SIZE_BYTES = 32 * 1024 * 1024;

/** One loop device of the machine. */
export class LoopDevice {
  /** `/dev/loop0`. */
  readonly path: string;
  /** The file that holds its content. */
  readonly file: string;

  private constructor(path: string, file: string) {
    this.path = path;
    this.file = file;
  }

  /** Makes an empty file and a device over it; `undefined` where the machine has no loop devices. */
  static over(file: string, sizeBytes = SIZE_BYTES): LoopDevice | undefined {
    const fd = openSync(file, "wx", 0o600);
    ftruncateSync(fd, sizeBytes);
    closeSync(fd);
    try {
      const out = execFileSync("losetup", ["-f", "--show", file], { encoding: "utf8" });
      return new LoopDevice(out.trim(), file);
    } catch {
      return undefined;
    }
  }

  /** `major:minor`. */
  get number(): string {
    return readFileSync(`/sys/block/${basename(this.path)}/dev`, "utf8").trim();
  }

  /** Sets its I/O scheduler: `bfq` counts what each group reads and writes. */
  setScheduler(name: string): void {
    writeFileSync(`/sys/block/${basename(this.path)}/queue/scheduler`, name);
  }

  detach(): void {
    execFileSync("losetup", ["-d", this.path]);
  }
}

/** Why there can be no such disks here. */
export function loopObstacle(): string | undefined {
  return existsSync("/dev/loop-control") ? undefined : "the machine has no loop devices";
}
