// Commands that change a cluster are killed at random moments of their phases (NODELET_KILLS of each, from NODELET_KILLS_FROM on,
// 0.5 for the second half of each); the next run ends well, and nothing is lost.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { joinWire } from "../../tools/conformance/lab/wire.ts";
import type { Running } from "../cli/node-box.ts";
import { EARLIER, LATEST } from "./images.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { restarts } from "./silence.ts";
import { answered, serveWeb, startClient } from "./web.ts";

const skip = controlPlaneObstacle();
const KILLS = Number(process.env["NODELET_KILLS"] ?? 3);
/** The share of a command's lines that the first kill leaves out. */
const FROM = Number(process.env["NODELET_KILLS_FROM"] ?? 0);
const SNAPSHOT = "/run/tmp/snapshot.db";

/** A command that is killed, and when it wrote each of its lines in its last run without a kill, in milliseconds. */
interface Victim {
  readonly argv: readonly string[];
  linesMs: readonly number[];
}

const POLL_MS = 20;
/** The last part of a phase is left out, since the next one may begin earlier this time. */
const SHARE = 0.9;
/** When kills fall as long as no run is known. */
const FIRST_MS = 30_000;

const lines = (text: string): number => text.split("\n").length - 1;

/** Milliseconds after `began` at which each line was there, until the command ends or is to be killed. */
async function follow(
  running: Running,
  began: number,
  isEnough: (seen: readonly number[]) => boolean,
): Promise<readonly number[]> {
  const seen: number[] = [];
  for (;;) {
    while (seen.length < lines(running.text)) seen.push(performance.now() - began);
    if (!running.process.running || isEnough(seen)) return seen;
    await sleep(POLL_MS);
  }
}

/**
 * Starts the command and kills it with SIGKILL at a random moment of a phase: after the line that begins it, before the
 * next. Phases come one after the other from kill to kill, spread over the whole run. What ended before is reported as that.
 */
async function killed(
  t: TestContext,
  machine: ClusterMachine,
  victim: Victim,
  count: number,
): Promise<void> {
  const { linesMs } = victim;
  const share = FROM + (1 - FROM) * (count / KILLS);
  const phase = Math.floor(share * Math.max(linesMs.length - 1, 0));
  const [from = 0, to = from + FIRST_MS] = linesMs.slice(phase, phase + 2);
  const laterMs = Math.random() * SHARE * (to - from);
  const began = performance.now();
  const running = machine.node.start(victim.argv);
  const isDue = (seen: readonly number[]): boolean => {
    const since = linesMs.length === 0 ? 0 : seen[phase];
    return since !== undefined && performance.now() - began >= since + laterMs;
  };
  await follow(running, began, isDue);
  const isOver = !running.process.running;
  if (!isOver) await running.process.kill("SIGKILL");
  await running.process.exited;
  const after = ((performance.now() - began) / 1000).toFixed(1);
  const last = running.text.trimEnd().split("\n").at(-1) ?? "";
  const text = `${victim.argv[0]} ${isOver ? "had ended" : "killed"} after ${after} s: ${last.slice(0, 100)}`;
  t.diagnostic(text);
  // The diagnostics of a test are printed at its end, which may be an hour later.
  console.error(text);
}

/** Runs it to its end, which says when its phases begin. */
async function ended(machine: ClusterMachine, victim: Victim): Promise<void> {
  const began = performance.now();
  const running = machine.node.start(victim.argv);
  victim.linesMs = await follow(running, began, () => false);
  assert.equal((await running.process.exited).code, 0, running.text);
}

test(`up, killed ${KILLS} times, and upgrade`, { skip }, async (t) => {
  await using machine = await clusterMachine();
  const before = await machine.node.picture();
  const up = { argv: machine.upCommand(`--kubernetes-version=${EARLIER}`), linesMs: [] };
  const upgrade = {
    argv: machine.upgradeCommand(`--kubernetes-version=${LATEST}`, "--yes"),
    linesMs: [],
  };
  for (let count = 0; count < KILLS; count += 1) {
    await killed(t, machine, up, count);
    await ended(machine, up);
    await serveWeb(machine, 2);
    await startClient(machine, "client");
    await answered(machine, "client");
    const calm = await restarts(machine, "app=web");
    await killed(t, machine, upgrade, count);
    await ended(machine, upgrade);
    const image = "{.items[*].spec.containers[0].image}";
    const images = await machine.kubectl(
      ...["get", "pods", "-nkube-system", "-ltier=control-plane,component!=etcd"],
      `-ojsonpath=${image}`,
    );
    for (const name of images.trim().split(" ")) assert.ok(name.endsWith(`:${LATEST}`), images);
    await answered(machine, "client");
    assert.equal(await restarts(machine, "app=web"), calm);
    const down = await machine.nodelet(["down"]);
    assert.equal(down.code, 0, down.stdout + down.stderr);
    assert.deepEqual(await machine.node.changesSince(before), []);
  }
});

test(`join and restore, killed ${KILLS} times each`, { skip }, async (t) => {
  await using one = await clusterMachine({ hostname: "one" });
  await using two = await clusterMachine({ hostname: "two", address: "198.51.100.11" });
  await joinWire([one.node.box, two.node.box]);
  const up = await one.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  await serveWeb(one, 2);
  await startClient(one, "client");
  await answered(one, "client");
  const calm = await restarts(one, "app=web");
  const before = await two.node.picture();
  const join = { argv: two.joinCommand(await one.joinWords()), linesMs: [] };
  for (let count = 0; count < KILLS; count += 1) {
    await killed(t, two, join, count);
    // A Node object that was made already is not Ready again before the next join asks.
    await ended(two, join);
    await one.kubectl("wait", "--for=condition=Ready", "node/two", "--timeout=120s");
    const left = await two.nodelet(["leave", "--yes"]);
    assert.equal(left.code, 0, left.stdout + left.stderr);
    assert.deepEqual(await two.node.changesSince(before), []);
    assert.equal((await one.kubectl("get", "nodes", "-oname")).trim(), "node/one");
  }

  await one.kubectl("create", "configmap", "kept");
  const saved = await one.nodelet(["etcd", "snapshot", SNAPSHOT]);
  assert.equal(saved.code, 0, saved.stderr);
  const restore = { argv: ["etcd", "restore", SNAPSHOT], linesMs: [] };
  for (let count = 0; count < KILLS; count += 1) {
    await one.kubectl("create", "configmap", "later");
    await killed(t, one, restore, count);
    await ended(one, restore);
    await one.kubectl("get", "configmap", "kept");
    await assert.rejects(one.kubectl("get", "configmap", "later"), /NotFound/);
    await answered(one, "client");
    assert.equal(await restarts(one, "app=web"), calm);
  }
});
