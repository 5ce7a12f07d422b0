// What the agent has begun at the runtime is seen through, whoever loses interest in it: a network plugin that is cut
// off in its work leaves the pod's rules behind, and no later try takes them away. Only an agent that is killed breaks
// its calls off; no pod is to suffer from that.
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { test } from "node:test";
import { type Box, withBox } from "../box/box.ts";
import { cniConfig } from "../box/containerd.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, manifest, STAY } from "../support/agent.ts";
import { slowRunc } from "../support/slow-runc.ts";

const PLUGINS = "/run/tmp/cni";
const STORY = "/run/tmp/story";
const SLOW_MS = 1_500;

/** A network plugin that does nothing, and takes its time for it. */
const SLOW = `#!${process.execPath}
const { appendFileSync, readFileSync } = require("node:fs");
const command = process.env.CNI_COMMAND;
const { prevResult } = JSON.parse(readFileSync(0, "utf8"));
const note = (what) => appendFileSync("${STORY}", command + " " + what + "\\n");
note("begins");
setTimeout(() => {
  if (command === "ADD") console.log(JSON.stringify(prevResult));
  note("ends");
}, ${SLOW_MS});
`;

/** The bridge is the last to be taken away, so that the slow one is cut off before it. */
async function slowNetwork(box: Box): Promise<void> {
  const own = box.runtimePaths.cniPlugins;
  await box.run(["mkdir", "-p", PLUGINS]);
  await box.run(["sh", "-c", 'cp "$0"/* "$1"', own, PLUGINS]);
  box.write(`${PLUGINS}/slow`, SLOW);
  await box.run(["chmod", "+x", `${PLUGINS}/slow`]);
  await box.run(["mount", "--bind", PLUGINS, own]);
  const network = JSON.parse(cniConfig({ ipv6: false })) as { readonly plugins: object[] };
  network.plugins.push({ type: "slow" });
  box.write("/etc/cni/net.d/10-box.conflist", JSON.stringify(network));
}

function storyOf(box: Box): readonly string[] {
  try {
    return readFileSync(box.path(STORY), "utf8").trim().split("\n");
  } catch {
    return [];
  }
}

/** What the network plugin has to do for one sandbox. */
const WHOLE = ["ADD begins", "ADD ends", "DEL begins", "DEL ends"];

/** Waits until the network plugin has begun with `command`. */
async function begun(agent: BoxedAgent, command: string): Promise<void> {
  await agent.until(command, () => storyOf(agent.box).includes(`${command} begins`));
}

/** What is done to a pod until it is gone, or will be. */
const CASES: readonly { name: string; disturb: (agent: BoxedAgent) => Promise<void> }[] = [
  {
    name: "the agent is asked to leave",
    disturb: async (agent) => {
      await agent.untilReady();
      agent.remove("p.yaml");
      await begun(agent, "DEL");
      await agent.stop();
      assert.match(agent.log(), /agent is shutting down/);
      assert.deepEqual(storyOf(agent.box), WHOLE);
      await agent.start();
    },
  },
  {
    name: "the pod is removed while its dead sandbox is taken down",
    disturb: async (agent) => {
      await agent.untilReady();
      const pause = await agent.box.run(["pgrep", "-x", "pause"]);
      await agent.box.run(["kill", "-9", pause.trim()]);
      await begun(agent, "DEL");
      agent.remove("p.yaml");
    },
  },
  {
    name: "the pod is removed while its sandbox is made",
    disturb: async (agent) => {
      await begun(agent, "ADD");
      agent.remove("p.yaml");
    },
  },
];

test("nothing that was begun at the runtime ends half way", (t) =>
  withBox({}, async (box) => {
    await slowNetwork(box);
    const agent = await BoxedAgent.start(box);
    for (const { name, disturb } of CASES)
      await t.test(name, async () => {
        rmSync(box.path(STORY), { force: true });
        agent.apply("p.yaml", manifest("p"));
        await disturb(agent);
        await agent.until("the pod is gone", () => agent.statuses().size === 0);
        assert.deepEqual(storyOf(box).slice(0, WHOLE.length), WHOLE);
        const rules = await box.run(["iptables", "-t", "nat", "-S"]);
        assert.doesNotMatch(rules, /CNI-[0-9a-f]/);
      });
  }));

for (const end of ["stop", "kill"] as const)
  test(`a pod that is never restarted runs although the agent's ${end} came while its container was started`, () =>
    withBox({}, async (box) => {
      const note = (what: string) => `echo ${what} >>${STORY}`;
      const wait = `${note("begins")}; sleep ${SLOW_MS / 1000}; ${note("ends")}`;
      await slowRunc(box, "create", wait);
      const agent = await BoxedAgent.start(box);
      const main = { name: "main", image: TEST_IMAGE, command: [...STAY] };
      agent.apply("p.yaml", manifest("p", { restartPolicy: "Never", containers: [main] }));
      await agent.until("the container is being started", () => storyOf(box).length > 0);
      await agent[end]();
      await agent.start();
      await agent.untilReady();
      const [status] = agent.status()?.containerStatuses ?? [];
      const starts = storyOf(box).filter((line) => line === "begins").length;
      assert.equal(starts, end === "kill" ? 2 : 1);
      assert.equal(status?.restartCount, starts - 1);
      assert.deepEqual(status?.lastState, {});
    }));
