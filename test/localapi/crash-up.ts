/** A crash series of `nodelet up` in a box. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import type { CrashFigures } from "./crash-series.ts";

const SERIES = join(import.meta.dirname, "up-series.ts");
/** A round takes two to three seconds. */
const ROUND_MS = 30_000;
const READY_WITHIN_MS = 60_000;
const POLL_MS = 200;

/**
 * Kills supervisor and agent so many times while the API writes, every fifth time containerd as well. Throws at the
 * first write that was acknowledged and is lost. The node is Ready at the end, and `down` takes all of it back.
 */
export async function killUpAgainAndAgain(rounds: number): Promise<CrashFigures> {
  await using node = await bareMachine();
  // Checks that the machine can be a node at all, and builds the program where it is not built yet.
  await node.run("up", "--check");
  const reported = await node.box.run([process.execPath, SERIES, `${rounds}`], {
    timeoutMs: 60_000 + rounds * ROUND_MS,
  });
  await readyNode(node);
  await node.run("down");
  return JSON.parse(reported.trim().split("\n").at(-1) ?? "") as CrashFigures;
}

/** The series ends as soon as the local API answers: the agent's socket and the node's state come after it. */
async function readyNode(node: NodeBox): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const { stdout, stderr } = await node.nodelet(["get", "nodes"]);
    if (/\sReady\s/.test(stdout)) return;
    assert.ok(performance.now() < deadline, `the node is not Ready:\n${stdout}${stderr}`);
    await sleep(POLL_MS);
  }
}
