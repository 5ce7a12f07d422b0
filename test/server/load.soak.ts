// Many clients at once on one agent: NODELET_LOAD_CLIENTS (500) that ask for metrics, pods and statistics, NODELET_LOAD_EXECS (200)
// open exec streams, NODELET_LOAD_FOLLOWERS (1000) of a log that grows, and one client of each kind that reads nothing, for
// NODELET_LOAD_SECONDS (120). The figures are the lateness of probes, the start of a pod, and the memory of the agent.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Container } from "../../src/api/generated/types.ts";
import { AGENT_MALLOC, agentNodeFlags } from "../../src/outside/memory/memory.ts";
import type { ProbesReply } from "../../src/present/shapes.ts";
import { type Box, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, manifest } from "../support/agent.ts";
import { answerOf } from "./http.ts";

const number = (name: string, usual: number) =>
  Number(process.env[`NODELET_LOAD_${name}`] ?? usual);
const CLIENTS = number("CLIENTS", 500);
const EXECS = number("EXECS", 200);
const FOLLOWERS = number("FOLLOWERS", 1000);
const SECONDS = number("SECONDS", 120);
const PROBED = 10;
/** What the load may cost the agent at most: each served stream has its buffers, and no client more than its share. */
const MEMORY_BYTES = 160 * 2 ** 20;
/** A probe that begins later than its period has missed one. */
const LATE_MS = 1_000;
const LONG_MS = 300_000;
const PATHS = ["/metrics", "/pods", "/stats/summary"];

const probe = { httpGet: { path: "/", port: 8080 }, periodSeconds: 1, timeoutSeconds: 30 };
const SERVE = ["sh", "-c", "trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait $!"];

/** A pod that is probed each second. */
function served(name: string) {
  const main = { name: "main", image: TEST_IMAGE, command: SERVE };
  return manifest(name, { containers: [{ ...main, livenessProbe: probe, readinessProbe: probe }] });
}

/** What clients of one kind got. */
interface Tally {
  readonly statuses: Record<string, number>;
  bytes: number;
}

const tally = (): Tally => ({ statuses: {}, bytes: 0 });
const count = ({ statuses }: Tally, key: string | number) => {
  statuses[key] = (statuses[key] ?? 0) + 1;
};

/** Clients on the agent's socket. */
class Clients {
  readonly asked = tally();
  readonly followed = tally();
  readonly executed = tally();
  readonly #socketPath: string;
  readonly #host: string;
  readonly #open = new Set<() => void>();
  #on = true;

  constructor(box: Box) {
    this.#socketPath = box.path("/run/nodelet/agent.sock");
    this.#host = box.options.hostname ?? `nodelet-${box.id}`;
  }

  /** Asks one path after the other, each on a connection that is kept. */
  async ask(at: number): Promise<void> {
    while (this.#on) {
      const path = PATHS[at % PATHS.length] ?? "";
      count(this.asked, await this.#get(path, this.asked).catch(() => "failed"));
      await sleep(1_000);
    }
  }

  /** Follows the log for as long as it may. */
  follow(): void {
    const path = `/containerLogs/default/chatty-${this.#host}/main?follow=true&tailLines=10`;
    void this.#get(path, this.followed).then(
      (status) => count(this.followed, status),
      () => count(this.followed, "failed"),
    );
  }

  /** Opens an exec stream whose command writes once a second. */
  execute(): void {
    const words = ["sh", "-c", "while :; do echo tick; sleep 1; done"];
    const query = words.map((word) => `command=${encodeURIComponent(word)}`).join("&");
    const path = `/exec/default/chatty-${this.#host}/main?${query}&output=1`;
    const socket = new WebSocket(`ws+unix:${this.#socketPath}:${path}`, ["v4.channel.k8s.io"]);
    this.#open.add(() => socket.terminate());
    socket.once("open", () => count(this.executed, "open"));
    socket.once("unexpected-response", (_, { statusCode = 0 }) => count(this.executed, statusCode));
    socket.on("error", () => count(this.executed, "failed"));
    socket.on("message", (data: Buffer) => {
      this.executed.bytes += data.length;
    });
  }

  /** A client that asks and never reads. */
  stall(path: string): void {
    const socket: Socket = connect(this.#socketPath);
    socket.pause();
    socket.on("error", () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: node\r\n\r\n`.repeat(path.includes("?") ? 1 : 50));
    this.#open.add(() => socket.destroy());
  }

  get logPath(): string {
    return `/containerLogs/default/chatty-${this.#host}/main?follow=true`;
  }

  end(): void {
    this.#on = false;
    for (const close of this.#open) close();
  }

  #get(path: string, seen: Tally): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const asking = request({ socketPath: this.#socketPath, path, agent: false }, (response) => {
      const { statusCode = 0 } = response;
      response.on("data", (bytes: Buffer) => {
        seen.bytes += bytes.length;
      });
      response.once("close", () => resolve(statusCode));
      response.on("error", () => {});
    });
    asking.on("error", reject);
    const close = () => asking.destroy();
    this.#open.add(close);
    void promise.finally(() => this.#open.delete(close)).catch(() => {});
    asking.end();
    return promise;
  }
}

const residentBytes = (pid: number) =>
  1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN);
}

