// The agent, containerd and single processes are killed under running pods.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { BoxedAgent, manifest, STAY } from "../support/agent.ts";
import { essence } from "../support/essence.ts";

const PODS = 30;
/** A group for all pods that is not the root, and where a container is below it, as each driver spells it. */
const ELSEWHERE = {
  cgroupfs: { name: "elsewhere", place: /\/elsewhere\/kubepods\/besteffort\/pod[^/]+\/[^/]+\n$/ },
  systemd: {
    name: "elsewhere.slice",
    place:
      /\/elsewhere\.slice\/elsewhere-kubepods\.slice\/[^/]+\/[^/]+-pod[^/]+\.slice\/[^/]+\.scope\n$/,
  },
} as const;

test(`kill -9 of the agent under ${PODS} pods: no restart, no condition flips, steady within 2 s`, (t) =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    for (let i = 0; i < PODS; i += 1) {
      const readinessProbe = {
        exec: { command: ["true"] },
        periodSeconds: 2,
        timeoutSeconds: 10,
      };
      const containers = [
        {
          name: "main",
          image: TEST_IMAGE,
          command: [...STAY],
          ...(i % 3 === 0 ? { readinessProbe } : {}),
        },
      ];
      agent.apply(`p${i}.yaml`, manifest(`p${i}`, { containers }));
    }
    await agent.untilReady(PODS, 90_000);
    const before = essence(agent.statuses());
    const decided = agent.decisions().length;
    await agent.kill();
    await sleep(500);
    const startedAtMs = Date.now();
    await agent.start();
    const runsAfterMs = Date.now() - startedAtMs;
    await agent.until(
      "all are adopted",
      () =>
        agent
          .decisions()
          .slice(decided)
          .filter(({ kind }) => kind === "adopt").length === PODS,
    );
    await sleep(5_000);
    const since = agent.decisions().slice(decided);
    const steadyMs = Math.max(...since.map(({ atMs }) => atMs)) - startedAtMs;
    // On a busy machine the start of the program itself takes longer than that.
    const limitMs = Math.max(2000, 2 * runsAfterMs);
    assert.ok(steadyMs < limitMs, `steady after ${steadyMs} ms, running after ${runsAfterMs} ms`);
    t.diagnostic(`steady after ${steadyMs} ms, running after ${runsAfterMs} ms`);
    assert.deepEqual(
      since.map(({ kind }) => kind).filter((kind) => kind !== "adopt"),
      ["startAgent"],
    );
    assert.equal(essence(agent.statuses()), before);
  }));

test("kill -9 of containerd: the agent recovers by itself and the pods keep running", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    for (let i = 0; i < 5; i += 1) agent.apply(`p${i}.yaml`, manifest(`p${i}`));
    await agent.untilReady(5);
    const before = [...agent.statuses().values()].map(
      ({ containerStatuses }) => containerStatuses?.[0]?.containerID,
    );
    await box.killContainerd("SIGKILL");
    agent.apply("late.yaml", manifest("late"));
    await sleep(3_000);
    assert.ok(agent.running, "the agent must outlive its runtime");
    await box.startContainerd();
    await agent.untilReady(6);
    const after = [...agent.statuses().values()].map(
      ({ containerStatuses }) => containerStatuses?.[0],
    );
    for (const id of before) {
      const same = after.find((status) => status?.containerID === id);
      assert.equal(same?.restartCount, 0, "a container was restarted");
    }
    agent.remove("p0.yaml");
    await agent.until("a pod can be removed again", () => agent.statuses().size === 5);
  }));

test("kill -9 of a pod's sandbox process: sandbox and containers come back", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("web.yaml", manifest("web"));
    await agent.untilReady();
    const id = agent.status()?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
    const tasks = (await box.ctr("tasks", "list", "-q"))
      .split("\n")
      .filter((line) => line !== "" && line !== id);
    await box.ctr("tasks", "kill", "--signal", "SIGKILL", tasks[0] ?? "");
    await agent.until("another attempt is Ready", () => {
      const status = agent.status()?.containerStatuses?.[0];
      return status?.ready === true && status.containerID !== `containerd://${id}`;
    });
    assert.ok(
      agent
        .decisions()
        .some(({ kind, rule }) => kind === "startSandbox" && rule === "sandbox not ready"),
    );
  }));

test("a pod whose manifest vanished while the agent was away is ended", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("web.yaml", manifest("web"));
    await agent.untilReady();
    await agent.stop();
    agent.remove("web.yaml");
    await agent.start();
    await agent.until(
      "nothing runs",
      async () => (await box.ctr("containers", "list", "-q")).trim() === "",
    );
    assert.ok(
      agent
        .decisions()
        .some(({ kind, rule }) => kind === "killPod" && rule === "no source names it"),
    );
  }));

test("a pod found running outside of its cgroup is started again in it", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("web.yaml", manifest("web"));
    await agent.untilReady();
    await agent.kill();
    const trees = cgroupRoots().version === 1 ? "/sys/fs/cgroup/*/" : "/sys/fs/cgroup/";
    const { name, place } = ELSEWHERE[box.cgroupDriver];
    await box.run(["sh", "-c", `for c in ${trees}; do mkdir -p $c/${name}; done`]);
    const again = await BoxedAgent.start(box, { config: "cgroupRoot: /elsewhere" });
    await again.until("its second attempt is Ready", () => {
      const status = again.status()?.containerStatuses?.[0];
      return status?.restartCount === 1 && status.ready;
    });
    const id = again.status()?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
    const tree = cgroupRoots().version === 1 ? "/sys/fs/cgroup/memory/" : "/sys/fs/cgroup/";
    assert.match(await box.run(["find", tree, "-type", "d", "-name", `*${id}*`]), place);
    assert.ok(again.decisions().some(({ rule }) => rule === "pod cgroup was missing"));
  }));

test("a container that the runtime forgot goes on counting where its logs end", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("web.yaml", manifest("web"));
    await agent.untilReady();
    await agent.stop();
    const ids = (await box.ctr("containers", "list", "-q")).trim().split("\n");
    for (const id of ids) {
      await box.ctr("tasks", "kill", "--signal", "SIGKILL", id);
      await box.ctr("tasks", "delete", "--force", id).catch(() => "");
      await box.ctr("containers", "delete", id).catch(() => "");
    }
    await box.killContainerd("SIGKILL");
    await box.startContainerd();
    await agent.start();
    await agent.until("its next attempt is Ready", () => {
      const status = agent.status()?.containerStatuses?.[0];
      return status?.ready === true && !ids.includes(status.containerID?.split("//")[1] ?? "");
    });
    const log = await box.run(["sh", "-c", "cd /var/log/pods/*/main && ls"]);
    assert.equal(agent.status()?.containerStatuses?.[0]?.restartCount, 1);
    assert.equal(log, "0.log\n1.log\n");
  }));
