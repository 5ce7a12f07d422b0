/**
 * Real probes against real sockets, to see what they cost: `node test/probes/load.ts [seconds] [pods]
 * [kinds]`, kinds among http, https, tcp, grpc, exec, each as often as it is named. Every pod has one probe of each kind a second. What
 * is probed runs in a process of its own; exec goes through gRPC to a runtime that takes 20 ms. Prints
 * figures and judges none: machines differ.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { createServer as createH2, type ServerHttp2Stream } from "node:http2";
import { createServer as createHttps } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { Container, Probe } from "../../src/api/generated/types.ts";
import { identifyPod } from "../../src/api/pod-identity.ts";
import { createSystemClock, type WallMs } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { RuntimeServiceDefinition, VersionResponse } from "../../src/outside/cri/generated/api.ts";
import { openChannel } from "../../src/outside/grpc/channel.ts";
import { connectNet } from "../../src/outside/net/connect-net.ts";
import {
  DEFAULT_PROBES_OPTIONS,
  type ProbeRecord,
  Probes,
} from "../../src/subsystems/probes/probes.ts";
import { TEST_CERTIFICATE } from "./certificate.ts";
import { listen, timeWaitCount } from "./sockets.ts";

const KINDS = ["http", "https", "tcp", "grpc", "exec"] as const;
type Kind = (typeof KINDS)[number];

type Ports = Readonly<Record<Exclude<Kind, "exec">, number>>;

const EXEC = RuntimeServiceDefinition.methods.execSync;
const EXEC_TAKES_MS = 20;

/** What is probed. */
async function serve(socketPath: string): Promise<void> {
  const health = createH2().on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.respond(
      { ":status": 200, "content-type": "application/grpc" },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
  });
  const runtime = new Server();
  runtime.addService(
    {
      ExecSync: {
        path: `/${RuntimeServiceDefinition.fullName}/${EXEC.name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: (value) => Buffer.from(EXEC.requestType.encode(value).finish()),
        requestDeserialize: (bytes) => EXEC.requestType.decode(bytes),
        responseSerialize: (value) => Buffer.from(EXEC.responseType.encode(value).finish()),
        responseDeserialize: (bytes) => EXEC.responseType.decode(bytes),
      },
    },
    {
      ExecSync: (_: unknown, reply: (error: null, value: unknown) => void) => {
        setTimeout(() => reply(null, EXEC.responseType.fromPartial({})), EXEC_TAKES_MS);
      },
    },
  );
  await new Promise<void>((resolve, reject) => {
    runtime.bindAsync(`unix://${socketPath}`, ServerCredentials.createInsecure(), (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
  const ports: Ports = {
    http: await listen(createHttp((_, reply) => reply.end("ok"))),
    https: await listen(createHttps(TEST_CERTIFICATE, (_, reply) => reply.end("ok"))),
    tcp: await listen(createServer((socket) => socket.on("error", () => {}))),
    grpc: await listen(health),
  };
  process.stdout.write(JSON.stringify(ports));
}

function probeOf(kind: Kind, ports: Ports): Probe {
  const periodSeconds = 1;
  switch (kind) {
    case "http":
      return { periodSeconds, httpGet: { port: ports.http, path: "/healthz" } };
    case "https":
      return { periodSeconds, httpGet: { port: ports.https, path: "/healthz", scheme: "HTTPS" } };
    case "tcp":
      return { periodSeconds, tcpSocket: { port: ports.tcp } };
    case "grpc":
      return { periodSeconds, grpc: { port: ports.grpc } };
    case "exec":
      return { periodSeconds, exec: { command: ["true"] } };
    default:
      return kind satisfies never;
  }
}

function quantile(sorted: readonly number[], share: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2);
}

interface Peer {
  readonly ports: Ports;
  readonly socketPath: string;
  close(): void;
}

async function startPeer(): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), "probe-load-"));
  const socketPath = join(folder, "runtime.sock");
  const self = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [self, "serve", socketPath], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = (await once(child.stdout, "data")) as [Buffer];
  return {
    ports: JSON.parse(output.toString()) as Ports,
    socketPath,
    close: () => {
      child.kill();
      rmSync(folder, { recursive: true });
    },
  };
}

