// Volumes of a file server on a kernel that has nfs: used, refused, and gone while pods have them. Run in a guest, by
// `nfs.soak.ts`.
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { NFSVolumeSource, PodStatus } from "../../../src/api/generated/types.ts";
import { type Box, withBox } from "../../box/box.ts";
import { answerOf } from "../../server/http.ts";
import { BoxedAgent, conditionOf, type Manifest, manifest } from "../../support/agent.ts";
import { TIMEOUT_FACTOR } from "../../support/timeout-factor.ts";
import { insideOf, staying } from "../world.ts";
import { DEAF, FileServer, SERVER } from "./file-server.ts";

/** The guest's kernel has no packet filter for the network of pods. */
const SPEC = { terminationGracePeriodSeconds: 0, hostNetwork: true, dnsPolicy: "Default" };
const PODS = "/var/lib/kubelet/pods";
/** What anybody waits for an answer of the agent's at most; a blocked agent gives none at all. */
const ANSWER_LIMIT_MS = 8_000 * TIMEOUT_FACTOR;
/** How long a server is gone after the last pod with its folder was to end. */
const GONE_MS = 120_000;
/** The program of nfs tries for two minutes by the clock, however fast the machine is. */
const MOUNT_LIMIT_MS = 400_000 / TIMEOUT_FACTOR;
/** Pods with a folder of a server that says nothing. */
const MUTES = 6;
/** A server that takes calls and says nothing. */
const MUTE = "require('node:net').createServer(() => {}).listen(2049, process.argv[1])";

/** A pod with a folder of a file server at /data. */
function sharePod(name: string, nfs: NFSVolumeSource, command?: readonly string[]): Manifest {
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  const containers = [
    staying("main", { volumeMounts, ...(command ? { command: [...command] } : {}) }),
  ];
  return named(name, { volumes: [{ name: "data", nfs }], containers });
}

function named(name: string, spec: Partial<Manifest["spec"]> = {}): Manifest {
  return { ...manifest(name, { ...SPEC, ...spec }), metadata: { name, uid: name } };
}

/** A node beside a file server. */
class ShareNode {
  readonly box: Box;
  readonly agent: BoxedAgent;
  readonly server: FileServer;

  constructor(agent: BoxedAgent, server: FileServer) {
    this.box = agent.box;
    this.agent = agent;
    this.server = server;
  }

  status(name: string): PodStatus | undefined {
    return this.agent.statuses().get(name);
  }

  /** Milliseconds from the manifest to Ready. */
  async start(pod: Manifest): Promise<number> {
    const { name = "" } = pod.metadata ?? {};
    this.agent.apply(`${name}.yaml`, pod);
    const isReady = () => conditionOf(this.status(name), "Ready") === "True";
    return await this.agent.until(`${name} is Ready`, isReady);
  }

  async stop(name: string, limitMs?: number): Promise<number> {
    this.agent.remove(`${name}.yaml`);
    return await this.gone(name, limitMs);
  }

  async gone(name: string, limitMs?: number): Promise<number> {
    const isGone = () => this.status(name) === undefined;
    return await this.agent.until(`${name} is gone`, isGone, limitMs);
  }

  async inside(name: string, script: string): Promise<string> {
    return await insideOf(this.box, async () => this.status(name))(script);
  }

  /** Mounts of file servers that the node has. */
  async shares(): Promise<readonly string[]> {
    const text = await this.box.run(["sh", "-c", "grep ' nfs4\\? ' /proc/self/mounts || true"]);
    return text.split("\n").filter((line) => line !== "");
  }

  /** Asks for health and figures; both must be there. */
  async answers(): Promise<void> {
    for (const path of ["/healthz", "/stats/summary", "/pods"]) {
      const socketPath = this.box.path("/run/nodelet/agent.sock");
      const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
      const { status, body } = await answerOf(request({ socketPath, path, agent: false, signal }));
      assert.equal(status, 200, `${path}: ${body}`);
    }
  }

  /** Starts and ends pods for a while; nothing may hold them up, and the agent answers. */
  async others(name: string, ms: number): Promise<void> {
    const until = performance.now() + ms;
    for (let i = 0; i === 0 || performance.now() < until; i += 1) {
      const startMs = await this.start(named(`${name}-${i}`));
      const stopMs = await this.stop(`${name}-${i}`);
      await this.answers();
      console.log(
        `${name}-${i}: Ready after ${Math.round(startMs)} ms, gone after ${Math.round(stopMs)} ms`,
      );
    }
  }

  /** How many file workers the agent has. */
  async workers(): Promise<number> {
    const text = await this.box.run(["sh", "-c", "pgrep -c -f '[f]ile-worker.cjs'"]);
    return Number(text);
  }

  /** Processes that mount or unmount. */
  async mounting(): Promise<readonly string[]> {
    const text = await this.box.run(["sh", "-c", "pgrep -a '^u?mount' || true"]);
    return text.split("\n").filter((line) => line !== "");
  }
}

const withShares = (use: (node: ShareNode) => Promise<void>) =>
  withBox({ hostname: "box" }, async (box) => {
    const server = await FileServer.start(box);
    await use(new ShareNode(await BoxedAgent.start(box), server));
  });

