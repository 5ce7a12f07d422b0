/**
 * The machine: files, cgroups, facts. Only interfaces here; `connect-host.ts` holds the real one, the
 * simulation brings its own, and both pass the contract suite in `test/contracts/`.
 */

import type { MonotonicMs } from "../../kit/clock.ts";
import type { Program, ProgramResult } from "../program.ts";
import type { Logind } from "../systemd/logind.ts";
import type { SystemdUnits } from "../systemd/systemd.ts";
import type { FileEntry, FileFacts, FolderChange, FolderEvent, SizedEntry } from "./file-facts.ts";
import type { ProcessFacts } from "./process-facts.ts";
import type { VolumeFiles } from "./volume-files.ts";

export type {
  FileEntry,
  FileFacts,
  FileKind,
  FolderChange,
  FolderEvent,
  SizedEntry,
} from "./file-facts.ts";
export type { ProcessFacts } from "./process-facts.ts";
export type {
  BindMount,
  DeviceMount,
  GroupOwnership,
  MappedDevice,
  MountPoint,
  OverwrittenFile,
  PayloadFile,
  ServerMount,
  VolumeFiles,
} from "./volume-files.ts";

/** Size of a folder. */
export interface TreeSize {
  readonly usedBytes: number;
  /** Files, folders and links, the folder itself included. */
  readonly inodes: number;
  /** Everything was counted; otherwise the figures are what was counted before the limit. */
  readonly complete: boolean;
  /** Number of the device that holds its file system, as in `DiskUsage`. */
  readonly device: number;
  /** How long counting took, in milliseconds. */
  readonly tookMs: number;
}

/** Outcome of measuring one of several folders. */
export type MeasuredTree =
  | { readonly kind: "measured"; readonly size: TreeSize }
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly message: string };

/** A folder to be made, with its permission bits. */
export interface NewFolder {
  readonly path: string;
  readonly mode: number;
}

/** Absolute paths only. What is missing is `undefined` or a no-op, never an error; all else is `OutsideError`. */
export interface Files {
  /** The text of a regular file; a file longer than `maxBytes` is an `OutsideError` "exhausted". */
  readText(path: string, options: { readonly maxBytes: number }): Promise<string | undefined>;
  /**
   * The last `maxBytes` of the regular file `relativePath` below `root` as text; `undefined` when there is none. `root` is
   * trusted; a link in any part of the way below it, the file itself included, is an `OutsideError` "precondition".
   */
  readTail(root: string, relativePath: string, maxBytes: number): Promise<string | undefined>;
  /** Replaces the file in one step: temporary file beside it, fsync, rename. */
  writeAtomic(path: string, content: string | Uint8Array, mode: number): Promise<void>;
  /** Adds `text` to the end of the file, which is made with `mode` when missing; it survives a power cut with `sync`. */
  append(
    path: string,
    text: string,
    mode: number,
    options?: { readonly sync?: boolean },
  ): Promise<void>;
  /** Makes the folder and those above it; an existing one gets `mode` too. */
  makeDirectory(path: string, mode: number): Promise<void>;
  /**
   * Makes several folders in their order, each as `makeDirectory` does, in one request to a worker. Resolves with whether each
   * was missing; `false` where that is not known.
   */
  makeDirectories(folders: readonly NewFolder[]): Promise<readonly boolean[]>;
  /** The folder's entries sorted by name; `undefined` when there is no such folder. */
  list(path: string): Promise<readonly FileEntry[] | undefined>;
  /** Facts of the path itself, or of what it links to with `follow`. */
  facts(path: string, options?: { readonly follow?: boolean }): Promise<FileFacts | undefined>;
  /**
   * Facts of several paths, in their order, in one request to a worker. Fails when it fails for one of them: ask for
   * each alone then.
   */
  factsOfAll(
    paths: readonly string[],
    options?: { readonly follow?: boolean },
  ): Promise<readonly (FileFacts | undefined)[]>;
  /** Removes a file, link or empty folder. */
  remove(path: string): Promise<void>;
  /** Makes or replaces a symbolic link; with `ifTargetExists` nothing where an absolute `target` does not exist. */
  link(
    target: string,
    path: string,
    options?: { readonly ifTargetExists?: boolean },
  ): Promise<void>;
  /** Replaces what `to` names; a missing `from` is an `OutsideError` "notFound". */
  rename(from: string, to: string): Promise<void>;
  /**
   * The entries of the folder `relativePath` below `root`, sorted by name; `undefined` when there is none. `root` is
   * trusted; a link in any part of the way below it is an `OutsideError` "precondition".
   */
  listBeneath(root: string, relativePath: string): Promise<readonly SizedEntry[] | undefined>;
  /**
   * Makes changes in their order in the folder `relativePath` below `root`, which is reached without following a link
   * and held open meanwhile; ends with the first that fails. A missing folder is an `OutsideError` "notFound", a link
   * on the way "precondition", a name that is no plain file name "invalid".
   */
  changeBeneath(
    root: string,
    relativePath: string,
    changes: readonly FolderChange[],
  ): Promise<void>;
  /**
   * Calls `onChange` after anything in the folder may have changed (always: rescan), with what was reported since the
   * last call, in that order and perhaps not all. The folder is made when missing and watched again when it is removed and
   * recreated. Ends with the signal.
   */
  watchDirectory(
    path: string,
    onChange: (events: readonly FolderEvent[]) => void,
    signal: AbortSignal,
  ): void;
}

