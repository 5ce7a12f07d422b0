// A file system that stops answering wherever a pod can bring one, on real containerd.
import assert from "node:assert/strict";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Box } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { answerOf } from "../server/http.ts";
import { type BoxedAgent, conditionOf, type Manifest, manifest, STAY } from "../support/agent.ts";
import { TestFilesystem } from "../support/fuse/test-filesystem.ts";

const DEAD = "/srv/dead";
/** What anybody waits for an answer of the agent's at most; a blocked agent gives none at all. */
const ANSWER_LIMIT_MS = 8_000;

/** How long the file systems hang, and how many pods are started meanwhile. */
export interface HangOptions {
  readonly hangMs: number;
  readonly starts: number;
}

/** What was seen, for whoever runs it. */
export interface HangFigures {
  readonly startsBeforeMs: readonly number[];
  readonly startsDuringMs: readonly number[];
  readonly longestAnswerMs: number;
}

/** A pod that is probed all the time. */
function neighbour(name: string): Manifest {
  // A busy machine alone must not fail it; an agent that hangs does.
  const times = { periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 1 };
  const readinessProbe = { exec: { command: ["true"] }, ...times };
  const command = ["sh", "-c", `echo I am ${name}; ${STAY[2]}`];
  return manifest(name, {
    containers: [{ name: "main", image: TEST_IMAGE, command, readinessProbe }],
  });
}

/** A pod that uses a folder of the host, which is checked before it starts. */
function hostPathPod(name: string): Manifest {
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  return manifest(name, {
    volumes: [{ name: "data", hostPath: { path: DEAD, type: "Directory" } }],
    containers: [{ name: "main", image: TEST_IMAGE, command: [...STAY], volumeMounts }],
  });
}

function emptyDirPod(name: string): Manifest {
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  return manifest(name, {
    volumes: [{ name: "data", emptyDir: {} }],
    containers: [{ name: "main", image: TEST_IMAGE, command: [...STAY], volumeMounts }],
  });
}

/** Plays it on an agent without pods; throws where something is not as it must be. */
export async function playHungFilesystems(
  agent: BoxedAgent,
  { hangMs, starts }: HangOptions,
): Promise<HangFigures> {
  const { box } = agent;
  agent.apply("near.yaml", neighbour("near"));
  agent.apply("below.yaml", emptyDirPod("below"));
  agent.apply("root.yaml", emptyDirPod("root"));
  agent.apply("logged.yaml", neighbour("logged"));
  await agent.untilReady(4);
  const startsBeforeMs = await startPods(agent, "before", starts);
  await box.run(["mkdir", "-p", DEAD]);
  const filesystems = await mountAll(box, await placesOf(box));
  for (const filesystem of filesystems) await filesystem.become("hang");
  const hangsUntil = performance.now() + hangMs;

  for (let i = 0; i < 4; i += 1) agent.apply(`far-${i}.yaml`, hostPathPod(`far-${i}`));
  const asking = askAllTheTime(box);
  const startsDuringMs = await startPods(agent, "during", starts);
  await agent.until("a pod says what it waits for", () =>
    /FailedMount.*fuse at \/srv\/dead/.test(agent.log()),
  );
  await sleep(Math.max(0, hangsUntil - performance.now()));
  const longestAnswerMs = await asking.end();
  const log = agent.log().split("\n");
  const unwanted = /reason="NodeNotReady"|Readiness probe failed|Unhealthy/;
  // While a pod ends, a probe of it may be under way.
  const ended = /"(?:default\/)?(?:before|during)-\d/;
  assert.deepEqual(
    log.filter((line) => unwanted.test(line) && !ended.test(line)),
    [],
  );
  const health = await asked(box, "/healthz?verbose");
  assert.match(health, /\[\+\]thread-pool ok/);
  assert.match(health, /\[-\]file-workers .*fuse at \/srv\/dead/);

  for (const filesystem of filesystems) await filesystem.become("answer");
  await agent.untilReady(8, 90_000);
  for (const name of ["near", "below", "root", "logged", "far-0", "far-1", "far-2", "far-3"])
    agent.remove(`${name}.yaml`);
  for (const filesystem of filesystems.slice(1)) filesystem.end();
  await agent.until("all pods are gone", () => agent.statuses().size === 0, 90_000);
  for (const filesystem of filesystems) filesystem.end();
  return { startsBeforeMs, startsDuringMs, longestAnswerMs };
}

/** The host's folder, below an emptyDir, in the place of a volume's folder, in the place of a log folder. */
async function placesOf(box: Box): Promise<readonly string[]> {
  const find = async (pattern: string) =>
    (await box.run(["sh", "-c", `ls -d ${pattern}`])).trim().split("\n")[0] ?? "";
  const podFolder = async (name: string) => {
    const log = await find(`/var/log/pods/default_${name}-*`);
    return `/var/lib/kubelet/pods/${log.slice(log.lastIndexOf("_") + 1)}`;
  };
  const volumes = "volumes/kubernetes.io~empty-dir";
  const below = `${await podFolder("below")}/${volumes}/data/sub`;
  await box.run(["mkdir", "-p", below]);
  return [
    DEAD,
    below,
    `${await podFolder("root")}/${volumes}/data`,
    await find("/var/log/pods/default_logged-*/main"),
  ];
}

async function mountAll(box: Box, places: readonly string[]): Promise<readonly TestFilesystem[]> {
  const mounted: TestFilesystem[] = [];
  for (const place of places) {
    const server = box.spawn(TestFilesystem.command(place));
    mounted.push(
      await TestFilesystem.over(server, () => {
        void box.exec(["umount", "-l", place]).then(() => server.kill("SIGKILL"));
      }),
    );
  }
  return mounted;
}

/** Starts one pod after the other and ends it; milliseconds from manifest to Ready of each. */
async function startPods(agent: BoxedAgent, name: string, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const known = new Set(agent.statuses().keys());
    const found = () =>
      [...agent.statuses()].find(
        ([uid, { containerStatuses }]) =>
          !known.has(uid) && containerStatuses?.[0]?.containerID !== undefined,
      );
    agent.apply(`${name}.yaml`, neighbour(`${name}-${i}`));
    times.push(
      await agent.until(
        `${name}-${i} is Ready`,
        () => conditionOf(found()?.[1], "Ready") === "True",
      ),
    );
    const uid = found()?.[0] ?? "";
    agent.remove(`${name}.yaml`);
    await agent.until(`${name}-${i} is gone`, () => !agent.statuses().has(uid));
  }
  return times;
}

/** Asks for health, statistics and a neighbour's log until it is asked to end; each answer must come. */
function askAllTheTime(box: Box): { end(): Promise<number> } {
  let longest = 0;
  let on = true;
  const loop = async () => {
    while (on) {
      for (const path of ["/healthz", "/stats/summary", "/pods", await logPath(box)]) {
        const began = performance.now();
        await asked(box, path);
        longest = Math.max(longest, performance.now() - began);
      }
      await sleep(300);
    }
  };
  const running = loop();
  running.catch(() => {});
  return {
    end: async () => {
      on = false;
      await running;
      return longest;
    },
  };
}

async function logPath(box: Box): Promise<string> {
  const { hostname } = box.options;
  return `/containerLogs/default/near-${hostname ?? `nodelet-${box.id}`}/main`;
}

async function asked(box: Box, path: string): Promise<string> {
  const socketPath = box.path("/run/nodelet/agent.sock");
  const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
  const { status, body } = await answerOf(request({ socketPath, path, agent: false, signal }));
  assert.equal(status, 200, `${path}: ${body}`);
  return body;
}
