/** One constellation on a real node, from its first pod to the end of the pressure. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Pod } from "../../src/api/generated/types.ts";
import { conditionOf } from "../support/agent.ts";
import { askOwnApi } from "../support/own-api.ts";
import {
  type Constellation,
  PODS_MIB,
  PRIORITIES,
  priorityClass,
  THRESHOLD_MIB,
  tenantSpec,
  usedMib,
} from "./constellations.ts";
import { EvictionNode, MI } from "./node.ts";

const PRESSURE = "MemoryPressure";
const MANIFEST = "tenant.yaml";
/** What shells and sandboxes of pods use beside what they are set to hold. */
const OWN_MIB = 15;

/** A node on which all pods together may use `PODS_MIB`, with a class for every priority. */
export async function startMemoryNode(): Promise<EvictionNode> {
  const total = /^MemTotal: +(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
  const reserved = Number(total) * 1024 - PODS_MIB * MI;
  const node = await EvictionNode.start({
    config: `
evictionHard: {memory.available: ${THRESHOLD_MIB}Mi}
systemReserved: {memory: "${reserved}"}`,
  });
  for (const value of PRIORITIES) {
    const body = { metadata: { name: priorityClass(value) }, value };
    const { status } = await askOwnApi(node.box, {
      method: "POST",
      path: "/apis/scheduling.k8s.io/v1/priorityclasses",
      body,
    });
    assert.equal(status, 201, `priority class ${value}`);
  }
  return node;
}

/** How long the first four pods took to be there, and from the shortage of memory to each of these, in milliseconds. */
export interface SufferFigures {
  readonly startedMs: number;
  readonly conditionMs: number;
  readonly evictedMs: number;
  readonly relievedMs: number;
}

/** Starts the pods, sees the right one go and nobody else, and clears the node. */
export async function suffer(
  node: EvictionNode,
  row: Constellation,
): Promise<{ readonly figures: SufferFigures; readonly victim: Pod }> {
  const entries = Object.entries(row.pods);
  const [last] = entries.at(-1) ?? [""];
  const entered = performance.now();
  const start = async (name: string) => {
    const tenant = row.pods[name];
    assert.ok(tenant);
    const spec = tenantSpec(tenant);
    if (tenant.kind === "static") node.agent.apply(MANIFEST, { metadata: { name }, spec });
    else await node.create(name, spec);
  };
  for (const [name] of entries) if (name !== last) await start(name);
  await node.untilReady(...entries.map(([name]) => name).filter((name) => name !== last));
  const before = usedMib(row, last);
  await node.until(
    `the first four use ${before} MiB`,
    () => node.podsMemory() / MI,
    (mib) => mib >= before,
  );
  const startedMs = performance.now() - entered;
  assert.equal(await node.condition(PRESSURE), "False");
  assert.deepEqual(await node.evicted(), []);
  const lives = await node.lives();
  await start(last);
  // What is short may be given back between two checks.
  await node.until(
    "memory is short",
    async () =>
      node.podsMemory() > (PODS_MIB - THRESHOLD_MIB) * MI || (await node.evicted()).length,
    Boolean,
  );
  const began = performance.now();
  const since = () => performance.now() - began;
  const seen: { conditionMs?: number; evictedMs?: number } = {};
  await node.until(
    "the condition is reported and the victim evicted",
    async () => {
      if ((await node.condition(PRESSURE)) === "True") seen.conditionMs ??= since();
      if ((await node.evicted()).length > 0) seen.evictedMs ??= since();
      return seen;
    },
    ({ conditionMs, evictedMs }) => conditionMs !== undefined && evictedMs !== undefined,
  );
  const victim = await node.untilEvicted(row.victim);
  await node.untilCondition(PRESSURE, "False");
  const relievedMs = since();
  assert.deepEqual(await node.evicted(), [row.victim], "one pod goes, and no second one");
  await sameLives(node, { row, last, lives });
  if (entries.some(([, { kind }]) => kind === "static")) node.agent.remove(MANIFEST);
  await node.remove();
  return { figures: { startedMs, conditionMs: 0, evictedMs: 0, ...seen, relievedMs }, victim };
}

/** All but the victim run on as if nothing had been. */
async function sameLives(
  node: EvictionNode,
  was: { row: Constellation; last: string; lives: Readonly<Record<string, string>> },
): Promise<void> {
  const { row, last, lives } = was;
  const now = await node.lives();
  for (const name of Object.keys(row.pods)) {
    if (name === row.victim) continue;
    if (name === last) assert.match(now[name] ?? "none", /^\S+ 0 true/, `${name} runs`);
    else assert.equal(now[name], lives[name], `${name} runs on`);
  }
}

export const isDisrupted = ({ status }: Pod): boolean =>
  conditionOf(status, "DisruptionTarget") === "True";

/** The node has memory left for all but the last pod, is short with it, and has enough without the victim. */
export function assertSense(row: Constellation): void {
  const last = Object.keys(row.pods).at(-1);
  assert.equal(Object.keys(row.pods).length, 5, row.name);
  const enough = PODS_MIB - THRESHOLD_MIB - OWN_MIB;
  assert.ok(usedMib(row, last) <= enough, `${row.name}: short before its last pod`);
  assert.ok(usedMib(row, row.victim) <= enough, `${row.name}: short without its victim`);
  assert.ok(usedMib(row) > PODS_MIB - THRESHOLD_MIB, `${row.name}: never short`);
  assert.ok(usedMib(row) <= PODS_MIB - OWN_MIB - 20, `${row.name}: killed by the kernel`);
}
