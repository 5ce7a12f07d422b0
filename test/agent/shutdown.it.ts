// The machine is rebooted by its own systemd-logind, which waits for pods on real containerd.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, conditionOf, manifest, podTraces } from "../support/agent.ts";
import { WAIT_FOREVER } from "../support/stay.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { logindObstacle } from "../systemd/machine-logind.ts";

const LOGIND = join(import.meta.dirname, "../systemd/run-logind.ts");
/** Of the eleven seconds of ordinary pods two are kept for what comes after their containers: enough for a busy machine. */
const PERIOD_S = 16 * TIMEOUT_FACTOR;
const CONFIG = `shutdownGracePeriod: ${PERIOD_S}s\nshutdownGracePeriodCriticalPods: ${5 * TIMEOUT_FACTOR}s`;
const MESSAGE = "Pod was terminated in response to imminent node shutdown.";
const REBOOT =
  "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager Reboot b false";

test(
  "a reboot waits for pods, ends them by priority, and they run again after it",
  {
    skip: logindObstacle(),
  },
  () =>
    withBox({}, async (box) => {
      box.spawnLogged("logind", [process.execPath, LOGIND]);
      const isThere = async (path: string) => (await box.exec(["test", "-e", path])).code === 0;
      const shell = (script: string) => box.run(["sh", "-c", script]);
      const agent = await BoxedAgent.start(box, { config: CONFIG });
      const volumes = [{ name: "data", emptyDir: { medium: "Memory" } }];
      const stubborn = ["sh", "-c", `trap '' TERM; ${WAIT_FOREVER}`];
      const containers = [{ name: "main", image: TEST_IMAGE, command: stubborn }];
      agent.apply("web.yaml", manifest("web", { volumes }));
      const grace = { terminationGracePeriodSeconds: 600 };
      agent.apply("stubborn.yaml", manifest("stubborn", { ...grace, containers, volumes }));
      agent.apply("dns.yaml", manifest("dns", { priority: 2_000_000_000 }));
      await agent.untilReady(3);
      await agent.until("the lock is held", async () =>
        /^kubelet .*shutdown .*delay$/m.test(await shell("systemd-inhibit --list --no-pager")),
      );
      assert.match(
        await shell("cat /etc/systemd/logind.conf.d/99-kubelet.conf"),
        new RegExp(`=${PERIOD_S}$`, "m"),
      );
      await shell(REBOOT);
      agent.apply("late.yaml", manifest("late"));
      await agent.until("the machine goes down", () => isThere("/run/machine-is-down"), 30_000);
      const statuses = [...agent.statuses().values()];
      const ended = statuses.filter(({ reason }) => reason === "Terminated");
      assert.equal(ended.length, 3);
      for (const status of ended) {
        assert.deepEqual([status.phase, status.message], ["Failed", MESSAGE]);
        assert.equal(conditionOf(status, "DisruptionTarget"), "True");
      }
      const late = statuses.find(({ reason }) => reason === "NodeShutdown");
      assert.equal(late?.phase, "Failed");
      const { mounts = [], cgroups = [] } = await podTraces(box);
      assert.deepEqual(
        mounts.filter((line) => line.includes("/volumes/")),
        [],
      );
      assert.deepEqual(
        cgroups.filter((path) => path.includes("/pod")),
        [],
      );
      const reported = agent.decisions().filter(({ kind }) => /shutdown/i.test(kind));
      const groups = reported.filter(({ kind }) => kind === "endShutdownGroup");
      assert.deepEqual(
        groups.map(({ rule, inputs }) => [rule, inputs["priority"], inputs["cutOff"]]),
        [
          ["all have ended", 0, []],
          ["all have ended", 2_000_000_000, []],
        ],
      );
      assert.match(
        String(groups[0]?.inputs["ended"]),
        /stubborn-\S+ after [\d.ms]+, main by force/,
      );
      assert.equal(reported.at(-1)?.rule, "all have ended");
      await agent.stop();
      await agent.start();
      await agent.untilReady(4);
    }),
);
