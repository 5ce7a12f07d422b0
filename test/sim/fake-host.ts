import type { Clock } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import type {
  CgroupVersion,
  DiskUsage,
  Host,
  HostFacts,
  OpenFiles,
  ProcessFacts,
} from "../../src/outside/host/host.ts";
import { FakeCgroups } from "./fake-cgroups.ts";
import { FakeFiles, type Fault } from "./fake-files.ts";
import { FakeLogind } from "./fake-logind.ts";
import { FakeVolumeFiles } from "./fake-volume-files.ts";

export interface FakeHostOptions {
  readonly clock: Clock;
  readonly cgroupVersion?: CgroupVersion;
  readonly controllers?: readonly string[];
  readonly facts?: Partial<HostFacts>;
  /** Asked before every call, e.g. ("writeAtomic", "/x") or ("cgroup.write", "/kubepods/cpu.shares"). */
  readonly fault?: Fault;
  /** Called for every process that ends with its group. */
  readonly onKill?: (pid: number) => void;
}

const CONTROLLERS: Readonly<Record<CgroupVersion, readonly string[]>> = {
  1: ["cpu", "cpuacct", "cpuset", "memory", "pids", "hugetlb"],
  2: ["cpuset", "cpu", "io", "memory", "hugetlb", "pids"],
};

/** A machine with 3 CPUs and 8 GiB. */
export const FAKE_FACTS: HostFacts = {
  hostname: "fake",
  cpuCount: 3,
  physicalCores: 2,
  cpuSockets: 1,
  memoryBytes: 8 * 2 ** 30,
  swapBytes: 0,
  kernelVersion: "6.1.0",
  osImage: "Fake Linux 1",
  architecture: "amd64",
  bootId: "00000000-0000-4000-8000-000000000001",
  machineId: "00000000000000000000000000000002",
  systemUuid: "00000000-0000-4000-8000-000000000003",
  pageBytes: 4096,
  pidMax: 32_768,
  hugepages: [{ sizeBytes: 2 ** 21, pages: 0 }],
  thermalThrottleFolders: [],
  inUserNamespace: false,
};

/** A disk that is a third full. */
const FAKE_DISK: DiskUsage = {
  capacityBytes: 60 * 2 ** 30,
  availableBytes: 40 * 2 ** 30,
  inodes: 4_000_000,
  inodesFree: 3_000_000,
  device: 1,
};

/** A machine in memory for tests and simulation; deterministic, without timers of its own. */
export class FakeHost implements Host {
  readonly files: FakeFiles;
  readonly podFiles: FakeFiles;
  readonly volumes: FakeVolumeFiles;
  readonly cgroups: FakeCgroups;
  /** Answer of `diskUsage`; may be replaced at any time. */
  disk: DiskUsage = FAKE_DISK;
  /** Answer of `addresses`; may be replaced at any time. */
  ips: readonly string[] = ["192.0.2.10"];
  /** What DNS says by name; an error when it cannot say. */
  readonly names = new Map<string, readonly string[] | OutsideError>([
    ["localhost", ["127.0.0.1"]],
  ]);
  /** What delays a shutdown of the machine. */
  readonly logind: FakeLogind;
  /** Files of /proc and /sys by path. */
  readonly kernelFiles = new Map<string, string>();
  /** What processes have open. */
  readonly openFilesOf = new Map<number, OpenFiles>();
  readonly #facts: HostFacts;

  constructor(options: FakeHostOptions) {
    const version = options.cgroupVersion ?? 2;
    const fault = options.fault ?? (() => undefined);
    this.#facts = { ...FAKE_FACTS, ...options.facts };
    this.files = new FakeFiles({ wall: () => options.clock.wall(), fault });
    // As on every machine; pods are not made without it.
    void this.files.makeDirectory("/etc", 0o755);
    void this.files.writeAtomic("/etc/resolv.conf", "nameserver 192.0.2.53\n", 0o644);
    this.podFiles = this.files;
    this.logind = new FakeLogind(options.clock, this.files);
    this.volumes = new FakeVolumeFiles(this.files, fault);
    this.cgroups = new FakeCgroups({
      version,
      controllers: options.controllers ?? CONTROLLERS[version],
      fault,
      ...(options.onKill ? { onKill: options.onKill } : {}),
    });
  }

  async facts(): Promise<HostFacts> {
    return this.#facts;
  }

  addresses(): readonly string[] {
    return this.ips;
  }

  async lookup(name: string): Promise<readonly string[]> {
    const answer = this.names.get(name) ?? [];
    if (answer instanceof OutsideError) throw answer;
    return answer;
  }

  async diskUsage(path: string): Promise<DiskUsage | undefined> {
    return (await this.files.facts(path, { follow: true })) && this.disk;
  }

  writeKernel(path: string, value: string): void {
    if (!this.kernelFiles.has(path)) throw new OutsideError("notFound", `write ${path}: ENOENT`);
    this.kernelFiles.set(path, value);
  }

  readKernel(path: string): string | undefined {
    return this.kernelFiles.get(path);
  }

  openFiles(pid: number, known?: OpenFiles): OpenFiles | undefined {
    const open = this.openFilesOf.get(pid);
    return open && known?.descriptors === open.descriptors ? known : open;
  }

  async process(pid: number): Promise<ProcessFacts | undefined> {
    for (const path of this.cgroups.paths) {
      const pids = (await this.cgroups.read(path, "cgroup.procs")) ?? "";
      if (!pids.split("\n").includes(String(pid))) continue;
      const cgroups = this.cgroups.version === 2 ? { "": path } : { memory: path };
      return {
        pid,
        parentPid: 1,
        sessionId: pid,
        name: "fake",
        state: "S",
        isKernelThread: false,
        startTicks: pid,
        cgroups,
      };
    }
    return undefined;
  }

  async killProcess(): Promise<void> {
    throw new OutsideError(
      "unimplemented",
      "processes of the simulation are not killed one by one",
    );
  }
}
