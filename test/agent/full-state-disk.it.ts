// A disk that is full when the agent starts: it is up, says so, and touches no pod.
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { test } from "node:test";
import { RESERVE_BYTES } from "../../src/kit/state/state-reserve.ts";
import { type Box, withBox } from "../box/box.ts";
import { BoxedAgent, manifest } from "../support/agent.ts";
import { PROGRAM } from "../support/program.ts";

const ROOT = "/var/lib/kubelet";
const RESERVE = `${ROOT}/nodelet/reserve`;
/** The reserve is made again within a minute. */
const REMAKE_MS = 90_000;

const tasks = async (box: Box) => (await box.ctr("tasks", "list", "-q")).split("\n").toSorted();
const fill = (box: Box) =>
  box.run(["sh", "-c", `cat /dev/zero >> ${ROOT}/filler 2>/dev/null || true`]);
const whyNode = async (box: Box) =>
  (await box.run([process.execPath, PROGRAM, "why", "--node"])).replaceAll(/\s+/g, " ");

test("a disk that is full at the start: no pod is touched, the reserve frees space, all is well with free space", () =>
  withBox({}, async (box) => {
    await box.run(["mount", "-t", "tmpfs", "-o", "size=48m", "small", ROOT]);
    const agent = await BoxedAgent.start(box);
    for (const name of ["a", "b"]) agent.apply(`${name}.yaml`, manifest(name));
    await agent.untilReady(2);
    await agent.until("the reserve is there", () => existsSync(box.path(RESERVE)));
    assert.equal(statSync(box.path(RESERVE)).size, RESERVE_BYTES);
    const before = await tasks(box);
    await agent.kill();
    await fill(box);
    await agent.start();
    assert.deepEqual(await tasks(box), before);
    agent.apply("c.yaml", manifest("c"));
    await agent.until("the reserve is released", () => !existsSync(box.path(RESERVE)));
    await agent.until("it is reported", () =>
      /the disk is full; released reserved space/.test(agent.log()),
    );
    await agent.until("the status of the new pod is kept", () => agent.statuses().size === 3);

    await agent.kill();
    await fill(box);
    agent.apply("d.yaml", manifest("d"));
    await agent.start();
    await agent.until("it is reported that the disk is full", async () =>
      /cannot be written.*no space left on device/.test(await whyNode(box)),
    );
    for (const id of before) assert.ok((await tasks(box)).includes(id), `${id} runs on`);

    await box.run(["rm", `${ROOT}/filler`]);
    await agent.untilReady(4);
    await agent.until(
      "the reserve is made again",
      () => existsSync(box.path(RESERVE)) && statSync(box.path(RESERVE)).size === RESERVE_BYTES,
      REMAKE_MS,
    );
    for (const id of before) assert.ok((await tasks(box)).includes(id), `${id} runs on`);
  }));

test("a root folder in which nothing can be made: the agent is up, reports it, and begins when there is space", () =>
  withBox({}, async (box) => {
    await box.run(["mount", "-t", "tmpfs", "-o", "size=48m,nr_inodes=2", "small", ROOT]);
    await box.run(["touch", `${ROOT}/filler`]);
    const agent = await BoxedAgent.start(box);
    agent.apply("a.yaml", manifest("a"));
    await agent.until("it is reported that the disk is full", async () =>
      /cannot be written.*no space left on device/.test(await whyNode(box)),
    );
    await box.run(["mount", "-o", "remount,nr_inodes=10000", ROOT]);
    await agent.untilReady(1);
  }));
