// Fifty containers in one pod, each with a liveness probe a second and a second to answer: none is restarted.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Probe } from "../../src/api/generated/types.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { manifest } from "../support/agent.ts";
import { ProbedNode } from "./box-probes.ts";
import { PORTS } from "./box-targets.ts";

const CONTAINERS = 50;
/** Two minutes are what counts; a run of all tests takes less. */
const SECONDS = Number(process.env["PROBE_SECONDS"] ?? 20);

let node: ProbedNode;
before(async () => {
  node = await ProbedNode.start();
});
after(() => node[Symbol.asyncDispose]());

const KINDS: Readonly<Record<string, (address: string) => Probe>> = {
  http: (host) => ({ httpGet: { host, port: PORTS.http, path: "/", scheme: "HTTP" } }),
  tcp: (host) => ({ tcpSocket: { host, port: PORTS.tcp } }),
  grpc: () => ({ grpc: { port: PORTS.grpc } }),
  exec: () => ({ exec: { command: ["true"] } }),
};

for (const [kind, handler] of Object.entries(KINDS)) {
  test(`${CONTAINERS} containers probed by ${kind} for ${SECONDS} s`, async () => {
    const livenessProbe = {
      ...handler(node.box.nodeAddress),
      periodSeconds: 1,
      timeoutSeconds: 1,
      failureThreshold: 3,
    };
    const containers = Array.from({ length: CONTAINERS }, (_, i) => ({
      name: `c${i}`,
      image: TEST_IMAGE,
      command: ["sleep", "2147483647"],
      livenessProbe,
    }));
    node.agent.apply(
      "crowd.yaml",
      manifest("crowd", { hostNetwork: true, terminationGracePeriodSeconds: 1, containers }),
    );
    await node.agent.untilReady(1, 180_000);
    await sleep(2000);
    const cpuBefore = await node.agentCpuMs();
    const attemptsBefore = await attempts();
    const began = performance.now();
    await sleep(SECONDS * 1000);
    const seconds = (performance.now() - began) / 1000;
    const cpu = ((await node.agentCpuMs()) - cpuBefore) / seconds;
    const perSecond = ((await attempts()) - attemptsBefore) / seconds;
    const probes = await node.probes();
    const failed = probes.reduce((sum, { counts }) => sum + counts.failed + counts.unknown, 0);
    const took = probes
      .flatMap(({ history }) => history.map(({ durationMs }) => durationMs))
      .toSorted((a, b) => a - b);
    const at = (share: number) => (took[Math.floor(took.length * share)] ?? 0).toFixed(1);
    console.log(
      `${kind}: ${perSecond.toFixed(1)} attempts/s, ${failed} failed; took p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; agent ${cpu.toFixed(0)} millicores`,
    );
    const statuses = node.agent.status()?.containerStatuses ?? [];
    assert.equal(statuses.length, CONTAINERS);
    const restarted = statuses
      .filter(({ restartCount }) => restartCount !== 0)
      .map(({ name, restartCount, lastState }) => ({ name, restartCount, lastState }));
    const reported = reportOf(restarted.map(({ name }) => name));
    assert.ok(restarted.length === 0, `${JSON.stringify(restarted)}\n${reported}`);
    assert.equal(probes.length, CONTAINERS);
    node.agent.remove("crowd.yaml");
    // The shim of containerd 1.6 reports one end a second when over 32 come at once while it starts a command.
    await node.agent.until("it is gone", () => node.agent.statuses().size === 0, 240_000);
  });
}

/** What the agent reported of containers that did not go on. */
function reportOf(names: readonly string[]): string {
  const isRelevant = (line: string) =>
    /Unhealthy|Killing|BackOff|Failed|runtime/.test(line) &&
    names.some((name) => line.includes(`{${name}}`));
  const lines = node.agent.log().split("\n").filter(isRelevant);
  return `restarted: ${names.join(" ")}\n${lines.join("\n")}`;
}

async function attempts(): Promise<number> {
  const probes = await node.probes();
  return probes.reduce(
    (sum, { counts }) => sum + counts.successful + counts.failed + counts.unknown,
    0,
  );
}
