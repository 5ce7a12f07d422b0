// Hours (NODELET_BUSY_HOURS, 6) of a busy node of a real control plane: thirty pods that are probed, crash, come and go, those that come
// and go with volumes of a CSI driver and claimed devices. The API server is
// away for 45 s of every seven minutes, and the agent is killed every ten (NODELET_BUSY_KILL_MINUTES). The node stays
// Ready, no steady pod is restarted, memory, descriptors and timers of each life of the agent end as those of the one
// before, and nothing is left when the pods are gone.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../src/api/generated/types.ts";
import type { Box } from "../box/box.ts";
import { apiServerObstacle } from "../kube/apiserver.ts";
import {
  type ClusterNode,
  conditionOf,
  type NodeOptions,
  PODS,
  withNode,
} from "../kube/cluster-node.ts";
import { ask } from "../support/pod-lives.ts";
import { figuresOf, type ProcessFigures } from "../support/process-figures.ts";
import { BusyClaims } from "./busy-claims.ts";
import {
  CHANGING,
  CONFIG_MAP,
  changingPod,
  crashingPods,
  readingPods,
  steadyPods,
} from "./busy-pods.ts";
import { leftoversOf, pictureOf } from "./leftovers.ts";

const HOURS = Number(process.env["NODELET_BUSY_HOURS"] ?? 6);
const KILL_MS = Number(process.env["NODELET_BUSY_KILL_MINUTES"] ?? 10) * 60_000;
const API_PERIOD_MS = 7 * 60_000;
const API_AWAY_MS = 45_000;
const CHANGE_MS = 10_000;
const SAMPLE_MS = 30_000;
const SETTLE_MS = 180_000;
/** The lives of the agent that are compared begin after those in which caches on disk and page tables still grow. */
const WARM_LIVES = 2;
/** Above it a slope over hours counts as growth. */
const MAX_MIB_AN_HOUR = 1;
/** How many more descriptors or timers than the life before may be in use at any moment. */
const SLACK = 12;
const CONFIG = "crashLoopBackOff: {maxContainerRestartPeriod: 20s}\ncontainerLogMaxSize: 64Ki";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

/** The agent at one moment. */
interface Sample extends ProcessFigures {
  readonly hours: number;
  /** Which life of the agent it is of, from 0. */
  readonly life: number;
  readonly timers: number;
}

/** What is done to the node, each at its own pace. */
class Unrest {
  readonly #node: ClusterNode;
  readonly #claims: BusyClaims;
  readonly #leave = new AbortController();
  readonly #tasks: Promise<void>[] = [];
  life = 0;
  apiIsAway = false;
  failure: unknown;

  constructor(node: ClusterNode, claims: BusyClaims) {
    this.#node = node;
    this.#claims = claims;
  }

  begin(): void {
    this.#every(CHANGE_MS, (turn) => this.#change(turn));
    this.#every(API_PERIOD_MS, () => this.#takeApiAway());
    this.#every(KILL_MS, () => this.#killAgent());
  }

  async end(): Promise<void> {
    this.#leave.abort();
    await Promise.all(this.#tasks);
  }

  #every(periodMs: number, act: (turn: number) => Promise<void>): void {
    const { signal } = this.#leave;
    const run = async () => {
      for (let turn = 0; ; turn += 1) {
        if (await sleep(periodMs, false, { signal }).catch(() => true)) return;
        await act(turn).catch((error: unknown) => {
          this.failure ??= error;
        });
      }
    };
    this.#tasks.push(run());
  }

  /** Another pod takes the place of one, and what the readers mount changes. */
  async #change(turn: number): Promise<void> {
    if (this.apiIsAway) return;
    const { server } = this.#node;
    const name = CHANGING[turn % CHANGING.length] ?? "";
    // Requests get lost when the API server goes meanwhile.
    const request = (method: string, path: string, body?: unknown) =>
      server
        .request({ method, path, ...(body === undefined ? {} : { body }) })
        .catch(() => undefined);
    await request("DELETE", `${PODS}/${name}`);
    const others = CHANGING.filter((other) => other !== name);
    for (const other of others) {
      const reply = await request("POST", PODS, this.#claims.of(changingPod(other)));
      if (reply?.status === 201)
        await this.#claims.reserve(reply.body as Pod).catch(() => undefined);
    }
    if (turn % 6 === 0) await request("PUT", `${CONFIG_MAPS}/${CONFIG_MAP}`, settings(turn));
  }

