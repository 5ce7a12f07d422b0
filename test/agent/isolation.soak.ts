/**
 * An hour (SOAK_MINUTES) on a busy node that has pods of the worst kinds: one that puts a folder in the place of
 * its log, one with a mount that hangs below its emptyDir, four on a file system that does not answer.
 */
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { AGENT_MALLOC, agentNodeFlags } from "../../src/outside/memory/memory.ts";
import { type Box, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { answerOf } from "../server/http.ts";
import { BoxedAgent, type Manifest, manifest, STAY } from "../support/agent.ts";
import { TestFilesystem } from "../support/fuse/test-filesystem.ts";

const MINUTES = Number(process.env["SOAK_MINUTES"] ?? 60);
const DEAD = "/srv/dead";
const HANG_MS = 120_000;
const ANSWER_MS = 60_000;
/** Beyond start-up, while caches fill. */
const WARM_UP_MS = 5 * 60_000;

/** How often the soak says how far it is. */
const PROGRESS_MS = 60_000;
/** With the flags of `agentNodeFlags`, as `bin/nodelet run` sets it: memory counts as users have it. */

/** Memory in MiB. */
interface Memory {
  readonly resident: number;
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
}

interface Sample {
  readonly atMs: number;
  readonly memory: Memory;
  readonly healthMs: number;
}

test(`a busy node with hostile pods stays Ready for ${MINUTES} minutes`, (t) =>
  withBox({ storeMib: 2048 }, async (box) => {
    const agent = await BoxedAgent.start(box, {
      config: "maxPods: 110",
      nodeFlags: agentNodeFlags(undefined),
      env: AGENT_MALLOC,
    });
    await box.run(["mkdir", "-p", DEAD]);
    const dead = await mount(box, DEAD);
    for (const [name, pod] of Object.entries(busyPods())) agent.apply(`${name}.yaml`, pod);
    for (const [name, pod] of Object.entries(hostilePods())) agent.apply(`${name}.yaml`, pod);
    const isThere = async () => (await folderOf(box, "below")) !== undefined;
    await agent.until("the emptyDir is there", isThere, 60_000);
    const below = `${await folderOf(box, "below")}/volumes/kubernetes.io~empty-dir/data/sub`;
    await box.run(["mkdir", "-p", below]);
    const inside = await mount(box, below);

    const began = performance.now();
    const samples: Sample[] = [];
    let reportedAt = 0;
    const leave = new AbortController();
    const hanging = hangByTurns([dead, inside], () => renewFarPods(agent), leave.signal);
    hanging.catch(() => {});
    while (performance.now() - began < MINUTES * 60_000) {
      const asked = performance.now();
      const health = await answer(box, "/healthz");
      const healthMs = performance.now() - asked;
      assert.equal(health.status, 200, health.body);
      await answer(box, "/stats/summary");
      const memory = memoryOf((await answer(box, "/metrics")).body);
      const sample = { atMs: performance.now() - began, memory, healthMs };
      samples.push(sample);
      if (sample.atMs - reportedAt >= PROGRESS_MS) {
        reportedAt = sample.atMs;
        console.error(JSON.stringify({ ...sample, restarted: restarted(agent) }));
      }
      assert.doesNotMatch(agent.log(), /reason="NodeNotReady"/);
      await sleep(5_000);
    }
    leave.abort();
    await hanging.catch(() => {});
    for (const filesystem of [dead, inside]) await filesystem.become("answer");
    report(t, samples, agent);
    if (MINUTES >= 3) assert.match(agent.log(), /FailedMount.*fuse at \/srv\/dead/);
    assert.equal(steady(agent).length, 15);
    assert.deepEqual(restarted(agent), [], agent.log().slice(-20_000));
  }));

function busyPods(): Readonly<Record<string, Manifest>> {
  const pods: Record<string, Manifest> = {};
  for (let i = 0; i < 15; i += 1) {
    const probe = { exec: { command: ["true"] }, periodSeconds: 2, timeoutSeconds: 10 };
    const steady = { name: "steady", image: TEST_IMAGE, command: [...STAY] };
    pods[`steady-${i}`] = manifest(`steady-${i}`, {
      containers: [{ ...steady, livenessProbe: probe, readinessProbe: probe }],
    });
  }
  for (let i = 0; i < 10; i += 1) {
    const command = ["sh", "-c", `sleep ${2 + i}; exit ${i % 2}`];
    pods[`crashing-${i}`] = manifest(`crashing-${i}`, {
      containers: [{ name: "main", image: TEST_IMAGE, command }],
    });
  }
  return pods;
}

function hostilePods(): Readonly<Record<string, Manifest>> {
  const replacesLog = manifest("replaces-log", {
    volumes: [{ name: "logs", hostPath: { path: "/var/log/pods" } }],
    containers: [
      {
        name: "main",
        image: TEST_IMAGE,
        command: [
          "sh",
          "-c",
          "sleep 1; cd /logs/default_replaces-log-*/main && for f in *.log; do rm -rf $f; mkdir $f; done; exit 3",
        ],
        terminationMessagePolicy: "FallbackToLogsOnError",
        volumeMounts: [{ name: "logs", mountPath: "/logs" }],
      },
    ],
  });
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  const containers = [{ name: "main", image: TEST_IMAGE, command: [...STAY], volumeMounts }];
  const pods: Record<string, Manifest> = {
    "replaces-log": replacesLog,
    below: manifest("below", { volumes: [{ name: "data", emptyDir: {} }], containers }),
  };
  for (let i = 0; i < 4; i += 1) {
    const hostPath = { path: DEAD, type: "Directory" };
    pods[`far-${i}`] = manifest(`far-${i}`, { volumes: [{ name: "data", hostPath }], containers });
  }
  return pods;
}

/** Restart counts of the pods that have no reason to be restarted. */
function steady(agent: BoxedAgent): readonly number[] {
  return [...agent.statuses().values()].flatMap(({ containerStatuses = [] }) =>
    containerStatuses
      .filter(({ name }) => name === "steady")
      .map(({ restartCount }) => restartCount),
  );
}

function restarted(agent: BoxedAgent): readonly number[] {
  return steady(agent).filter((count) => count > 0);
}

function memoryOf(metrics: string): Memory {
  const mib = (name: string) =>
    Math.round((Number(new RegExp(`^${name} (\\S+)`, "m").exec(metrics)?.[1]) / 2 ** 20) * 10) / 10;
  return {
    resident: mib("process_resident_memory_bytes"),
    heapUsed: mib("nodejs_heap_size_used_bytes"),
    heapTotal: mib("nodejs_heap_size_total_bytes"),
    external: mib("nodejs_external_memory_bytes"),
  };
}

/** Replaces the pods on the file system that does not answer: only a new pod asks for its volumes again. */
function renewFarPods(agent: BoxedAgent): void {
  const annotations = { renewed: `${performance.now()}` };
  for (const [name, pod] of Object.entries(hostilePods()))
    if (name.startsWith("far-"))
      agent.apply(`${name}.yaml`, { ...pod, metadata: { ...pod.metadata, annotations } });
}

async function hangByTurns(
  filesystems: readonly TestFilesystem[],
  onHang: () => void,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    for (const filesystem of filesystems) await filesystem.become("hang");
    onHang();
    await sleep(HANG_MS, undefined, { signal });
    for (const filesystem of filesystems) await filesystem.become("answer");
    await sleep(ANSWER_MS, undefined, { signal });
  }
}

