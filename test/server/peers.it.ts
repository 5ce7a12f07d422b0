// Unauthenticated peers of an agent on real containerd do not affect other clients.
import assert from "node:assert/strict";
import { request } from "node:https";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Access, accessIn } from "../localapi/local-api.ts";
import { answerOf } from "./http.ts";
import { ServedNode } from "./node.ts";

const UNAUTHENTICATED_PEERS = join(import.meta.dirname, "../support/unauthenticated-peers.mjs");
const API_FOLDER = "/var/lib/nodelet/api";
const KUBELET_PORT = 10250;
const MIB = 2 ** 20;
/** Memory that all unauthenticated peers may use together, and what V8 leaves uncollected behind them (8 MiB and more). */
const MAX_GROWTH_MIB = 40;
/** A caller that has got no answer by then gets none. */
const ANSWER_WITHIN_MS = 20_000;

let node: ServedNode;
before(async () => {
  node = await ServedNode.start({}, { NODELET_API_FOLDER: API_FOLDER });
  const isServed = async () => (await node.secure("/healthz", node.master)).status === 200;
  await node.until(() => isServed().catch(() => false), "the HTTPS port answers");
});
after(() => node[Symbol.asyncDispose]());

/** TCP ports that something listens on in the box. */
async function listening(): Promise<readonly number[]> {
  const shown = await node.box.run([
    "sh",
    "-c",
    "cat /proc/net/tcp /proc/net/tcp6 | awk '$4==\"0A\" {print $2}'",
  ]);
  return shown
    .trim()
    .split("\n")
    .map((line) => Number.parseInt(line.split(":")[1] ?? "", 16));
}

test("SIGUSR1 neither opens the inspector nor ends the agent", async () => {
  const [pid = ""] = (await node.box.run(["pgrep", "-x", "nodelet"])).trim().split("\n");
  const before = await listening();
  for (let i = 0; i < 3; i += 1) await node.box.run(["kill", "-USR1", pid]);
  // Answered after the signals came: each is taken in the turn of the event loop that follows it.
  for (let i = 0; i < 20; i += 1) assert.equal((await node.local("/healthz")).status, 200);
  const ports = await listening();
  assert.deepEqual([...ports].sort(), [...before].sort());
  assert.ok(ports.includes(KUBELET_PORT) && !ports.includes(9229), `${ports}`);
  assert.equal((await node.box.run(["pgrep", "-x", "nodelet"])).trim(), pid);
});

async function residentMib(): Promise<number> {
  const { body } = await node.local("/nodelet/v1/overview");
  const { agent } = JSON.parse(body) as { agent: { residentBytes: number } };
  return agent.residentBytes / MIB;
}

/** Many unauthenticated peers in a process of their own. */
class Crowd implements AsyncDisposable {
  readonly #process;
  #output = "";

  constructor(kind: string, port: number, count: number) {
    const argv = [
      process.execPath,
      UNAUTHENTICATED_PEERS,
      kind,
      "127.0.0.1",
      `${port}`,
      `${count}`,
    ];
    this.#process = node.box.spawn(argv);
    this.#process.stdout?.on("data", (chunk: Buffer) => {
      this.#output = `${this.#output}${chunk}`.slice(-1000);
    });
  }

  get count(): { readonly open: number; readonly closed: number } {
    const last = this.#output.split("\n").at(-2);
    return last === undefined ? { open: 0, closed: 0 } : JSON.parse(last);
  }

  /** Waits until nothing changes any more, and gives the most memory that the agent had meanwhile. */
  async settle(): Promise<number> {
    let most = 0;
    for (let checks = 0; checks < 100 && !this.#isStill(); checks += 1) {
      most = Math.max(most, await residentMib());
      await sleep(200);
    }
    return most;
  }

  /** Whether the crowd itself has seen no change for a second: a busy one that says nothing has not settled. */
  #isStill(): boolean {
    const last = this.#output.split("\n").slice(-6, -1);
    return last.length === 5 && new Set(last).size === 1 && this.count.open > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin?.end();
    await this.#process.exited;
  }
}

/** The local API's port. */
function localPort(): number {
  return Number(new URL(administrator().server).port);
}

function administrator(): Access {
  return accessIn(node.box.path(`${API_FOLDER}/admin.kubeconfig`));
}

/** Lists pods with the administrator's certificate, over a connection of its own from the box's loopback. */
async function listPods(): Promise<{ readonly status: number; readonly ms: number }> {
  const { identity } = administrator();
  const socketPath = await node.box.forward(localPort(), "127.0.0.1");
  const began = performance.now();
  const { status } = await answerOf(
    request({
      socketPath,
      path: "/api/v1/pods",
      agent: false,
      rejectUnauthorized: false,
      cert: identity.certificatePem,
      key: identity.privateKeyPem,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    }),
  );
  return { status, ms: performance.now() - began };
}

async function warmUp(kind: string, port: number): Promise<void> {
  await using crowd = new Crowd(kind, port, WARM_UP_CONNECTIONS);
  await crowd.settle();
}

interface Attack {
  readonly kind: string;
  readonly count: number;
  readonly port: () => number;
}

const WARM_UP_CONNECTIONS = 20;

const ATTACKS: readonly Attack[] = [
  { kind: "headers", count: 300, port: () => KUBELET_PORT },
  { kind: "headers", count: 300, port: () => localPort() },
  { kind: "headers", count: 3_600, port: () => KUBELET_PORT },
  { kind: "continuation", count: 100, port: () => localPort() },
  { kind: "sessions", count: 2_000, port: () => localPort() },
];

for (const [i, { kind, count, port }] of ATTACKS.entries()) {
  const where = i === 0 || i === 2 ? "the kubelet's port" : "the local API";
  test(`${count} connections (${kind}) to ${where} cost little, and callers are answered`, async () => {
    // What the first connections cost once is no part of what each of them costs.
    await warmUp(kind, port());
    const before = await residentMib();
    const usual = await listPods();
    await using crowd = new Crowd(kind, port(), count);
    const most = await crowd.settle();
    const asked = await listPods();
    const kubelet = await node.secure("/healthz", node.master);
    const { open, closed } = crowd.count;
    console.log(
      `${open} came through, ${closed} were closed; resident ${before.toFixed(0)} -> ${most.toFixed(0)} MiB; ` +
        `a list over a new connection took ${usual.ms.toFixed(0)} ms before, ${asked.ms.toFixed(0)} ms amid them`,
    );
    assert.deepEqual([usual.status, asked.status, kubelet.status], [200, 200, 200]);
    // Collected later on a busy machine, when twelve times as many have come and gone; unbounded it was 3.6 GiB.
    const limit = count > 1_000 ? 2 * MAX_GROWTH_MIB : MAX_GROWTH_MIB;
    assert.ok(most - before <= limit, `${before} MiB became ${most} MiB`);
  });
}
