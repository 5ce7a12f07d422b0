import { readFileSync } from "node:fs";
import type { Clock } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { connectLogind } from "../systemd/connect-logind.ts";
import { connectSystemd } from "../systemd/connect-systemd.ts";
import { writeControl } from "./cgroups/cgroup-folders.ts";
import { type CgroupMounts, findCgroupMounts } from "./cgroups/cgroup-mounts.ts";
import { createCgroupTreeV1 } from "./cgroups/cgroup-tree-v1.ts";
import { createCgroupTreeV2 } from "./cgroups/cgroup-tree-v2.ts";
import { createAddressReader, readHostFacts } from "./facts.ts";
import { fileLocks } from "./file-locks.ts";
import { createFiles } from "./files/files.ts";
import { readIfPresent } from "./files/kernel-text.ts";
import type { CgroupTree, Host } from "./host.ts";
import { hostError } from "./host-errors.ts";
import { openKernelLog } from "./kernel-log.ts";
import { lookupName } from "./lookup-name.ts";
import { parseMountinfo } from "./mounts/parse-mountinfo.ts";
import { killProcess, readOpenFiles, readProcess } from "./processes.ts";
import { runProgram } from "./run-program.ts";
import { createFileWorkers, type FileWorkers } from "./worker/file-workers.ts";

interface HostOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Makes the system calls on files of pods; by default workers of its own. */
  readonly fileWorkers?: FileWorkers;
  /** Mount points of the cgroups; found in `/proc/self/mountinfo` by default. */
  readonly cgroupMounts?: CgroupMounts;
}

/**
 * The machine this process runs on. Cgroups are searched for when first asked for; a machine
 * without them is an `OutsideError` "precondition" then, and everything else works.
 */
export function connectHost(options: HostOptions): Host {
  const { fileWorkers = createFileWorkers(options) } = options;
  let cgroups: CgroupTree | undefined;
  return {
    files: createFiles(options),
    podFiles: fileWorkers.podFiles,
    volumes: fileWorkers.volumes,
    get cgroups() {
      cgroups ??= connectCgroups(options);
      return cgroups;
    },
    locks: fileLocks,
    systemd: connectSystemd({ clock: options.clock }),
    logind: connectLogind(),
    facts: async () => readHostFacts(),
    addresses: createAddressReader(),
    lookup: lookupName,
    diskUsage: fileWorkers.diskUsage,
    fileWorkers: () => fileWorkers.facts(),
    releaseWorkerMemory: () => fileWorkers.releaseMemory(),
    readKernel: readKernelFile,
    writeKernel: writeKernelFile,
    openKernelLog: () => openKernelLog(),
    openFiles: (pid, known) => readOpenFiles(pid, known),
    process: async (pid) => readProcess(pid),
    killProcess: async (process) => killProcess(process),
    runProgram,
  };
}

function connectCgroups({ clock, cgroupMounts }: HostOptions): CgroupTree {
  const mounts = cgroupMounts ?? findCgroupMounts(parseMountinfo(readMountinfo()));
  if (mounts === undefined) {
    throw new OutsideError(
      "precondition",
      "no cgroups: /proc/self/mountinfo shows neither cgroup2 nor cgroup mounts with cpu and memory",
    );
  }
  return mounts.version === 1
    ? createCgroupTreeV1(clock, mounts.hierarchies, mounts.hybrid)
    : createCgroupTreeV2(clock, mounts.mountPoint);
}

/** Only what the kernel makes up itself: anything else could keep the process waiting. */
function readKernelFile(path: string): string | undefined {
  return /^\/(proc|sys)\//.test(path) ? readIfPresent(path) : undefined;
}

function writeKernelFile(path: string, value: string): void {
  try {
    if (!/^\/proc\/(sys|self)\//.test(path)) throw new Error("neither /proc/sys nor /proc/self");
    writeControl(path, value);
  } catch (thrown) {
    throw hostError(`write ${JSON.stringify(value)} to`, path, thrown);
  }
}

function readMountinfo(): string {
  return readFileSync("/proc/self/mountinfo", "utf8");
}
