/**
 * What devices cost: `node tools/bench/devices.ts`. 200 pods ask for 2 devices of each of 4 resources, one after
 * the other, as admission does; plugins are another process, the checkpoint is on a real disk. CPU of this
 * process per pod, and how often the checkpoint was written.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { PodUid } from "../../src/api/observation.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { connectGrpc, type GrpcChannel } from "../../src/outside/grpc/grpc.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import type { Files } from "../../src/outside/host/host.ts";
import { DEVICE_PLUGIN } from "../../src/outside/plugins/plugins.ts";
import { Topology } from "../../src/pipeline/admission/topology/topology.ts";
import { Devices } from "../../src/subsystems/devices/devices.ts";
import { TestPlugin } from "../../test/support/device-plugin.ts";
import { renderTable, short } from "./table.ts";

const PODS = 200;
const RESOURCES = ["v.com/a", "v.com/b", "v.com/c", "v.com/d"];
const EACH = 2;
const SERVE = "serve";

/** The plugins' process: all four, with devices for every pod. */
async function serve(folder: string): Promise<void> {
  const devices = Array.from({ length: PODS * EACH }, (_, i) => ({
    id: `dev-${i}`,
    nodes: [i % 2],
  }));
  for (const resource of RESOURCES) {
    const plugin = new TestPlugin(
      connectGrpc(),
      {
        resource,
        folder,
        socketName: `${resource.replace("/", "-")}.sock`,
        answer: (ids) => ({
          envs: { [resource]: ids.join(",") },
          devices: ids.map((id) => ({
            containerPath: `/dev/${id}`,
            hostPath: "/dev/null",
            permissions: "rw",
          })),
        }),
      },
      devices,
    );
    await plugin.start();
  }
  process.send?.("ready");
}

const TOPOLOGY = { policy: "best-effort", scope: "container", nodes: [0, 1] } as const;

async function openDevices(
  folder: string,
  scope: TaskScope,
): Promise<{ devices: Devices; topology: Topology; metrics: MetricsRegistry }> {
  const clock = createSystemClock();
  const metrics = new MetricsRegistry();
  const { files } = connectHost({ clock, log: silentLog });
  const devices = new Devices(
    {
      folder,
      numaNodes: TOPOLOGY.nodes,
      deferMs: 120_000,
      allocateMs: 30_000,
      keepInitDevices: false,
    },
    {
      clock,
      scope,
      metrics,
      grpc: connectGrpc(),
      log: silentLog,
      files,
      state: new StateFiles({ files, clock, log: silentLog }),
      events: { ofNode: () => {}, ofPod: () => {} },
      decisions: { record: () => 0 },
      news: { publish: () => {} },
      pods: { get: () => undefined },
    },
  );
  await devices.start();
  const topology = new Topology(TOPOLOGY, { providers: [devices], metrics, clock });
  return { devices, topology, metrics };
}

function podOf(i: number): IdentifiedPod {
  const limits = Object.fromEntries(RESOURCES.map((resource) => [resource, String(EACH)]));
  const uid = `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`;
  return {
    metadata: { name: `p${i}`, namespace: "default", uid: uid as PodUid },
    spec: { containers: [{ name: "main", resources: { limits } }] },
  };
}

const CHECKPOINT_BYTES = 140 * 1024;

/** What cannot be spared: the four calls, and a file of half the checkpoint's last size written to disk. */
async function bareRound(
  channels: readonly GrpcChannel[],
  path: string,
  files: Pick<Files, "writeAtomic">,
): Promise<void> {
  const { methods, fullName } = DEVICE_PLUGIN;
  const signal = new AbortController().signal;
  const request = { containerRequests: [{ devicesIds: ["dev-0", "dev-1"] }] };
  for (const channel of channels)
    await channel.unary(methods.allocate, fullName, request, { signal, timeoutMs: 10_000 });
  await files.writeAtomic(path, "x".repeat(CHECKPOINT_BYTES), 0o600);
}

function millisecondsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-devices-"));
  const scope = new TaskScope("bench", { clock: createSystemClock(), log: silentLog });
  const { devices, topology, metrics } = await openDevices(folder, scope);
  const plugins = fork(import.meta.filename, [SERVE, folder]);
  await once(plugins, "message");
  const channels = RESOURCES.map((resource) =>
    connectGrpc().connect({ target: `unix://${folder}/${resource.replace("/", "-")}.sock` }),
  );
  const offered = () =>
    [...devices.capacity.get().counts.values()].filter(({ allocatable }) => allocatable > 0);
  while (offered().length < RESOURCES.length) await sleep(10);
  const files = connectHost({ clock: createSystemClock(), log: silentLog }).files;
  const floors: number[] = [];
  const costs: number[] = [];
  for (let i = 0; i < PODS; i += 1) {
    const pod = podOf(i);
    const idle = process.cpuUsage();
    await bareRound(channels, `${folder}/floor`, files);
    floors.push(millisecondsSince(idle));
    const before = process.cpuUsage();
    for (;;) {
      const outcome = await topology.grant(pod);
      if (outcome.kind === "granted") break;
      if (outcome.kind === "refused") throw new Error(outcome.message);
    }
    costs.push(millisecondsSince(before));
  }
  const writes = /nodelet_device_checkpoint_writes_total (\d+)/.exec(metrics.expose())?.[1] ?? "?";
  const { size } = statSync(join(folder, "kubelet_internal_checkpoint"));
  report({ costs, floors }, writes, size);
  for (const channel of channels) channel.close();
  await scope[Symbol.asyncDispose]();
  plugins.kill();
  rmSync(folder, { recursive: true, force: true });
}

function report(
  { costs, floors }: { readonly costs: readonly number[]; readonly floors: readonly number[] },
  writes: string,
  bytes: number,
): void {
  const at = (values: readonly number[], share: number) =>
    `${short(values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? 0)} ms`;
  const rows = [
    ["pods, each with 2 devices of 4 resources", String(costs.length)],
    ["CPU per pod, median", at(costs, 0.5)],
    ["CPU per pod, 9 of 10 below", at(costs, 0.9)],
    ["of it four bare calls and one bare write, median", at(floors, 0.5)],
    ["writes of the checkpoint", writes],
    ["checkpoint at the end", `${Math.round(bytes / 1024)} KiB`],
  ];
  console.log(renderTable(rows));
}

if (process.argv[2] === SERVE) await serve(process.argv[3] ?? "");
else await main();
