// Two agents on one machine with one container runtime: on the same root folder the second is refused; on another one neither
// takes the other's pods for orphans.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Box, withBox } from "../box/box.ts";
import { BoxedAgent, manifest } from "../support/agent.ts";
import { PROGRAM } from "../support/program.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const ROOT = "/var/lib/kubelet";
const OTHER_ROOT = "/var/lib/kubelet-second";
const CONFIG = "/etc/second.yaml";
const MANIFESTS = "/etc/second";
const PODS = 4;
/** An orphan has a grace period of one second; a listing of the runtime comes every second. */
const WATCHED_MS = 12_000;
const REFUSED_MS = 30_000 * TIMEOUT_FACTOR;

/** An agent that serves nothing, so that no port and no socket keeps it from starting. */
function writeSecond(box: Box): void {
  box.write(
    CONFIG,
    `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
staticPodPath: ${MANIFESTS}
enableServer: false
`,
  );
}

const second = (root: string) => [
  process.execPath,
  PROGRAM,
  "run",
  "--config",
  CONFIG,
  "--root-dir",
  root,
];

/** Containers that run, as the runtime has them. */
async function tasks(box: Box): Promise<readonly string[]> {
  return (await box.ctr("tasks", "list"))
    .split("\n")
    .filter((line) => line.includes("RUNNING"))
    .toSorted();
}

async function startedPods(box: Box, agent: BoxedAgent): Promise<readonly string[]> {
  for (let i = 0; i < PODS; i += 1) agent.apply(`p${i}.yaml`, manifest(`p${i}`));
  await agent.untilReady(PODS);
  return await tasks(box);
}

test("a second agent on the root folder of one that runs is refused; no pod notices, and a killed one's root is free", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const running = await startedPods(box, agent);
    await box.run(["mkdir", "-p", MANIFESTS]);
    writeSecond(box);
    await box.run(["ln", "-s", ROOT, "/etc/linked"]);
    for (const root of [ROOT, "/etc/linked"]) {
      const refused = await box.exec(second(root), { timeoutMs: REFUSED_MS });
      assert.equal(refused.code, 2, refused.stderr);
      assert.match(refused.stderr, /another agent is running on the root folder/);
      assert.match(refused.stderr, /process \d+, node \S+, since \d{4}-/);
    }
    assert.deepEqual(await tasks(box), running);
    // What a killed agent has left does not keep the next one from starting.
    await agent.kill();
    await agent.start();
    await agent.untilReady(PODS);
    assert.deepEqual(await tasks(box), running);
    await agent.stop();
    await agent.start();
    assert.deepEqual(await tasks(box), running);
  }));

test("two agents with root folders of their own on one runtime: neither ends the other's pods", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const first = await startedPods(box, agent);
    writeSecond(box);
    await box.run(["mkdir", "-p", MANIFESTS]);
    const pod = (name: string) =>
      JSON.stringify({ apiVersion: "v1", kind: "Pod", ...manifest(name) });
    // The same name as one of the first agent's, and one of its own.
    box.write(`${MANIFESTS}/p0.json`, pod("p0"));
    box.write(`${MANIFESTS}/other.json`, pod("other"));
    const started = box.spawnLogged("second", second(OTHER_ROOT));
    await agent.until(
      "the second agent's pods run",
      async () => (await tasks(box)).length === first.length + 4,
    );
    const all = await tasks(box);
    // While both run, each has new pods that the other one finds.
    agent.apply("late.yaml", manifest("late"));
    await agent.untilReady(PODS + 1);
    const more = await tasks(box);
    assert.equal(more.length, all.length + 2);
    await sleep(WATCHED_MS);
    assert.deepEqual(await tasks(box), more);
    // An agent that is started again while the other one runs.
    await agent.kill();
    await agent.start();
    await sleep(WATCHED_MS);
    assert.deepEqual(await tasks(box), more);
    // The first agent is away for a time, and the second is started meanwhile: it may come back.
    await agent.kill();
    await started.kill("SIGKILL");
    await started.exited;
    const again = box.spawnLogged("second", second(OTHER_ROOT));
    await sleep(WATCHED_MS);
    assert.deepEqual(await tasks(box), more);
    await agent.start();
    await sleep(WATCHED_MS);
    assert.deepEqual(await tasks(box), more);
    // What the agent's own sources dropped still goes.
    agent.remove("late.yaml");
    await agent.until(
      "the removed pod is gone",
      async () => (await tasks(box)).length === all.length,
    );
    await again.kill("SIGTERM");
    await again.exited;
  }));
