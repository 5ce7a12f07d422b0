// CPUs that a container has alone, on the real kernel: given, kept while the agent restarts, and given back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { ReportedCpu } from "../../src/present/shapes.ts";
import type { Box } from "../box/box.ts";
import type { BoxedAgent, Manifest } from "../support/agent.ts";
import { numbersOf } from "../support/cpu-list.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { withNode } from "../volumes/world.ts";
import { cpuState, kernelCpus, owning, STATIC, sharing } from "./cpu-owners.ts";
import { killAtRandom } from "./kill-at-random.ts";

/** How soon the others are moved off a CPU that somebody has alone, and may run there again afterwards. */
const MOVED_MS = 1_000 * TIMEOUT_FACTOR;
/** More are in the soak. */
const CYCLES = 4;

/** Pods of a node by the names of their manifests. */
class Pods {
  readonly #box: Box;
  readonly #agent: BoxedAgent;
  readonly #uids = new Map<string, string>();

  constructor(box: Box, agent: BoxedAgent) {
    this.#box = box;
    this.#agent = agent;
  }

  /** Applies a pod, waits until it runs and notes its UID. */
  async start(name: string, pod: Manifest): Promise<string> {
    const before = new Set(this.#agent.statuses().keys());
    this.#agent.apply(`${name}.yaml`, pod);
    await this.#agent.untilReady(before.size + 1);
    const uid = [...this.#agent.statuses().keys()].find((each) => !before.has(each)) ?? "";
    this.#uids.set(name, uid);
    return uid;
  }

  /** The CPUs that the kernel lets the pod use. */
  async cpusOf(name: string): Promise<readonly number[]> {
    const all = await kernelCpus(this.#box, this.#agent);
    return numbersOf(all.get(`${this.#uids.get(name)}/main`) ?? "");
  }

  /** Waits until the kernel lets the pods use these CPUs and no others. */
  async moved(names: readonly string[], cpus: readonly number[]): Promise<void> {
    const areThere = async () => {
      for (const name of names) if (!isDeepStrictEqual(await this.cpusOf(name), cpus)) return false;
      return true;
    };
    await this.#agent.until(`${names.join(", ")} on CPUs ${cpus}`, areThere, MOVED_MS);
  }
}

/** A line for each cgroup of the pod that has a CPU quota: its own, and those of its containers. */
async function quotasOf(box: Box, uid: string): Promise<string> {
  const named = `*pod${uid.replaceAll("-", "[-_]")}*`;
  const files = ["cpu.cfs_quota_us", "cpu.max"].map((file) => `-name ${file}`).join(" -o ");
  return await box.run([
    "sh",
    "-c",
    `find /sys/fs/cgroup/ -path '${named}' \\( ${files} \\) -exec cat {} +`,
  ]);
}

/** `nodelet get cpus`: CPUs by state. */
async function reportedCpus(agent: BoxedAgent): Promise<ReadonlyMap<string, readonly number[]>> {
  const text = await agent.command("get", "cpus", "-o", "json");
  const { items } = JSON.parse(text) as { readonly items: readonly ReportedCpu[] };
  const states = Map.groupBy(items, ({ state }) => state);
  return new Map([...states].map(([state, cpus]) => [state, cpus.map(({ id }) => id)]));
}

test("a Guaranteed pod has its CPU alone, others are moved off within a second and back after its end", () =>
  withNode(
    async ({ agent, box }) => {
      const pods = new Pods(box, agent);
      await pods.start("others", sharing("others"));
      const all = await pods.cpusOf("others");
      const uid = await pods.start("owner", owning("owner"));
      const own = await pods.cpusOf("owner");
      assert.equal(own.length, 1, `${own}`);
      const rest = all.filter((cpu) => cpu !== own[0]);
      assert.equal(rest.length, all.length - 1);
      await pods.moved(["others"], rest);
      const { policyName, defaultCpuSet, entries } = cpuState(box);
      const expected = { [uid]: { main: `${own[0]}` } };
      assert.deepEqual({ policyName, entries }, { policyName: "static", entries: expected });
      assert.deepEqual(numbersOf(defaultCpuSet), rest);
      const held = await reportedCpus(agent);
      assert.deepEqual(held.get("exclusive"), own);
      assert.deepEqual([...(held.get("reserved") ?? []), ...(held.get("shared") ?? [])], rest);
      assert.match(await quotasOf(box, uid), /^(?:(?:-1|max 100000)\n){2,}$/, "no quota");

      await agent.kill();
      await agent.start();
      await pods.moved(["owner"], own);
      await pods.start("later", sharing("later"));
      await pods.moved(["others", "later"], rest);

      agent.remove("owner.yaml");
      await agent.until("the owner is gone", () => !agent.statuses().has(uid));
      await pods.moved(["others", "later"], all);
      assert.equal(cpuState(box).entries, undefined);
    },
    { agent: { config: STATIC } },
  ));

test("an agent that is killed at random leaves no CPU with two owners", () => killAtRandom(CYCLES));