/** Folders with all they hold. Walking through one blocks the thread that does it: only workers and commands do. */
export interface FileTrees {
  /**
   * Removes a folder with all it holds. Follows no link and stays on the folder's own file system: a
   * mount point beneath is an `OutsideError` "precondition" and nothing in it is touched.
   */
  removeTree(path: string): Promise<void>;
  /**
   * Disk usage of several folder trees or plain files, in their order, in one request to a worker; links are not
   * followed, mounts beneath are left out, and a file with several names counts once. What cannot be measured fails
   * alone. Rejects when one does not answer: ask for each alone then.
   */
  measureTrees(
    paths: readonly string[],
    limits: { readonly maxEntries: number },
    signal: AbortSignal,
  ): Promise<readonly MeasuredTree[]>;
}

/**
 * `Files` and trees for paths that pods, mounts or network file systems control: each call is made in a worker process
 * and ends in time. "deadline" and "unavailable" then mean that the file system does not answer. Folders are
 * watched by the agent itself, its own ones only.
 */
export type PodFiles = Omit<Files, "watchDirectory"> & FileTrees;

/** Generation of the kernel's cgroups. */
export type CgroupVersion = 1 | 2;

/**
 * The kernel's cgroups by path (`/kubepods/burstable/podX`), whatever the version. A `file` is
 * the kernel's name (`cpu.shares`, `memory.max`); on v1 its prefix picks the hierarchy.
 */
export interface CgroupTree {
  readonly version: CgroupVersion;
  /** Controllers that can be used, e.g. `cpu`, `memory`, `pids`. */
  readonly controllers: ReadonlySet<string>;
  /** Whether the group is there with every usable controller. */
  exists(path: string): Promise<boolean>;
  /** Makes the group and those above it, with every usable controller enabled (v2). Idempotent. */
  create(path: string): Promise<void>;
  /** The value without its newline; `undefined` when group or file are missing. */
  read(path: string, file: string): Promise<string | undefined>;
  write(path: string, file: string, value: string): Promise<void>;
  /**
   * Several files of one group at once, each as `read` gives it; what cannot be read is `undefined`. For
   * measuring many groups, where the kernel answers at once and waiting for each would cost more.
   */
  readNow(path: string, files: readonly string[]): readonly (string | undefined)[];
  /**
   * Calls `onPressure` when the kernel reports through a cgroup v2 mount that memory is short: tasks of the machine waited
   * for it, or (v2 only) the group reached its own limit. Returns the files by which it does so: none where there is no
   * such mount, or the kernel is older. Ends with the signal. Absent in a simulation.
   */
  watchMemory?(path: string, onPressure: () => void, signal: AbortSignal): readonly string[];
  /** Names of the groups directly beneath. */
  children(path: string): Promise<readonly string[]>;
  /** Processes of the group itself, with version 1 as `devices` has them. */
  members(path: string): Promise<readonly number[]>;
  /** Processes of the group and of all beneath it, each once. */
  processes(path: string): Promise<readonly number[]>;
  /** Thaws the group and all beneath: frozen processes take no signal on v1, on v2 only SIGKILL. Idempotent. */
  thaw(path: string): Promise<void>;
  /** Kills what still runs in the group and beneath, then removes all of it. Idempotent. */
  destroy(path: string): Promise<void>;
}

/** How the worker processes for `podFiles` are. */
export interface FileWorkerFacts {
  /** Processes that take requests. */
  readonly workers: number;
  /** Of these, how many have a request without progress for a while. */
  readonly late: number;
  /** Processes that were given up and have not returned from their system call. */
  readonly stuck: number;
  /** How long the oldest request has waited for a worker. */
  readonly waitingMs: number;
  /** Requests that got no answer in time, since the start. */
  readonly timeouts: number;
  /** File systems that do not answer, since when (monotonic), oldest first. */
  readonly unanswered: readonly { readonly shown: string; readonly sinceMs: MonotonicMs }[];
}

