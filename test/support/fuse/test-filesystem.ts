import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

const SERVER = join(import.meta.dirname, "server.ts");

/** What a test needs of the process that serves; a `ChildProcess` or one in a box. */
interface ServerProcess {
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
}

/** How the file system treats requests: answered, never answered, or failed with EIO. */
export type FilesystemMode = "answer" | "hang" | "fail";

/** Why no file system in user space can be mounted here, if none can. */
export function fuseObstacle(): string | undefined {
  return existsSync("/dev/fuse") ? undefined : "the kernel has no /dev/fuse";
}

/** A FUSE file system with one `file` in it (`hello\n`) that does not answer when asked not to. */
export class TestFilesystem {
  readonly #process: ServerProcess;
  readonly #end: () => void;
  readonly #lines: AsyncIterator<string>;

  private constructor(process: ServerProcess, end: () => void) {
    this.#process = process;
    this.#end = end;
    if (!process.stdout) throw new Error("the server of the file system has no output");
    this.#lines = createInterface(process.stdout)[Symbol.asyncIterator]();
  }

  /** Mounts it on this machine. */
  static async mount(mountPoint: string): Promise<TestFilesystem> {
    const child: ChildProcess = spawn(process.execPath, [SERVER, mountPoint], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    return TestFilesystem.over(child, () => {
      child.kill("SIGKILL");
      spawnSync("umount", ["-l", mountPoint]);
    });
  }

  /** Mounts it by a process that runs elsewhere, started with `TestFilesystem.command`. */
  static async over(process: ServerProcess, end: () => void): Promise<TestFilesystem> {
    const filesystem = new TestFilesystem(process, end);
    await filesystem.#says("ready");
    return filesystem;
  }

  /** Program and arguments that serve the file system at `mountPoint`. */
  static command(mountPoint: string): readonly string[] {
    return [process.execPath, SERVER, mountPoint];
  }

  async become(mode: FilesystemMode): Promise<void> {
    this.#process.stdin?.write(`${mode}\n`);
    await this.#says(mode);
  }

  /** Ends the server: what waits fails, and the mount, if it stays, fails everything. */
  end(): void {
    this.#end();
  }

  async #says(word: string): Promise<void> {
    const { value, done } = await this.#lines.next();
    if (done || value !== word) throw new Error(`the file system reported ${value}, not ${word}`);
  }
}