/** All attempts of probes that were seen, of histories that keep the last ones only. */
class Attempts {
  readonly #seen = new Map<string, { readonly lateMs: number; readonly result: string }>();
  readonly #since = Date.now();

  async take(box: Box): Promise<void> {
    const socketPath = box.path("/run/nodelet/agent.sock");
    const asking = request({ socketPath, path: "/nodelet/v1/probes", agent: false });
    const { items } = JSON.parse((await answerOf(asking)).body) as ProbesReply;
    for (const { podUid, kind, history } of items)
      for (const { atMs, lateMs, result } of history)
        if (atMs > this.#since) this.#seen.set(`${podUid} ${kind} ${atMs}`, { lateMs, result });
  }

  get figures() {
    const attempts = [...this.#seen.values()];
    return figuresOf(attempts);
  }
}

function figuresOf(attempts: readonly { readonly lateMs: number; readonly result: string }[]) {
  const lateMs = attempts.map((attempt) => attempt.lateMs);
  return {
    attempts: attempts.length,
    failed: attempts.filter(({ result }) => result !== "success").length,
    p50: quantile(lateMs, 0.5),
    p99: quantile(lateMs, 0.99),
    longest: quantile(lateMs, 1),
  };
}

async function startPod(agent: BoxedAgent, name: string, pods: number): Promise<number> {
  agent.apply(`${name}.yaml`, served(name));
  return Math.round(await agent.untilReady(pods, LONG_MS));
}

test(`${CLIENTS} clients, ${EXECS} execs, ${FOLLOWERS} followers: bounded memory, probes and pods on time`, (t) =>
  withBox({}, async (box) => {
    // As the installed command starts it (bin/nodelet).
    const nodeFlags = agentNodeFlags(undefined);
    const agent = await BoxedAgent.start(box, { nodeFlags, env: AGENT_MALLOC });
    const chatty: Container = {
      name: "main",
      image: TEST_IMAGE,
      command: ["log-lines", "100000000", "0.1", "100"],
    };
    agent.apply("chatty.yaml", manifest("chatty", { containers: [chatty] }));
    for (let at = 0; at < PROBED; at += 1) agent.apply(`${at}.yaml`, served(`web-${at}`));
    await agent.untilReady(PROBED + 1, LONG_MS);
    const startBeforeMs = await startPod(agent, "before", PROBED + 2);
    const quiet = new Attempts();
    await sleep(10_000);
    await quiet.take(box);
    const pid = await agent.pid();
    const residentBefore = residentBytes(pid);

    const clients = new Clients(box);
    const loaded = new Attempts();
    for (let at = 0; at < CLIENTS; at += 1) void clients.ask(at);
    for (let at = 0; at < EXECS; at += 1) clients.execute();
    for (let at = 0; at < FOLLOWERS; at += 1) clients.follow();
    for (const path of [...PATHS, clients.logPath]) clients.stall(path);
    const until = performance.now() + SECONDS * 1000;
    await sleep(Math.min(15_000, SECONDS * 500));
    const startDuringMs = await startPod(agent, "during", PROBED + 3);
    let peak = 0;
    for (let rounds = 0; performance.now() < until; rounds += 1) {
      peak = Math.max(peak, residentBytes(pid));
      if (rounds % 10 === 0) await loaded.take(box);
      await sleep(500);
    }
    await loaded.take(box);
    const probesDuring = loaded.figures;
    const { asked, followed, executed } = clients;
    clients.end();
    await sleep(15_000);
    const mib = (bytes: number) => Math.round(bytes / 2 ** 20);
    t.diagnostic(
      JSON.stringify({
        startBeforeMs,
        startDuringMs,
        probesBefore: quiet.figures,
        probesDuring,
        residentMib: [residentBefore, peak, residentBytes(pid)].map(mib),
        asked,
        followed,
        executed,
      }),
    );
    assert.ok(agent.running);
    assert.doesNotMatch(agent.log(), /reason="(Killing|NodeNotReady)"/);
    assert.equal(probesDuring.failed, 0);
    assert.ok(
      probesDuring.p99 < LATE_MS,
      `one probe in a hundred begins ${probesDuring.p99} ms late`,
    );
    assert.ok(peak - residentBefore < MEMORY_BYTES, `${mib(peak - residentBefore)} MiB more`);
    assert.equal(executed.statuses["open"], EXECS);
    const allowed = new Set(["200", "429", "failed"]);
    for (const { statuses } of [asked, followed])
      assert.deepEqual(
        Object.keys(statuses).filter((status) => !allowed.has(status)),
        [],
      );
  }));