function startProbes(peer: Peer, scope: TaskScope, seconds: number) {
  const runtime = openChannel({ target: `unix://${peer.socketPath}` });
  const state = { failures: 0 };
  const probes = new Probes(
    {
      clock: createSystemClock(),
      random: createSystemRandom(),
      log: silentLog,
      scope,
      metrics: new MetricsRegistry(),
      net: connectNet(),
      runtime: {
        execSync: (containerId, command, timeoutSeconds, signal) =>
          runtime.unary(
            EXEC,
            RuntimeServiceDefinition.fullName,
            { containerId, cmd: [...command], timeout: BigInt(timeoutSeconds) },
            { signal, timeoutMs: 10_000 },
          ),
        version: async () => VersionResponse.fromPartial({}),
      },
      news: { publish: () => {} },
      events: {
        ofPod: () => {
          state.failures += 1;
        },
      },
    },
    { ...DEFAULT_PROBES_OPTIONS, historyLength: seconds * 2 },
  );
  return { probes, state, close: () => runtime.close() };
}

function watchAll(probes: Probes, ports: Ports, pods: number, kinds: readonly Kind[]): void {
  for (let i = 0; i < pods; i += 1) {
    const name = `pod-${i}`;
    const pod = identifyPod({ metadata: { uid: name, namespace: "load", name } });
    const targets = kinds.map((kind, at) => ({
      spec: { name: `${kind}-${at}`, livenessProbe: probeOf(kind, ports) } as Container,
      kind: "regular" as const,
      containerId: `${name}-${kind}-${at}`,
      running: true,
      startedAtMs: Date.now() as WallMs,
      started: true,
      confirmed: { startup: false, readiness: false },
      comesBack: true,
    }));
    probes.watch({ pod, ip: "127.0.0.1", ended: false, ending: false }, targets);
  }
}

type ContainerAttempt = ProbeRecord & { readonly container: string };

function report(attempts: readonly ContainerAttempt[], wallSeconds: number, cpuMs: number): void {
  console.log(`attempts: ${(attempts.length / wallSeconds).toFixed(1)}/s`);
  console.log(
    `CPU: ${(cpuMs / wallSeconds / 10).toFixed(1)} % of a core, ${(cpuMs / attempts.length).toFixed(3)} ms per attempt`,
  );
  const late = attempts.map(({ lateMs }) => lateMs).sort((a, b) => a - b);
  console.log(
    `late: p50 ${quantile(late, 0.5)} ms, p99 ${quantile(late, 0.99)} ms, max ${quantile(late, 1)} ms`,
  );
  for (const kind of new Set(attempts.map(({ container }) => container))) {
    const own = attempts.filter(({ container }) => container === kind);
    const took = own.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
    console.log(`  ${kind}: p50 ${quantile(took, 0.5)} ms, p99 ${quantile(took, 0.99)} ms`);
  }
}

/** The first turns are jittered and compile the code; they are not what is asked about. */
const WARM_UP_MS = 5000;

async function measure(seconds: number, pods: number, kinds: readonly Kind[]): Promise<void> {
  const clock = createSystemClock();
  const scope = new TaskScope("load", { clock, log: silentLog });
  const peer = await startPeer();
  const { probes, state, close } = startProbes(peer, scope, seconds);
  const timeWaitBefore = timeWaitCount();
  watchAll(probes, peer.ports, pods, kinds);
  await clock.sleep(WARM_UP_MS, scope.signal);
  const since = clock.wall();
  const cpu = process.cpuUsage();
  const loop = monitorEventLoopDelay({ resolution: 10 });
  loop.enable();
  await clock.sleep(seconds * 1000, scope.signal);
  loop.disable();
  const { user, system } = process.cpuUsage(cpu);
  const attempts = probes
    .history()
    .flatMap(({ container, history }) => history.map((record) => ({ ...record, container })))
    .filter(({ atMs }) => atMs >= since);
  console.log(`${pods} pods with ${kinds.join(", ")}; failed or errored: ${state.failures}`);
  report(attempts, (clock.wall() - since) / 1000, (user + system) / 1000);
  // The histogram counts from one resolution.
  const delay = (percentile: number) => (loop.percentile(percentile) / 1e6 - 10).toFixed(2);
  console.log(`event loop late: p50 ${delay(50)} ms, p99 ${delay(99)} ms`);
  console.log(`RSS: ${(process.memoryUsage.rss() / 2 ** 20).toFixed(0)} MiB`);
  console.log(`TIME_WAIT: ${timeWaitBefore} before, ${timeWaitCount()} after`);
  await scope[Symbol.asyncDispose]();
  close();
  peer.close();
}

const [first = "30", second = "110", third = "http,tcp,exec"] = process.argv.slice(2);
if (first === "serve") await serve(second);
else {
  const kinds = third.split(",").flatMap((word) => KINDS.filter((kind) => kind === word));
  await measure(Number(first), Number(second), kinds);
}
