// Statistics on virtual time: a machine in memory with one pod, whose kernel files say what the test sets.
import { OomCounts } from "../../src/api/figures/oom-counts.ts";
import type { PodUid } from "../../src/api/pod-identity.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { type Log, silentLog } from "../../src/kit/log.ts";
import type { ContainerLayer, ImageFilesystems } from "../../src/outside/cri/cri.ts";
import { type MeasuredPod, Stats, type StatsDeps } from "../../src/subsystems/stats/stats.ts";
import { FAKE_FACTS, FakeHost } from "../sim/fake-host.ts";
import { SimClock } from "../sim/sim-clock.ts";

/** One GiB in bytes. */
export const GI = 2 ** 30;
/** Cgroup of the pod. */
export const POD = "/kubepods/burstable/podu1";
/** Id of its container. */
export const ID = "c0ffee";
const SANDBOX = "5a5a5a";
const NET_DEV = (bytes: number) =>
  `Inter-|\n face |\n    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n  eth0: ${bytes} 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0`;

const PODS: readonly MeasuredPod[] = [
  {
    uid: "u1",
    pod: {
      metadata: { uid: "u1" as PodUid, name: "web", namespace: "shop", labels: { app: "web" } },
      spec: {
        containers: [{ name: "c" }],
        volumes: [
          { name: "data", emptyDir: {} },
          { name: "ram", emptyDir: { medium: "Memory" } },
        ],
      },
    },
    group: POD,
    logsFolder: "/logs/web",
    volumesFolder: "/root/pods/u1/volumes",
    managedFiles: [],
    claims: [
      {
        namespace: "shop",
        name: "orders",
        volume: "db",
        atMs: 3_000_000 as WallMs,
        usage: { capacityBytes: 1000, availableBytes: 400, inodes: 50, inodesFree: 20 },
      },
      {
        namespace: "shop",
        name: "raw",
        volume: "disk",
        atMs: 3_000_000 as WallMs,
        usage: { capacityBytes: 2000 },
      },
    ],
    sandbox: { id: SANDBOX, createdAtMs: 1_000_000 as WallMs, hostNetwork: false },
    containers: [{ id: ID, name: "c", image: "img", startedAtMs: 2_000_000 as WallMs }],
  },
];

const LAYER = {
  attributes: { id: ID },
  writableLayer: { timestamp: 0n, usedBytes: { value: 700n }, inodesUsed: { value: 7n } },
} as unknown as ContainerLayer;

const NONE_WAITED = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
/** Pressure where the kernel counts none. */
export const NO_PRESSURE = { full: NONE_WAITED, some: NONE_WAITED };

/** Statistics of one pod on a fake machine. */
export interface StatsWorld {
  readonly clock: SimClock;
  readonly host: FakeHost;
  readonly stats: Stats;
  readonly oomCounts: OomCounts;
  readonly asked: string[];
  /** Lets `seconds` pass in which the group of that path uses so many of CPU. */
  readonly burn: (path: string, cpuSeconds: number, seconds: number) => Promise<void>;
  readonly counts: Map<string, number>;
  /** Those that there are. */
  readonly pods: MeasuredPod[];
  /** What the runtime says; may be changed. */
  readonly filesystems: RuntimeFilesystems;
  /** Requests to it; may be replaced. */
  readonly runtime: StatsDeps["runtime"];
  /** What was logged as a warning. */
  readonly warnings: readonly string[];
}

type RuntimeFilesystems = { -readonly [Of in keyof ImageFilesystems]: ImageFilesystems[Of] };

/**
 * Puts it together; `fail` names the request that the runtime does not answer, `facts` is what is different about the
 * machine.
 */
export async function statsWorld(
  version: 1 | 2,
  fail?: string,
  facts: Partial<StatsDeps["facts"]> = {},
): Promise<StatsWorld> {
  const clock = new SimClock({ wallMs: 1_790_000_000_000 });
  const host = new FakeHost({ clock, cgroupVersion: version });
  const asked: string[] = [];
  const counts = new Map<string, number>();
  const pods = [...PODS];
  const filesystems: RuntimeFilesystems = { images: [], containers: [] };
  const reply = async <T>(what: string, value: T) => {
    asked.push(what);
    if (fail === what) throw new OutsideError("unavailable", "no runtime");
    return value;
  };
  const runtime: StatsDeps["runtime"] = {
    listContainerStats: () => reply("layers", [LAYER]),
    filesystems: () => reply("filesystems", filesystems),
  };
  for (const path of [`${POD}/${ID}`, `${POD}/${SANDBOX}`]) await host.cgroups.create(path);
  const cgroups = host.cgroups;
  const setCpu = (path: string, seconds: number) => {
    counts.set(path, seconds);
    if (version === 1) cgroups.set(path, "cpuacct.usage", `${seconds * 1e9}`);
    else cgroups.set(path, "cpu.stat", `usage_usec ${seconds * 1e6}\nuser_usec 1\nsystem_usec 2`);
  };
  for (const path of ["/", POD, `${POD}/${ID}`]) {
    setCpu(path, 1);
    if (version === 1) {
      cgroups.set(path, "memory.usage_in_bytes", `${100 * 2 ** 20}`);
      cgroups.set(
        path,
        "memory.stat",
        "rss 1\npgfault 4\ntotal_rss 5000\ntotal_inactive_file 1048576\ntotal_pgfault 900",
      );
    } else {
      cgroups.set(path, "memory.stat", "anon 5000\ninactive_file 1048576\npgfault 4");
      if (path !== "/") cgroups.set(path, "memory.current", `${100 * 2 ** 20}`);
    }
  }
  await cgroups.write(POD, version === 1 ? "memory.limit_in_bytes" : "memory.max", `${GI}`);
  cgroups.set(POD, "pids.current", "3");
  cgroups.addProcess(`${POD}/${SANDBOX}`, 77);
  host.kernelFiles.set("/proc/77/net/dev", NET_DEV(1234));
  host.kernelFiles.set("/proc/net/dev", NET_DEV(99));
  host.kernelFiles.set("/proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 7340032 kB");
  host.kernelFiles.set("/proc/loadavg", "0 0 0 1/222 9");
  await host.files.makeDirectory("/root/pods/u1/volumes/kubernetes.io~empty-dir/data", 0o755);
  await host.files.makeDirectory("/logs/web/c", 0o755);
  await host.files.writeAtomic("/logs/web/c/0.log", "x".repeat(50), 0o600);
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const log: Log = { ...silentLog, warn, child: () => log };
  const oomCounts = new OomCounts();
  const stats = new Stats(
    {
      nodeName: "n",
      rootFolder: "/root",
      volumesMaxAgeMs: 60_000,
      groups: [
        { name: "pods", path: "/kubepods" },
        { name: "burstable", path: "/kubepods/burstable" },
        { name: "runtime", path: "kubepods/burstable/" },
        { name: "misc", path: "/absent" },
      ],
    },
    {
      host,
      clock,
      log,
      oomCounts,
      facts: { ...FAKE_FACTS, hugepageAware: true, ...facts },
      signal: new AbortController().signal,
      runtime,
      pods: () => pods,
    },
  );
  const burn = async (path: string, cpuSeconds: number, seconds: number) => {
    await clock.advance(seconds * 1000);
    setCpu(path, (counts.get(path) ?? 0) + cpuSeconds);
  };
  return {
    clock,
    host,
    stats,
    oomCounts,
    asked,
    burn,
    counts,
    pods,
    filesystems,
    runtime,
    warnings,
  };
}
