// The agent restarts under pods that are Ready, some of them only just: nobody may notice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Probe } from "../../src/api/generated/types.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { manifest, STAY } from "../support/agent.ts";
import { ProbedNode } from "./box-probes.ts";
import { PORTS } from "./box-targets.ts";

const PODS = 50;

/** Succeeds once for each container: what has started must not be asked to start again. */
const ONLY_ONCE = { exec: { command: ["sh", "-c", "test ! -e /tmp/once && touch /tmp/once"] } };

test(`two restarts of the agent under ${PODS} Ready pods: no condition flips, nothing is restarted`, async () => {
  await using node = await ProbedNode.start();
  const { agent } = node;
  const host = node.box.nodeAddress;
  const readiness: readonly Probe[] = [
    { tcpSocket: { host, port: PORTS.tcp } },
    { httpGet: { host, port: PORTS.http, path: "/", scheme: "HTTP" } },
    { exec: { command: ["true"] } },
  ];
  for (let i = 0; i < PODS; i += 1) {
    const containers = [
      {
        name: "main",
        image: TEST_IMAGE,
        command: [...STAY],
        startupProbe: { ...ONLY_ONCE, periodSeconds: 1, failureThreshold: 1 },
        readinessProbe: { ...readiness[i % readiness.length], periodSeconds: 2 },
        livenessProbe: { tcpSocket: { host, port: PORTS.tcp }, periodSeconds: 2 },
      },
    ];
    agent.apply(`p${i}.yaml`, manifest(`p${i}`, { containers }));
  }
  await agent.untilReady(PODS, 180_000);
  const essence = () =>
    [...agent.statuses()].map(([uid, { phase, conditions, containerStatuses }]) => ({
      uid,
      phase,
      conditions,
      containers: containerStatuses?.map(({ containerID, restartCount, ready, started }) => ({
        containerID,
        restartCount,
        ready,
        started,
      })),
    }));
  const before = essence();
  const decided = agent.decisions().length;
  for (const round of ["kill -9", "SIGTERM"]) {
    // A flip within the second of the last change would leave no mark.
    await sleep(1100);
    if (round === "kill -9") await agent.kill();
    else await agent.stop();
    await agent.start();
    await agent.until("every probe has run", async () => {
      const probes = await node.probes().catch(() => []);
      const running = probes.filter(({ kind }) => kind !== "startup");
      return running.length === 2 * PODS && running.every(({ counts }) => counts.successful >= 2);
    });
    // Times of transitions are part of it: a flip there and back shows too.
    assert.deepEqual(essence(), before, round);
    const startups = (await node.probes()).filter(({ kind }) => kind === "startup");
    assert.deepEqual(
      startups.filter(({ history }) => history.length > 0),
      [],
      "startup probes ran again",
    );
  }
  assert.deepEqual(
    agent
      .decisions()
      .slice(decided)
      .map(({ kind }) => kind)
      .filter((kind) => kind !== "adopt"),
    ["startAgent", "stopAgent", "startAgent"],
  );
});
