/** Random deaths under many pods, then an examination of what is left. Same seed, same choices; timing is the machine's. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { decodeFlight } from "../../src/pipeline/pods/flight/flight-text.ts";
import { replayFlight } from "../../src/pipeline/pods/flight/replay.ts";
import { type ContainerdVersion, withBox } from "../box/box.ts";
import { faultsOf, runtimeDeaths, startedTwice } from "./chaos-examination.ts";
import { kindNamed, NOTES, OBJECTS } from "./chaos-kinds.ts";
import { Monkey } from "./chaos-monkey.ts";
import { ChaosNode } from "./chaos-node.ts";
import { leftoversOf, pictureOf } from "./leftovers.ts";

/** How much chaos. */
export interface ChaosOptions {
  readonly pods: number;
  readonly durationMs: number;
  readonly seed: number;
  /** Whether containerd is killed too. */
  readonly runtimeDies: boolean;
  /** Default the machine's. */
  readonly containerd?: ContainerdVersion;
}

/** How long the node may take to put everything in order. */
const SETTLE_MS = 180_000;
const CHECK_MS = 500;
/** Order must last. */
const STEADY_MS = 4_000;

/**
 * Runs the pods, strikes, waits for order, removes the pods and compares the node with what it was before. Throws with
 * every fault that does not go away; gives the number of strokes by what was struck.
 */
export async function runChaos(options: ChaosOptions): Promise<Readonly<Record<string, number>>> {
  const { pods, durationMs, seed, runtimeDies, containerd = "machine" } = options;
  return await withBox({ storeMib: 2048, containerd }, async (box) => {
    const began = performance.now();
    const story: string[] = [`seed ${seed}`];
    const log = (text: string) => {
      story.push(`${((performance.now() - began) / 1000).toFixed(1)} ${text}`);
    };
    await box.run(["mkdir", "-p", NOTES]);
    const node = await ChaosNode.start(box);
    for (const [what, object] of Object.entries(OBJECTS))
      await node.ask("POST", `/api/v1/namespaces/default/${what}`, object);
    const monkey = new Monkey(node, { seed, runtimeDies }, log);
    try {
      await warmUp(node, monkey);
      const before = await pictureOf(box);
      for (let n = 0; n < pods; n += 1) await monkey.add();
      await sleep(2_000);
      log("begin");
      await monkey.strike(durationMs);
      log("end");
      await untilInOrder(async () => {
        // A name is free again only when the pod that had it is gone.
        await monkey.reconcile();
        return await faultsOf(node, monkey);
      });
      log("in order");
      assert.deepEqual(await startedTwice(node, monkey), [], "started a second time");
      assert.deepEqual(await decidedOtherwise(node, seed), [], "a replay decides otherwise");
      await monkey.removeAll();
      await untilInOrder(async () => {
        return await leftoversOf(box, before, runtimeDeaths(monkey));
      });
      return Object.fromEntries(monkey.strokes);
    } catch (error) {
      log(`failed: ${error}`);
      keep(node, story, seed);
      throw error;
    }
  });
}

/** Steps of the agent's recording at which its functions do not decide again what was decided; such a recording is kept. */
async function decidedOtherwise({ agent }: ChaosNode, seed: number): Promise<readonly unknown[]> {
  const recording = await agent.command("record", "dump");
  const { steps } = decodeFlight(recording);
  assert.ok(steps.length > 0, "nothing was recorded");
  const departing = [...replayFlight(steps)].filter(({ departure }) => departure);
  if (departing.length > 0) {
    const file = fileOf(seed, "jsonl");
    writeFileSync(file, recording);
    console.log(`recording: ${file}`);
  }
  return departing.slice(0, 3);
}

/** One pod of each class comes and goes, so that what the first pods make for good is there. */
async function warmUp(node: ChaosNode, monkey: Monkey): Promise<void> {
  for (const name of ["web", "memory"]) await monkey.add(kindNamed(name));
  await untilInOrder(() => faultsOf(node, monkey), 0);
  await monkey.removeAll();
  await untilInOrder(() => faultsOf(node, monkey), 0);
}
/** Waits until there are no faults for a while; throws with those that stay. */
async function untilInOrder(
  faults: () => Promise<readonly string[]>,
  steadyMs = STEADY_MS,
): Promise<void> {
  const deadline = performance.now() + SETTLE_MS;
  let since: number | undefined;
  for (;;) {
    const found = await faults().catch((error: unknown) => [`check failed: ${error}`]);
    const now = performance.now();
    since = found.length === 0 ? (since ?? now) : undefined;
    if (since !== undefined && now - since >= steadyMs) return;
    if (now > deadline) throw new Error(`not in order after all:\n${found.join("\n")}`);
    await sleep(CHECK_MS);
  }
}

/** Keeps what happened for whoever examines a failure. */
function keep(node: ChaosNode, story: readonly string[], seed: number): void {
  const file = fileOf(seed, "log");
  const decisions = node.agent.decisions().map((decision) => JSON.stringify(decision));
  const parts = [story, ["--- decisions"], decisions, [node.box.logs()]];
  writeFileSync(file, parts.map((lines) => lines.join("\n")).join("\n"));
  console.log(`what happened: ${file}`);
}

function fileOf(seed: number, extension: string): string {
  return join(tmpdir(), `nodelet-chaos-${seed}.${extension}`);
}
