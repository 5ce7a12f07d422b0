// The API server is killed again and again while pods run, end and come.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "../../src/api/generated/types.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { apiServerObstacle } from "./apiserver.ts";
import { type ClusterNode, conditionOf, PODS, podOf, withNode } from "./cluster-node.ts";

const skip = apiServerObstacle() ?? false;
const ROUNDS = 10;
const STAYING = 18;
const ENDING = 12;
const LIMIT_MS = 180_000 * TIMEOUT_FACTOR;
/** How soon after the server is back it must be seen that the node follows its pods again. */
const RESUME_MS = 5_000 * TIMEOUT_FACTOR;

const job = (name: string, seconds: number, code: number): Pod =>
  podOf(name, {
    restartPolicy: "Never",
    containers: [
      { name: "main", image: TEST_IMAGE, command: ["sh", "-c", `sleep ${seconds}; exit ${code}`] },
    ],
  });

/** What must never be seen, watched from outside as any client of the API sees it. */
class Observer {
  readonly wrong: string[] = [];
  readonly #node: ClusterNode;
  readonly #ready = new Set<string>();
  readonly #ended = new Map<string, string>();
  #nodeWasReady = false;

  constructor(node: ClusterNode) {
    this.#node = node;
  }

  async poll(): Promise<void> {
    const list = await this.#node.get<{ items: readonly Pod[] }>(PODS);
    for (const pod of list?.items ?? []) this.#judge(pod);
    const node = await this.#node.node();
    if (node) this.#judgeNode(node);
  }

  #judge(pod: Pod): void {
    const name = pod.metadata?.name ?? "";
    const phase = pod.status?.phase ?? "";
    const ended = this.#ended.get(name);
    if (ended !== undefined && ended !== phase) this.wrong.push(`${name}: ${ended} -> ${phase}`);
    if (phase === "Succeeded" || phase === "Failed") {
      this.#ended.set(name, phase);
      return;
    }
    const ready = conditionOf(pod, "Ready") === "True";
    if (this.#ready.has(name) && !ready && pod.metadata?.deletionTimestamp === undefined)
      if (!name.startsWith("job-")) this.wrong.push(`${name} lost its Ready`);
    if (ready) this.#ready.add(name);
    for (const { restartCount } of pod.status?.containerStatuses ?? [])
      if (restartCount > 0) this.wrong.push(`${name} was restarted`);
  }

  #judgeNode(node: Node): void {
    const ready = conditionOf(node, "Ready") === "True";
    if (this.#nodeWasReady && !ready) this.wrong.push("the node lost its Ready");
    this.#nodeWasReady ||= ready;
  }
}

test("killed ten times under thirty pods: nothing is lost, doubled or flips", { skip }, () =>
  withNode(async (node, box) => {
    await node.untilNodeReady();
    const { server, agent } = node;
    const names: string[] = [];
    const create = async (pod: Pod) => {
      names.push(pod.metadata?.name ?? "");
      await server.must("POST", PODS, pod);
    };
    for (let i = 0; i < STAYING; i += 1) await create(podOf(`stay-${i}`));
    for (let i = 0; i < ENDING; i += 1)
      await create(job(`job-${i}`, 5 + i * 6, i % 3 === 0 ? 7 : 0));
    const observer = new Observer(node);
    await agent.until(
      "all that stay are Ready",
      async () => {
        await observer.poll();
        const list = await node.get<{ items: readonly Pod[] }>(PODS);
        const ready = (list?.items ?? []).filter((pod) => conditionOf(pod, "Ready") === "True");
        return (
          ready.filter(({ metadata }) => metadata?.name?.startsWith("stay")).length === STAYING
        );
      },
      LIMIT_MS,
    );
    const resumed: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await server.kill();
      await new Promise((resolve) => setTimeout(resolve, 500 + 300 * (round % 4)));
      await server.start();
      const began = performance.now();
      await create(podOf(`late-${round}`));
      await agent.until("a pod is seen", async () => {
        await observer.poll();
        return (await node.pod(`late-${round}`))?.status?.startTime !== undefined;
      });
      resumed.push(Math.round(performance.now() - began));
    }
    await agent.until(
      "every job has ended in the API",
      async () => {
        await observer.poll();
        const list = await node.get<{ items: readonly Pod[] }>(PODS);
        const ended = (list?.items ?? []).filter(({ status }) =>
          ["Succeeded", "Failed"].includes(status?.phase ?? ""),
        );
        return ended.length === ENDING;
      },
      LIMIT_MS,
    );
    for (let round = 0; round < ROUNDS; round += 1) await node.untilReady(`late-${round}`);
    for (let i = 0; i < ENDING; i += 1)
      assert.equal(
        (await node.pod(`job-${i}`))?.status?.phase,
        i % 3 === 0 ? "Failed" : "Succeeded",
      );
    assert.deepEqual(observer.wrong, []);
    const running = (await box.run(["ctr", "-n", "k8s.io", "tasks", "list"]))
      .split("\n")
      .filter((line) => line.includes("RUNNING")).length;
    assert.equal(running, 2 * (STAYING + ROUNDS), "one sandbox and one container for each pod");
    assert.ok(
      resumed.every((ms) => ms < RESUME_MS),
      `pods were seen after ${resumed.join(", ")} ms`,
    );
    console.log(`pods seen after the server was back: ${resumed.join(", ")} ms`);
  }),
);