async function mount(box: Box, place: string): Promise<TestFilesystem> {
  const server = box.spawn(TestFilesystem.command(place));
  return TestFilesystem.over(server, () => void server.kill("SIGKILL"));
}

/** The folder of a pod, found by its logs; undefined when there is none yet. */
async function folderOf(box: Box, name: string): Promise<string | undefined> {
  const { stdout } = await box.exec(["sh", "-c", `ls -d /var/log/pods/default_${name}-*`]);
  const [log = ""] = stdout.trim().split("\n");
  return log === "" ? undefined : `/var/lib/kubelet/pods/${log.slice(log.lastIndexOf("_") + 1)}`;
}

function answer(box: Box, path: string) {
  const socketPath = box.path("/run/nodelet/agent.sock");
  const signal = AbortSignal.timeout(20_000);
  return answerOf(request({ socketPath, path, agent: false, signal }));
}

function report(
  t: { diagnostic(text: string): void },
  samples: readonly Sample[],
  agent: BoxedAgent,
): void {
  const warm = samples.filter(({ atMs }) => atMs > WARM_UP_MS);
  const waits = samples.map(({ healthMs }) => healthMs).sort((a, b) => a - b);
  t.diagnostic(
    JSON.stringify({
      minutes: MINUTES,
      asked: samples.length,
      healthMsMedian: waits[Math.floor(waits.length / 2)],
      healthMsMost: waits.at(-1),
      healthMsMostAt: samples.find(({ healthMs }) => healthMs === waits.at(-1))?.atMs,
      memoryMibWarm: warm[0]?.memory,
      memoryMibEnd: warm.at(-1)?.memory,
      unanswered: agent.log().split('"file system does not answer"').length - 1,
      answeredAgain: agent.log().split('"file system answers again"').length - 1,
    }),
  );
}
