// A fork bomb in a pod, held by `podPidsLimit`: the node runs short of process numbers, and the bomb's pod goes. The agent
// and the pod beside it answer throughout.
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { answerOf } from "../server/http.ts";
import { STAY } from "../support/stay.ts";
import { EvictionNode, podSpec } from "./node.ts";

/** Enough that what other programs of the machine start meanwhile makes no difference. */
const BOMB_TASKS = 1_500;
const THRESHOLD_TASKS = 750;
const ANSWER_WITHIN_MS = 5_000;
const PRESSURE = "PIDPressure";
const PORT = 8099;
const LIMIT = `podPidsLimit: ${BOMB_TASKS}`;

/** Each copy leaves a process behind and starts two more, until the kernel refuses; what is there then stays. */
const BOMB = "b() { sleep 3600 & b & b & wait; }; b 2>/dev/null & exec sleep 3600";

/** Asks again and again until it is stopped; resolves with the longest time that an answer took. */
async function askOn(ask: () => Promise<void>, stop: AbortSignal): Promise<number> {
  let longest = 0;
  while (!stop.aborted) {
    const began = performance.now();
    await ask();
    longest = Math.max(longest, performance.now() - began);
    await sleep(100);
  }
  return longest;
}

async function ok(socketPath: string, path: string): Promise<void> {
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const { status, body } = await answerOf(request({ socketPath, path, agent: false, signal }));
  assert.equal(status, 200, body);
}

/** Process numbers that there are, and that are in use, as the node says. */
async function rlimit(node: EvictionNode) {
  const { node: shown } = JSON.parse(await node.asked("/stats/summary")) as {
    readonly node: { readonly rlimit: { readonly maxpid: number; readonly curproc: number } };
  };
  return shown.rlimit;
}

test("a fork bomb: its pod goes, the agent and its neighbours answer throughout", async () => {
  await using node = await EvictionNode.start({ config: LIMIT });
  const { maxpid, curproc } = await rlimit(node);
  await node.restart(
    `${LIMIT}\nevictionHard: {pid.available: "${maxpid - curproc - THRESHOLD_TASKS}"}`,
  );
  await node.create("neighbour", podSpec(`exec serve ${PORT}`));
  await node.create(
    "busy",
    podSpec(`i=0; while [ $i -lt 20 ]; do sleep 3600 & i=$((i + 1)); done; ${STAY}`),
  );
  await node.untilReady("neighbour", "busy");
  const lives = await node.lives();
  assert.equal(await node.condition(PRESSURE), "False");

  const over = new AbortController();
  const served = await node.box.forward(PORT, "127.0.0.1");
  const answers = Promise.all([
    askOn(() => ok(served, "/"), over.signal),
    askOn(() => ok(node.box.path("/run/nodelet/agent.sock"), "/healthz"), over.signal),
  ]);
  answers.catch(() => {});
  await node.create("bomb", podSpec(BOMB, { resources: { limits: { cpu: "500m" } } }));
  const { status } = await node.untilEvicted("bomb");
  assert.match(
    status?.message ?? "",
    /^The node was low on resource: pids\. Threshold quantity: \d+k?, available: \d+k?\. $/,
  );
  await node.untilCondition(PRESSURE, "True");
  await node.untilCondition(PRESSURE, "False");
  over.abort();
  const [neighbourMs = 0, agentMs = 0] = await answers;
  assert.deepEqual(await node.evicted(), ["bomb"], "one pod goes, and no second one");
  assert.deepEqual(await node.lives(), lives, "the others run on");
  const shown = [neighbourMs, agentMs].map(Math.round);
  console.log(`# longest answer beside the bomb: neighbour ${shown[0]} ms, agent ${shown[1]} ms`);
});