/** Facts that do not change while the machine is up, apart from memory and disk sizes by hot-plug. */
export interface HostFacts {
  readonly hostname: string;
  readonly cpuCount: number;
  /** Cores without their further threads. */
  readonly physicalCores: number;
  /** Packages that hold the cores. */
  readonly cpuSockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly architecture: string;
  readonly bootId: string;
  readonly machineId: string;
  readonly systemUuid: string;
  /** Bytes of a memory page. */
  readonly pageBytes: number;
  /** Most tasks at once: the smaller of the highest process id and the limit of threads. */
  readonly pidMax: number;
  /** Page sizes the kernel offers, in bytes, with how many pages are reserved of each. */
  readonly hugepages: readonly { readonly sizeBytes: number; readonly pages: number }[];
  /** Folders of /sys that count how often each processor was throttled for its heat; no workload may read them. */
  readonly thermalThrottleFolders: readonly string[];
  /** Whether this process runs in a user namespace other than the machine's first one. */
  readonly inUserNamespace: boolean;
}

/** Size and use of a file system (statfs). */
export interface DiskUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  /** Number of the device: paths with the same one are on one file system. */
  readonly device: number;
}

/** File descriptors of a process. */
export interface OpenFiles {
  readonly descriptors: number;
  /** Those that are sockets; absent when there are too many descriptors to inspect each. */
  readonly sockets?: number;
}

/** The kernel's log from the moment it was opened. */
export interface KernelLog {
  /** Texts of the records since the last read, oldest first; never waits. */
  read(): readonly string[];
  close(): void;
}

/** Folders with programs of the machine, in the order in which they are searched. */
export const PROGRAM_FOLDERS: readonly string[] = [
  "/usr/local/sbin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/bin",
  "/sbin",
  "/bin",
];

/** Locks on files, which end with their holder at the latest: after a kill and a restart of the machine nothing is left. */
export interface FileLocks {
  /** Number of this process, for messages about who holds a lock. */
  readonly pid: number;
  /**
   * Takes the lock of a file, which is made when missing (mode 0600) and stays empty. It is held until disposed of. Throws
   * `OutsideError`, "alreadyExists" when another agent holds it, in this process or another one.
   */
  take(path: string): Promise<Disposable>;
  /** Whether an agent holds it. Opens the file: not for one that this process has locked itself, nor on a disk that may hang. */
  isHeld(path: string): Promise<boolean>;
}

/** The machine beneath the agent. */
export interface Host {
  /** The agent's own state and configuration. */
  readonly files: Files;
  /** Files of pods: their folders, volumes and logs, and host paths they name. */
  readonly podFiles: PodFiles;
  /** As `podFiles`, in a worker process. */
  readonly volumes: VolumeFiles;
  readonly cgroups: CgroupTree;
  /** Absent where nothing but the agent is on the machine (a simulation). */
  readonly locks?: FileLocks;
  /** Asked only where systemd keeps the cgroups. */
  readonly systemd?: SystemdUnits;
  /** Asked only where a shutdown of the machine is to wait for pods. */
  readonly logind?: Logind;
  /** State of the worker processes; absent where there are none (a simulation). */
  fileWorkers?(): FileWorkerFacts;
  /** Has them give back memory that they do not use, which takes some 10 ms. */
  releaseWorkerMemory?(): Promise<void>;
  facts(): Promise<HostFacts>;
  /**
   * Addresses of the machine's interfaces that are up, loopback left out; those of the default routes first. The kernel
   * answers at once.
   */
  addresses(): readonly string[];
  /**
   * Addresses of a name by the machine's resolver (/etc/hosts, DNS), as getaddrinfo(3) orders them; none for an unknown
   * name. Throws `OutsideError` when the resolver fails. May take long; holds a thread until then.
   */
  lookup(name: string): Promise<readonly string[]>;
  /** Usage of the file system that holds `path`, asked by a worker process; `undefined` when the path is missing. */
  diskUsage(path: string): Promise<DiskUsage | undefined>;
  /** Runs a program; absent where there are none (a simulation). Throws `OutsideError`. */
  runProgram?(program: Program, signal: AbortSignal): Promise<ProgramResult>;
  /** Opens the kernel's log; absent or `undefined` where it cannot be read. */
  openKernelLog?(): KernelLog | undefined;
  /**
   * A file of /proc or /sys, without its last newline; `undefined` when it cannot be read. The kernel
   * answers at once.
   */
  readKernel(path: string): string | undefined;
  /** Sets a file of /proc/sys, or of /proc/self. `OutsideError` when it is not there or may not be set. */
  writeKernel(path: string, value: string): void;
  /**
   * Open files of a process; `undefined` when there is no such process. The kernel answers at once. With `known`, what
   * was read lately is given again while the process has as many descriptors as then.
   */
  openFiles(pid: number, known?: OpenFiles): OpenFiles | undefined;
  /** A process of the machine; `undefined` when there is none of that number. */
  process(pid: number): Promise<ProcessFacts | undefined>;
  /** Kills a process, if the number still is of the one that started then. */
  killProcess(process: Pick<ProcessFacts, "pid" | "startTicks">): Promise<void>;
}

/** Whether something is mounted at the very path. */
export async function isMountPoint(
  volumes: Pick<VolumeFiles, "mountsWithin">,
  path: string,
): Promise<boolean> {
  return (await volumes.mountsWithin(path)).some((mount) => mount.path === path);
}
