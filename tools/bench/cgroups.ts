/**
 * What cgroups and usage cost with 110 pods on this machine's kernel: `node tools/bench/cgroups.ts`.
 * CPU of this process for a pass over the classes when nothing changed (and how much it writes), and for
 * answering `/stats/summary` and the pages of metrics. Every pod has its group, a container with a process,
 * and a log; what the runtime would say of layers is decoded from bytes. Works below a group of its own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OomCounts } from "../../src/api/figures/oom-counts.ts";
import type { IdentifiedPod, PodUid } from "../../src/api/pod-identity.ts";
import {
  type Clock,
  createSystemClock,
  type MonotonicMs,
  type WallMs,
} from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { ListContainerStatsResponse } from "../../src/outside/cri/generated/api.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import type { CgroupTree, Host } from "../../src/outside/host/host.ts";
import { Cgroups } from "../../src/subsystems/cgroups/cgroups.ts";
import { defaultCgroupOptions } from "../../src/subsystems/cgroups/options.ts";
import { type MeasuredPod, Stats } from "../../src/subsystems/stats/stats.ts";
import { median } from "./statistics.ts";
import { renderTable, short } from "./table.ts";

const PODS = 110;
const ROUNDS = 40;
const ROOT = `/nodelet-bench-${process.pid}`;

/** Real time, with leaps. */
class LeapingClock implements Clock {
  readonly #clock = createSystemClock();
  #ahead = 0;
  readonly alarm = this.#clock.alarm.bind(this.#clock);
  readonly sleep = this.#clock.sleep.bind(this.#clock);
  readonly coalesced = this.#clock.coalesced;
  leap(ms: number): void {
    this.#ahead += ms;
  }
  monotonic(): MonotonicMs {
    return (this.#clock.monotonic() + this.#ahead) as MonotonicMs;
  }
  wall(): WallMs {
    return (this.#clock.wall() + this.#ahead) as WallMs;
  }
}

async function main(): Promise<void> {
  const clock = new LeapingClock();
  const host = connectHost({ clock, log: silentLog });
  const folder = mkdtempSync(join(tmpdir(), "nodelet-bench-"));
  const processes: ChildProcess[] = [];
  await host.cgroups.create(ROOT);
  try {
    const rows = [["", "figure", "wanted"]];
    rows.push(...(await benchPass(host, clock)));
    rows.push(...(await benchUsage(host, clock, folder, processes)));
    process.stdout.write(`${renderTable(rows)}\n`);
  } finally {
    for (const child of processes) child.kill("SIGKILL");
    await host.cgroups.destroy(ROOT);
    rmSync(folder, { recursive: true });
  }
}

const QOS = ["Guaranteed", "Burstable", "BestEffort"] as const;

/** Pods of all classes in turn. */
function podOf(index: number): IdentifiedPod {
  const one = { cpu: "10m", memory: "16Mi" };
  const kind = QOS[index % QOS.length];
  const resources =
    kind === "Guaranteed"
      ? { requests: one, limits: one }
      : kind === "Burstable"
        ? { requests: one }
        : {};
  const uid = `00000000-0000-4000-8000-${`${index}`.padStart(12, "0")}`;
  return {
    metadata: { name: `web-${index}`, namespace: "default", uid: uid as PodUid },
    spec: { containers: [{ name: "main", image: "web:1", resources }] },
  };
}

const pods = Array.from({ length: PODS }, (_, i) => podOf(i));
const uidOf = (pod: IdentifiedPod) => pod.metadata.uid;

let writes = 0;

/** The tree of the machine, counting what is written. */
function counting(tree: CgroupTree): CgroupTree {
  return new Proxy(tree, {
    get(target, name) {
      if (name === "write") writes += 1;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function benchPass(host: Host, clock: Clock): Promise<string[][]> {
  const facts = await host.facts();
  const { version } = host.cgroups;
  const cgroups = new Cgroups(
    { tree: counting(host.cgroups), facts, clock, log: silentLog },
    { ...defaultCgroupOptions(version), cgroupRoot: ROOT, qosReservedMemoryPercent: 100 },
  );
  await cgroups.start();
  await cgroups.updateQos(pods);
  for (const pod of pods) await cgroups.ensurePod(pod);
  await cgroups.updateQos(pods);
  writes = 0;
  const pass = await cpuMs(() => cgroups.updateQos(pods));
  const drift = await cpuMs(() => cgroups.drift(pods));
  return [
    [`a pass over the classes, ${PODS} pods, nothing changed: CPU ms`, short(pass), "≤ 5"],
    [`  values written in ${ROUNDS + 5} passes`, `${writes}`, "0"],
    ["  comparing the whole tree (nodelet cgroups): CPU ms", short(drift), ""],
  ];
}

async function benchUsage(
  host: Host,
  clock: LeapingClock,
  folder: string,
  processes: ChildProcess[],
): Promise<string[][]> {
  const measured: MeasuredPod[] = [];
  for (const index of pods.keys()) measured.push(await runPod({ host, folder, processes }, index));
  const stats = new Stats(
    {
      nodeName: "bench",
      rootFolder: folder,
      volumesMaxAgeMs: 60_000,
      groups: [{ name: "pods", path: `${ROOT}/kubepods` }],
    },
    {
      host,
      clock,
      log: silentLog,
      oomCounts: new OomCounts(),
      facts: { ...(await host.facts()), hugepageAware: true },
      signal: new AbortController().signal,
      runtime: {
        listContainerStats: async () => ListContainerStatsResponse.decode(LAYERS).stats,
        filesystems: async () => ({ images: [], containers: [] }),
      },
      pods: () => measured,
    },
  );
  let bytes = 0;
  const ask = (afterMs: number, page: () => Promise<string>) =>
    cpuMs(async () => {
      clock.leap(afterMs);
      bytes = (await page()).length;
    });
  const summary = async () => JSON.stringify(await stats.summary());
  const rows: string[][] = [];
  const add = (what: string, ms: number, wanted = "") =>
    rows.push([`${what} (${Math.round(bytes / 1024)} KiB): CPU ms`, short(ms), wanted]);
  add("/stats/summary, every 15 s", await ask(15_000, summary), "≤ 30");
  add("/stats/summary, every 2 s", await ask(2_000, summary), "≤ 30");
  add("/stats/summary again within a second", await ask(0, summary));
  add("/metrics/resource, every 15 s", await ask(15_000, () => stats.resourcePage()));
  add("/metrics/cadvisor, every 15 s", await ask(15_000, () => stats.cadvisorPage()), "≤ 30");
  return rows;
}

const LAYERS = ListContainerStatsResponse.encode(
  ListContainerStatsResponse.fromPartial({
    stats: pods.map((_, i) => ({
      attributes: { id: containerId(i), labels: { "io.kubernetes.pod.name": `web-${i}` } },
      writableLayer: { timestamp: 1n, usedBytes: { value: 4096n }, inodesUsed: { value: 3n } },
    })),
  }),
).finish();

function containerId(index: number): string {
  return `${index}`.padStart(64, "c");
}

/** A container's group with a process in it, and its log. */
async function runPod(
  { host, folder, processes }: { host: Host; folder: string; processes: ChildProcess[] },
  index: number,
): Promise<MeasuredPod> {
  const pod = podOf(index);
  const tier = ["", "/burstable", "/besteffort"][index % QOS.length] ?? "";
  const group = `${ROOT}/kubepods${tier}/pod${uidOf(pod)}`;
  const path = `${group}/${containerId(index)}`;
  await host.cgroups.create(path);
  const child = spawn("sleep", ["3600"], { stdio: "ignore" });
  processes.push(child);
  await host.cgroups.write(path, "cgroup.procs", `${child.pid}`);
  const logsFolder = join(folder, "logs", `${index}`);
  mkdirSync(join(logsFolder, "main"), { recursive: true });
  writeFileSync(join(logsFolder, "main/0.log"), "line\n".repeat(1000));
  const startedAtMs = Date.now() as WallMs;
  return {
    uid: uidOf(pod),
    pod,
    group,
    logsFolder,
    managedFiles: [],
    volumesFolder: join(folder, "volumes", `${index}`),
    claims: [],
    sandbox: { id: containerId(index), createdAtMs: startedAtMs, hostNetwork: false },
    containers: [{ id: containerId(index), name: "main", image: "web:1", startedAtMs }],
  };
}

/** Median CPU time of this process in milliseconds, after a few rounds to get warm. */
async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round < ROUNDS + 5; round += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    if (round >= 5) taken.push((user + system) / 1000);
  }
  return median(taken);
}

await main();
