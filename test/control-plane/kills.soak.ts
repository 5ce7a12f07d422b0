// Commands that change a cluster are killed at random moments (NODELET_KILLS of each); the next run ends well, and nothing is lost.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { joinWire } from "../../tools/conformance/lab/wire.ts";
import type { ExecResult } from "../box/box.ts";
import { EARLIER, LATEST } from "./images.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { restarts } from "./silence.ts";
import { answered, serveWeb, startClient } from "./web.ts";

const skip = controlPlaneObstacle();
const KILLS = Number(process.env["NODELET_KILLS"] ?? 3);
const SNAPSHOT = "/run/tmp/snapshot.db";

/** How long a run without a kill takes: kills fall anywhere in that time. */
interface Victim {
  readonly argv: readonly string[];
  usualMs: number;
}

/** Share of the usual time in which kills fall; a run after a kill is slower, since it cleans first. */
const SHARE = 0.8;

/** Starts the command and kills it at a random moment of its usual time, with SIGKILL; a command that ends before was too fast. */
async function killed(t: TestContext, machine: ClusterMachine, victim: Victim): Promise<void> {
  const running = machine.node.start(victim.argv);
  const afterMs = Math.random() * SHARE * victim.usualMs;
  await Promise.race([sleep(afterMs), running.process.exited]);
  const last = running.text.trimEnd().split("\n").at(-1) ?? "";
  const isOver = !running.process.running;
  if (!isOver) await running.process.kill("SIGKILL");
  await running.process.exited;
  t.diagnostic(
    `${victim.argv[0]} ${isOver ? "had ended" : "killed"} after ${(afterMs / 1000).toFixed(1)} s: ${last.slice(0, 100)}`,
  );
}

/** Runs it to its end, which says how long that usually takes. */
async function ended(machine: ClusterMachine, victim: Victim): Promise<ExecResult> {
  const began = performance.now();
  const result = await machine.nodelet(victim.argv);
  victim.usualMs = (victim.usualMs + performance.now() - began) / 2;
  assert.equal(result.code, 0, result.stdout + result.stderr);
  return result;
}

test(`up, killed ${KILLS} times, and upgrade`, { skip }, async (t) => {
  await using machine = await clusterMachine();
  const before = await machine.node.picture();
  const up = { argv: machine.upCommand(`--kubernetes-version=${EARLIER}`), usualMs: 60_000 };
  const upgrade = {
    argv: machine.upgradeCommand(`--kubernetes-version=${LATEST}`, "--yes"),
    usualMs: 60_000,
  };
  for (let count = 0; count < KILLS; count += 1) {
    await killed(t, machine, up);
    await ended(machine, up);
    await serveWeb(machine, 2);
    await startClient(machine, "client");
    await answered(machine, "client");
    const calm = await restarts(machine, "app=web");
    await killed(t, machine, upgrade);
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
  const join = { argv: two.joinCommand(await one.joinWords()), usualMs: 15_000 };
  for (let count = 0; count < KILLS; count += 1) {
    await killed(t, two, join);
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
  const restore = { argv: ["etcd", "restore", SNAPSHOT], usualMs: 60_000 };
  for (let count = 0; count < KILLS; count += 1) {
    await one.kubectl("create", "configmap", "later");
    await killed(t, one, restore);
    await ended(one, restore);
    await one.kubectl("get", "configmap", "kept");
    await assert.rejects(one.kubectl("get", "configmap", "later"), /NotFound/);
    await answered(one, "client");
    assert.equal(await restarts(one, "app=web"), calm);
  }
});