  async #takeApiAway(): Promise<void> {
    this.apiIsAway = true;
    await this.#node.server.kill();
    await sleep(API_AWAY_MS);
    await this.#node.server.start();
    this.apiIsAway = false;
  }

  async #killAgent(): Promise<void> {
    await this.#node.agent.kill();
    await this.#node.agent.start();
    this.life += 1;
  }
}

const settings = (turn: number) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: CONFIG_MAP },
  data: { text: `${turn}\n` },
});

const OPTIONS: NodeOptions = {
  box: { storeMib: 3072, containerd: "2.4" },
  config: CONFIG,
  asShipped: true,
};
const skip = apiServerObstacle() ?? false;

test(`a busy node for ${HOURS} hours: Ready, no growth, nothing left`, { skip }, (t) =>
  withNode(async (node, box) => {
    const { agent, server } = node;
    await node.untilNodeReady();
    await server.must("POST", CONFIG_MAPS, settings(0));
    const claims = await BusyClaims.start(node, box, CHANGING);
    // What the first pods make for good is there after one of each kind.
    for (const pods of [steadyPods(), readingPods(), CHANGING.map(changingPod)])
      await startAndEnd(node, pods.slice(0, 1));
    const before = await pictureOf(box);

    const steady = [...steadyPods(), ...readingPods()];
    const all = [
      ...steady,
      ...crashingPods(),
      ...CHANGING.map(changingPod).map((pod) => claims.of(pod)),
    ];
    for (const pod of all) await claims.reserve(await server.must<Pod>("POST", PODS, pod));
    for (const pod of steady) await untilReady(node, nameOf(pod));
    const lives = await livesOf(node, steady);
    const readySince = await readyTransition(node);
    const samples = await watch({ node, box, claims, steady, lives, readySince });

    judge(t, samples);
    for (const { metadata } of all)
      await server.request({ method: "DELETE", path: `${PODS}/${metadata?.name}` });
    let left: readonly string[] = [];
    await agent
      .until(
        "nothing is left",
        async () => {
          left = await leftoversOf(box, before, 0);
          return left.length === 0;
        },
        SETTLE_MS,
      )
      .catch(() => assert.fail(`left behind:\n${left.join("\n")}`));
    assert.equal(claims.violations, "");
    assert.doesNotMatch(agent.log(), /reason="?NodeNotReady/);
  }, OPTIONS),
);

interface Watched {
  readonly node: ClusterNode;
  readonly box: Box;
  readonly claims: BusyClaims;
  readonly steady: readonly Pod[];
  /** Of the steady pods, as they began. */
  readonly lives: readonly string[];
  readonly readySince: string | undefined;
}

/** Keeps the node busy for all the time; fails as soon as something happens that must not. */
async function watch(watched: Watched): Promise<readonly Sample[]> {
  const { node, box, claims, steady, lives, readySince } = watched;
  const unrest = new Unrest(node, claims);
  const began = performance.now();
  const samples: Sample[] = [];
  unrest.begin();
  try {
    while (performance.now() - began < HOURS * 3_600_000) {
      await sleep(SAMPLE_MS);
      assert.equal(unrest.failure, undefined, String(unrest.failure));
      const hours = (performance.now() - began) / 3_600_000;
      const { life } = unrest;
      const figures = figuresOf(await node.agent.pid().catch(() => 0));
      const metrics = await ask(box, "/metrics");
      const timers = Number(/^nodejs_active_resources_total (\d+)/m.exec(metrics ?? "")?.[1]);
      if (figures && life === unrest.life && timers > 0)
        samples.push({ ...figures, hours, life, timers });
      if (unrest.apiIsAway) continue;
      const [now, since] = await Promise.all([livesOf(node, steady), readyTransition(node)]);
      // It may have gone since.
      if (unrest.apiIsAway || now.length === 0 || since === undefined) continue;
      assert.deepEqual(now, lives);
      assert.equal(since, readySince, `the node was NotReady\n${readinessIn(node.agent.log())}`);
      if (samples.length % 20 === 0) console.error(lineOf(samples.at(-1)));
    }
  } finally {
    await unrest.end();
  }
  return samples;
}

/** Compares the last moments of the lives of the agent with each other. */
function judge(t: TestContext, samples: readonly Sample[]): void {
  const lasts = [...new Set(samples.map(({ life }) => life))]
    .slice(0, -1)
    .flatMap((life) => samples.filter((sample) => sample.life === life).slice(-1));
  for (const last of lasts) t.diagnostic(`life ${last.life}: ${lineOf(last)}`);
  const warm = lasts.slice(WARM_LIVES);
  const slope = slopeOf(warm.map(({ hours, residentMib }) => [hours, residentMib]));
  t.diagnostic(`resident memory at the end of a life: ${slope.toFixed(2)} MiB an hour`);
  const [first] = warm;
  const last = warm.at(-1);
  if (first === undefined || last === undefined || warm.length < 3) return;
  for (const key of ["sockets", "files", "timers", "threads", "processes"] as const)
    assert.ok(last[key] <= first[key] + SLACK, `${key}: ${first[key]}, later ${last[key]}`);
  // A shorter time has too few lives for a slope.
  if (HOURS >= 3) assert.ok(slope < MAX_MIB_AN_HOUR, `${slope.toFixed(2)} MiB an hour`);
}

/** Least squares: growth of y for each x. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const across = points.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0);
  const along = points.reduce((sum, [px]) => sum + (px - x) ** 2, 0);
  return along === 0 ? 0 : across / along;
}

function lineOf(sample: Sample | undefined): string {
  if (sample === undefined) return "no sample";
  const { hours, residentMib, anonymousMib, processes, threads, sockets, files, timers } = sample;
  return `${hours.toFixed(2)} h, ${residentMib.toFixed(1)} MiB resident, ${anonymousMib.toFixed(1)} anonymous, ${processes} processes, ${threads} threads, ${sockets} sockets, ${files} files, ${timers} active resources`;
}

/** The last lines of the agent's log that are about the node's health. */
function readinessIn(log: string): string {
  const lines = log.split("\n").filter((line) => /NotReady|NodeReady|health check/.test(line));
  return lines.slice(-20).join("\n");
}

const nameOf = ({ metadata }: Pod) => metadata?.name ?? "";

async function untilReady(node: ClusterNode, name: string): Promise<void> {
  await node.agent.until(
    `${name} is Ready`,
    async () => conditionOf(await node.pod(name), "Ready") === "True",
    SETTLE_MS,
  );
}

async function startAndEnd(node: ClusterNode, pods: readonly Pod[]): Promise<void> {
  for (const pod of pods) {
    await node.server.must("POST", PODS, pod);
    await untilReady(node, nameOf(pod));
    await node.server.must("DELETE", `${PODS}/${nameOf(pod)}`);
    const isGone = async () => (await node.pod(nameOf(pod))) === undefined;
    await node.agent.until(`${nameOf(pod)} is gone`, isGone, SETTLE_MS);
  }
}

/** Containers of pods with their restarts and the moment of their readiness; empty when the API server does not answer. */
async function livesOf(node: ClusterNode, pods: readonly Pod[]): Promise<readonly string[]> {
  const list = await node.get<{ readonly items: readonly Pod[] }>(PODS);
  const names = new Set(pods.map(nameOf));
  return (list?.items ?? [])
    .filter((pod) => names.has(nameOf(pod)))
    .map((pod) => {
      const [status] = pod.status?.containerStatuses ?? [];
      const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
      return `${nameOf(pod)} ${status?.containerID} ${status?.restartCount} ${ready?.status} ${ready?.lastTransitionTime}`;
    })
    .toSorted();
}

async function readyTransition(node: ClusterNode): Promise<string | undefined> {
  const found = await node.node();
  const ready = found?.status?.conditions?.find(({ type }) => type === "Ready");
  return ready && `${ready.status} ${ready.lastTransitionTime}`;
}
