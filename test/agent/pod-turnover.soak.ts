// Ten thousand pods (NODELET_TURNOVER_PODS) come and go on a node of a real control plane, in groups that overlap: the
// agent's memory afterwards is what it was after the first quarter of them. Once with real containers, which takes an hour and
// more, and once with those of a runtime that has them in memory only, which takes the agent's own time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../src/api/generated/types.ts";
import { apiServerObstacle } from "../kube/apiserver.ts";
import {
  type ClusterNode,
  conditionOf,
  type NodeOptions,
  PODS,
  podOf,
  withNode,
} from "../kube/cluster-node.ts";
import { figuresOf, type ProcessFigures } from "../support/process-figures.ts";

const TOTAL = Number(process.env["NODELET_TURNOVER_PODS"] ?? 10_000);
/** Two groups are on the node at a time. */
const GROUP = 50;
/** Pods between two samples; the first one is what the others are compared with. */
const SAMPLE_PODS = 2_500;
/** What the agent may hold beyond the first sample. */
const MAX_GROWTH_MIB = 5;
const GROUP_TIMEOUT_MS = 300_000;
const POLL_MS = 1_000;
/**
 * A sample is the least of several, so that garbage which was not collected yet does not count. An agent that has been at
 * rest for two minutes gives back what it holds without using it. Before that it sends the events that wait, up to
 * thousands at 50 a second, and a busy machine delays it.
 */
const SETTLE_SAMPLES = 60;
const SETTLE_MS = 5_000;

/** The agent after a number of pods, at rest. */
interface Sample extends ProcessFigures {
  readonly pods: number;
}

const RUNTIMES: readonly (readonly [string, NodeOptions])[] = [
  ["containerd", { box: { storeMib: 3072 }, asShipped: true }],
  ["a runtime in memory", { memoryRuntime: true, asShipped: true }],
];
const skip = apiServerObstacle() ?? false;

for (const [runtime, options] of RUNTIMES)
  test(`${TOTAL} pods come and go on ${runtime}: memory does not grow`, { skip }, (t) =>
    withNode((node) => holdsItsMemory(node, (line) => t.diagnostic(line)), options),
  );

async function holdsItsMemory(node: ClusterNode, say: (line: string) => void): Promise<void> {
  await node.untilNodeReady();
  const samples: Sample[] = [];
  for (let pods = 0; pods < TOTAL; pods += SAMPLE_PODS) {
    const count = Math.min(SAMPLE_PODS, TOTAL - pods);
    await turnOver(node, pods, count);
    const sample = { pods: pods + count, ...(await settled(node)) };
    samples.push(sample);
    say(lineOf(sample));
  }
  assert.doesNotMatch(node.agent.log(), /reason="?NodeNotReady/);
  const [first] = samples;
  const last = samples.at(-1);
  assert.ok(first && last);
  for (const key of ["residentMib", "anonymousMib"] as const)
    assert.ok(
      last[key] <= first[key] + MAX_GROWTH_MIB,
      `${key}: ${first[key]}, later ${last[key]}`,
    );
}

/** Creates pods group by group and deletes each group when it is ready, while the next one starts. */
async function turnOver(node: ClusterNode, from: number, count: number): Promise<void> {
  let ending: Promise<void> = Promise.resolve();
  for (let at = 0; at < count; at += GROUP) {
    const names = Array.from(
      { length: Math.min(GROUP, count - at) },
      (_, i) => `pod-${from + at + i}`,
    );
    for (const name of names) await node.server.must("POST", PODS, podOf(name));
    await until(`${names[0]} and those after it are ready`, async () => {
      const pods = await listPods(node);
      return names.every((name) => conditionOf(pods.get(name), "Ready") === "True");
    });
    await ending;
    ending = remove(node, names);
  }
  await ending;
}

async function remove(node: ClusterNode, names: readonly string[]): Promise<void> {
  for (const name of names)
    await node.server.must("DELETE", `${PODS}/${name}?gracePeriodSeconds=1`);
  await until(`${names[0]} and those after it are gone`, async () => {
    const pods = await listPods(node);
    return !names.some((name) => pods.has(name));
  });
}

async function listPods(node: ClusterNode): Promise<ReadonlyMap<string, Pod>> {
  const list = await node.get<{ readonly items: readonly Pod[] }>(`${PODS}?resourceVersion=0`);
  if (list === undefined) throw new Error("the API server does not list pods");
  return new Map(list.items.map((pod) => [pod.metadata?.name ?? "", pod]));
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + GROUP_TIMEOUT_MS;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`not within ${GROUP_TIMEOUT_MS} ms: ${what}`);
    await sleep(POLL_MS);
  }
}

/** The least that the agent holds within the time to settle. */
async function settled(node: ClusterNode): Promise<ProcessFigures> {
  const pid = await node.agent.pid();
  let least: ProcessFigures | undefined;
  for (let i = 0; i < SETTLE_SAMPLES; i += 1) {
    await sleep(SETTLE_MS);
    const figures = figuresOf(pid);
    assert.ok(figures, "the agent has ended");
    if (least === undefined || figures.residentMib < least.residentMib) least = figures;
  }
  assert.ok(least);
  return least;
}

function lineOf({ pods, residentMib, anonymousMib, processes, sockets, files }: Sample): string {
  const memory = `${residentMib.toFixed(1)} MiB resident, ${anonymousMib.toFixed(1)} anonymous`;
  return `${pods} pods: ${memory}, ${processes} processes, ${sockets} sockets, ${files} files`;
}