test("what a pod writes is in the export, a read-only volume is; unmounted after the pod, the export whole", () =>
  withShares(async (node) => {
    const { server } = node;
    await server.script("echo before >old; mkdir -m 777 sub");
    await node.start(sharePod("writer", { server: SERVER, path: "/" }));
    await node.inside(
      "writer",
      "cat /data/old >/data/new; echo written >>/data/new; echo x >/data/sub/x",
    );
    assert.equal(await server.script("cat new"), "before\nwritten\n");
    await node.start(sharePod("reader", { server: SERVER, path: "/sub", readOnly: true }));
    assert.equal(await node.inside("reader", "cat /data/x"), "x\n");
    assert.match(
      await node.inside("reader", "echo y 2>&1 >/data/y || true"),
      /Read-only file system/,
    );
    const shares = await node.shares();
    assert.deepEqual(shares.map((line) => line.split(" ").slice(0, 2)).sort(), [
      [`${SERVER}:/`, `${PODS}/writer/volumes/kubernetes.io~nfs/data`],
      [`${SERVER}:/sub`, `${PODS}/reader/volumes/kubernetes.io~nfs/data`],
    ]);
    await node.agent.kill();
    await node.agent.start();
    assert.deepEqual(await node.shares(), shares, "a new agent mounts nothing on top");
    await node.stop("reader");
    await node.stop("writer");
    assert.deepEqual(await node.shares(), []);
    assert.equal(await node.box.run(["ls", PODS]), "");
    assert.equal(await server.script("ls; cat new sub/x"), "new\nold\nsub\nbefore\nwritten\nx\n");
  }));

test("what a server refuses, or nobody answers: the pod waits and says why, others start and end", () =>
  withShares(async (node) => {
    const { agent, box, server } = node;
    await node.others("before", 0);
    box.spawnLogged("mute", [process.execPath, "-e", MUTE, box.nodeAddress]);
    const mutes = Array.from({ length: MUTES }, (_, i) => `mute-${i}`);
    agent.apply("absent.yaml", sharePod("absent", { server: SERVER, path: "/absent" }));
    agent.apply("deaf.yaml", sharePod("deaf", { server: DEAF, path: "/" }));
    for (const name of mutes)
      agent.apply(`${name}.yaml`, sharePod(name, { server: box.nodeAddress, path: "/" }));
    const reported = (text: RegExp) => () =>
      agent
        .log()
        .split("\n")
        .some((line) => line.includes("FailedMount") && text.test(line));
    await agent.until(
      "what is not there is named",
      reported(/\/absent.*No such file or directory/),
    );
    await agent.until("all others mount", async () => (await node.mounting()).length > 2 * MUTES);
    const workers = await node.workers();
    assert.ok(workers < MUTES, `${workers} file workers: mounts of servers wait in one`);
    await node.others("meanwhile", 30_000);
    const refused = reported(/192\.0\.2\.1:.*Connection refused/);
    await agent.until("who refuses is named", refused, MOUNT_LIMIT_MS);
    const mute = reported(/198\.51\.100\.10:.*not done within 150 s/);
    await agent.until("who says nothing is named", mute, MOUNT_LIMIT_MS);
    await server.script("mkdir absent");
    const isReady = () => conditionOf(node.status("absent"), "Ready") === "True";
    await agent.until("what has come is mounted", isReady, MOUNT_LIMIT_MS);
    await node.stop("absent");
    for (const name of ["deaf", ...mutes]) agent.remove(`${name}.yaml`);
    for (const name of ["deaf", ...mutes]) await node.gone(name, MOUNT_LIMIT_MS);
    assert.deepEqual(await node.mounting(), []);
    assert.deepEqual(await node.shares(), []);
  }));

test("a server that is gone while pods have its folders: they end, nothing else is held up", () =>
  withShares(async (node) => {
    const { agent, server } = node;
    const beat = "while :; do date >>/data/beats; sleep 1; done";
    await node.start(sharePod("writer", { server: SERVER, path: "/" }, ["sh", "-c", beat]));
    await node.start(sharePod("reader", { server: SERVER, path: "/" }));
    await node.start(sharePod("last", { server: SERVER, path: "/" }));
    await node.others("before", 0);
    await server.reachable(false);
    await sleep(5_000);
    await node.others("gone", 0);
    await agent.kill();
    await agent.start();
    await node.others("restarted", 0);
    // Another pod has the file system still.
    for (const name of ["writer", "reader"]) agent.remove(`${name}.yaml`);
    await node.others("ending", 0);
    for (const name of ["writer", "reader"]) await node.gone(name);
    assert.equal((await node.shares()).length, 1);
    // With the last the kernel lets go of the file system, and waits for the server to take what was written.
    agent.remove("last.yaml");
    await node.others("ending-last", GONE_MS);
    await node.gone("last");
    console.log(`left without the server: ${(await node.mounting()).join(", ")}`);
    assert.deepEqual(await node.shares(), []);
    assert.equal(await node.box.run(["ls", PODS]), "");
    await server.reachable(true);
    const isOver = async () => (await node.mounting()).length === 0;
    await agent.until("nobody unmounts any more", isOver, MOUNT_LIMIT_MS);
    await node.start(sharePod("later", { server: SERVER, path: "/" }));
    assert.match(await node.inside("later", "tail -n 1 /data/beats"), /\d\d:\d\d:\d\d/);
    await node.stop("later");
    assert.deepEqual(await node.shares(), []);
  }));
