// Containers that put something else in the place of their log, which the agent reads for their last message:
// their ends are reported, those of their neighbours too, and a restarted agent comes up.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Container, Pod } from "../../src/api/generated/types.ts";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { OUT, PodsOfAgent, shell } from "../pods/world.ts";
import { BoxedAgent } from "../support/agent.ts";
import { STAY } from "../support/stay.ts";

/** Entries of the folder with very many; a million take minutes to make on a small machine. */
const ENTRIES = 100_000;

const UNREADABLE =
  /^Error on reading termination message from logs: .*(?:not a regular file|neither a regular file nor a folder)/;
const ANYTHING = /^/;

/** What the container does to its log, in its folder, and what the agent then says. */
const KINDS: Readonly<Record<string, readonly [script: string, message: RegExp]>> = {
  folder: ["rm 0.log && mkdir 0.log", UNREADABLE],
  pipe: ["rm 0.log && mkfifo 0.log", UNREADABLE],
  device: ["rm 0.log && mknod 0.log c 1 5", UNREADABLE],
  link: ["rm 0.log && ln -s /dev/zero 0.log", UNREADABLE],
  loop: ["rm 0.log && ln -s 0.log 0.log", /^Error on reading termination message from logs: /],
  sparse: ["rm 0.log && truncate -s 10G 0.log", ANYTHING],
  many: [
    `rm 0.log && mkdir 0.log && cd 0.log && seq ${ENTRIES} | xargs touch && cd ..`,
    UNREADABLE,
  ],
};

function hostile(name: string, script: string): Container {
  return {
    name: "main",
    image: TEST_IMAGE,
    command: ["sh", "-c", `cd /host/pods/default_${name}-*/main && ${script} && exit 3`],
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [{ name: "log", mountPath: "/host" }],
  };
}

const endsOn = (file: string) =>
  shell("main", `until [ -e /out/${file} ]; do sleep 0.1; done; exit 7`);

const hasEnded = (pod: Pod | undefined, exitCode: number) =>
  pod?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode === exitCode;

test("whatever a container puts in the place of its log, its end is reported and no other pod is affected", (t) =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const pods = new PodsOfAgent(agent);
    const once = { restartPolicy: "Never" } as const;
    for (const round of ["1", "2"])
      pods.apply(`near${round}`, { ...once, containers: [endsOn(`end-${round}`)] });
    pods.apply("goes", { containers: [shell("main", STAY)] });
    for (const name of ["near1", "near2", "goes"]) await pods.untilRunning(name);
    const volumes = [{ name: "log", hostPath: { path: "/var/log" } }];
    for (const [name, [script]] of Object.entries(KINDS))
      pods.apply(name, { ...once, volumes, containers: [hostile(name, script)] });
    for (const [name, [, message]] of Object.entries(KINDS)) {
      await agent.until(
        `the end of ${name}`,
        async () => hasEnded(await pods.pod(name), 3),
        60_000,
      );
      const stated = (await pods.container(name))?.state?.terminated?.message ?? "";
      t.diagnostic(`${name}: ${JSON.stringify(stated.slice(0, 150))}`);
      assert.match(stated, message, name);
    }
    await checkNeighbours(agent, pods, "1");
    pods.remove("goes");
    await pods.until("goes", (pod) => pod === undefined, "is gone");
    assert.match(await pods.text("/healthz?verbose"), /syncloop ok/);

    await agent.kill();
    await agent.start();
    await checkNeighbours(agent, pods, "2");
    for (const name of Object.keys(KINDS)) assert.ok(hasEnded(await pods.pod(name), 3), name);
    for (const name of Object.keys(KINDS)) pods.remove(name);
    for (const name of Object.keys(KINDS))
      await agent.until(`${name} is gone`, async () => !(await pods.pod(name)), 60_000);
    assert.match(await pods.text("/healthz?verbose"), /syncloop ok/);

    async function checkNeighbours(of: BoxedAgent, from: PodsOfAgent, round: string) {
      const file = box.path(`${OUT}/end-${round}`);
      writeFileSync(file, "");
      const near = `near${round}`;
      await of.until(`the end of ${near}`, async () => hasEnded(await from.pod(near), 7));
      rmSync(file);
    }
  }));
