// Probes on a runtime that takes its time: what it takes to start a container or a command is nobody's failure.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container } from "../../src/api/generated/types.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { manifest, STAY } from "../support/agent.ts";
import { slowRunc } from "../support/slow-runc.ts";
import { ProbedNode } from "./box-probes.ts";

/** Longer than the period of the probes and than what a command is given. */
const START_SECONDS = 1.6;

test("a container that is long to start has failed no probe meanwhile", async () => {
  await using node = await ProbedNode.start();
  const { agent, box } = node;
  await slowRunc(box, "create", "sleep 3");
  const attempts = { exec: { command: ["true"] }, periodSeconds: 1, failureThreshold: 1000 };
  for (const kind of ["liveness", "startup"]) {
    const main = {
      name: "main",
      image: TEST_IMAGE,
      command: [...STAY],
      [`${kind}Probe`]: attempts,
    };
    agent.apply(`${kind}.yaml`, manifest(kind, { containers: [main] }));
  }
  await agent.until("both are made", () => agent.log().split('reason="Created"').length === 3);
  // Somebody else's container: the agent observes everything there is, also what is yet to start.
  await box.ctr("run", "--rm", TEST_IMAGE, "foreign", "true");
  const mains = () =>
    [...agent.statuses().values()].map(({ containerStatuses: [main] = [] }) => main);
  await agent.until("both run", () => mains().filter((main) => main?.started).length === 2);
  await sleep(2000);
  assert.deepEqual(
    mains().map((main) => [main?.started, main?.restartCount]),
    [
      [true, 0],
      [true, 0],
    ],
  );
  assert.equal(agent.log().includes('reason="Killing"'), false);
});

test("a command that is long to start has its second from then on, and no more", async () => {
  await using node = await ProbedNode.start();
  await slowRunc(node.box, "exec", `sleep ${START_SECONDS}`);
  const probed = (name: string, command: readonly string[]): Container => ({
    name,
    image: TEST_IMAGE,
    command: [...STAY],
    livenessProbe: {
      exec: { command },
      periodSeconds: 1,
      timeoutSeconds: 1,
      failureThreshold: 1000,
    },
  });
  // A pod each: the runtime starts the commands of one pod one after the other.
  for (const [name, command] of [
    ["quick", ["true"]],
    ["hangs", ["sleep", "600"]],
  ] as const)
    node.agent.apply(`${name}.yaml`, manifest(name, { containers: [probed(name, command)] }));
  await node.agent.untilReady(2);
  const counts = async (name: string) => (await node.probe(name, "liveness")).counts;
  await node.agent.until(
    "both were probed",
    async () => (await counts("quick")).successful >= 4 && (await counts("hangs")).failed >= 3,
  );
  await sleep(500);
  assert.equal((await counts("quick")).failed, 0);
  assert.equal((await counts("hangs")).successful, 0);
  const { history } = await node.probe("hangs", "liveness");
  for (const { durationMs, killed } of history) {
    assert.ok(durationMs >= START_SECONDS * 1000 + 950, `${durationMs} ms`);
    assert.equal(killed, 1, "ended by the agent, not left to the runtime");
  }
});
