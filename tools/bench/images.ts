/**
 * What observing images costs: `node tools/bench/images.ts`. A runtime of its own process lists 2,000 images and
 * 300 containers over its socket; measured are one pass with everything that uses images, a whole plan, and
 * the memory that the records take.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { PodUid } from "../../src/api/pod-identity.ts";
import { DEFAULT_CONFIG } from "../../src/config/fields/defaults.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { connectCri } from "../../src/outside/cri/connect-cri.ts";
import {
  Container,
  Image,
  ImageServiceDefinition,
  RuntimeServiceDefinition,
} from "../../src/outside/cri/generated/api.ts";
import { connectGrpc, unaryCall } from "../../src/outside/grpc/grpc.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import { Images, imageSettings, podAccountsFrom } from "../../src/subsystems/images/images.ts";
import { aFact } from "../../test/support/pod-facts.ts";
import { renderTable, short } from "./table.ts";

const IMAGES = 2_000;
const CONTAINERS = 300;
const ROUNDS = 9;
const WARM_UP = 3;

/** The runtime: answers what a pass asks for, from lists made once. */
async function serve(path: string): Promise<void> {
  const hex = (at: number) => at.toString(16).padStart(64, "0");
  const images = Array.from({ length: IMAGES }, (_, at) =>
    Image.fromPartial({
      id: `sha256:${hex(at)}`,
      repoTags: [`registry.example/team-${at % 40}/service-${at}:v1.${at}`],
      repoDigests: [`registry.example/team-${at % 40}/service-${at}@sha256:${hex(at + IMAGES)}`],
      size: BigInt(50_000_000 + at),
    }),
  );
  const containers = Array.from({ length: CONTAINERS }, (_, at) =>
    Container.fromPartial({
      id: hex(at),
      metadata: { name: "c", attempt: 0 },
      image: { image: `sha256:${hex(at)}` },
      imageRef: `sha256:${hex(at)}`,
      labels: {
        "io.kubernetes.pod.name": `pod-${at}`,
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": `uid-${at}`,
      },
    }),
  );
  const { listImages, imageFsInfo } = ImageServiceDefinition.methods;
  const { listContainers } = RuntimeServiceDefinition.methods;
  const usage = {
    timestamp: 0n,
    fsId: { mountpoint: "/" },
    usedBytes: { value: 1n },
    inodesUsed: { value: 1n },
  };
  const image = ImageServiceDefinition.fullName;
  await connectGrpc().listen({
    path,
    calls: [
      unaryCall(image, listImages, async () => ({ images })),
      unaryCall(image, imageFsInfo, async () => ({
        imageFilesystems: [usage],
        containerFilesystems: [],
      })),
      unaryCall(RuntimeServiceDefinition.fullName, listContainers, async () => ({ containers })),
    ],
    onBroken: (problem) => process.stderr.write(`${String(problem)}\n`),
  });
  process.stdout.write("ready\n");
}

async function startServer(path: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [import.meta.filename, "serve", path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface(child.stdout)) if (line === "ready") return child;
  throw new Error("the runtime of the benchmark did not start");
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Milliseconds of processor that `work` takes, the median of some rounds. */
async function cpuMs(work: () => Promise<unknown>): Promise<{ cpu: number; wall: number }> {
  const rounds: { cpu: number; wall: number }[] = [];
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    const began = performance.now();
    await work();
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) rounds.push({ cpu: (user + system) / 1000, wall: performance.now() - began });
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
  return { cpu: median(rounds.map((r) => r.cpu)), wall: median(rounds.map((r) => r.wall)) };
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-bench-images-"));
  const server = await startServer(join(folder, "cri.sock"));
  const cri = connectCri({
    runtimeEndpoint: `unix://${join(folder, "cri.sock")}`,
    timeoutMs: 60_000,
  });
  const leave = new AbortController();
  try {
    const clock = createSystemClock();
    const pods = Array.from({ length: CONTAINERS }, (_, at) => ({
      metadata: { name: `pod-${at}`, namespace: "default", uid: `uid-${at}` as PodUid },
      spec: {
        containers: [
          { name: "c", image: `registry.example/team-${at % 40}/service-${at}:v1.${at}` },
        ],
      },
    }));
    const facts = pods.map((pod) => aFact(pod));
    const host = connectHost({ clock, log: silentLog });
    const images = await Images.open(
      { ...imageSettings(DEFAULT_CONFIG), rootFolder: folder, home: "/nowhere" },
      {
        cri,
        clock,
        log: silentLog,
        metrics: new MetricsRegistry(),
        signal: leave.signal,
        host,
        state: new StateFiles({ files: host.files, clock, log: silentLog }),
        net: { tcpConnect: async () => ({ kind: "connected" }) },
        pods: { values: () => facts },
        accounts: podAccountsFrom(undefined, undefined),
        pullSecrets: async () => ({ secrets: [], missing: [] }),
        events: { ofNode: () => {}, ofPod: () => {} },
        decisions: { record: () => 0 },
        news: { publish: () => {} },
      },
    );
    await cri.images.listImages(leave.signal);
    const before = heapBytes();
    const first = process.cpuUsage();
    await images.upkeep(false, leave.signal);
    const { user, system } = process.cpuUsage(first);
    const after = heapBytes();
    const pass = await cpuMs(() => images.upkeep(false, leave.signal));
    const plan = await cpuMs(() => images.report({ kind: "periodic" }, leave.signal));
    const grown = heapBytes();
    const rows: string[][] = [["", "figure", "wanted"]];
    rows.push([
      `first pass over ${IMAGES} images, ms of processor`,
      short((user + system) / 1000),
      "≤ 300",
    ]);
    rows.push(["a pass, ms of processor", short(pass.cpu), "≤ 300"]);
    rows.push(["a pass, ms", short(pass.wall), ""]);
    rows.push(["a pass with its plan, ms of processor", short(plan.cpu), "≤ 300"]);
    rows.push(["heap that the records take, MiB", short((after - before) / 2 ** 20), "≤ 5"]);
    rows.push(["the same after many passes, MiB", short((grown - before) / 2 ** 20), "≤ 5"]);
    process.stdout.write(`${renderTable(rows)}\n`);
  } finally {
    leave.abort(new Error("done"));
    cri.close();
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[2] === "serve") await serve(process.argv[3] ?? "");
else await main();
