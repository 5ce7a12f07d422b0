// A pod's way through the agent, on real containerd.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, conditionOf, manifest, podTraces, STAY } from "../support/agent.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const TWO_AND_INIT = {
  initContainers: [
    {
      name: "prep",
      image: TEST_IMAGE,
      command: ["sh", "-c", "echo ready > /shared/state"],
      volumeMounts: [{ name: "shared", mountPath: "/shared" }],
    },
  ],
  containers: [
    {
      name: "reader",
      image: TEST_IMAGE,
      command: [...STAY],
      readinessProbe: { exec: { command: ["grep", "ready", "/shared/state"] }, periodSeconds: 1 },
      volumeMounts: [{ name: "shared", mountPath: "/shared" }],
    },
    { name: "other", image: TEST_IMAGE, command: [...STAY] },
  ],
  volumes: [{ name: "shared", emptyDir: {} }],
};

for (const containerd of ["machine", "1.7", "2.1"] as const) {
  test(`containerd ${containerd}: a pod with init container becomes Ready, and leaves nothing when removed`, () =>
    withBox({ containerd }, async (box) => {
      const agent = await BoxedAgent.start(box);
      const before = await podTraces(box);
      agent.apply("web.yaml", manifest("web", TWO_AND_INIT));
      await agent.untilReady();
      const status = agent.status();
      assert.equal(status?.phase, "Running");
      assert.equal(status?.initContainerStatuses?.[0]?.state?.terminated?.reason, "Completed");
      assert.deepEqual(
        status?.containerStatuses?.map(({ ready, restartCount }) => [ready, restartCount]),
        [
          [true, 0],
          [true, 0],
        ],
      );
      assert.match(status?.podIP ?? "", /^10\.88\./);
      agent.remove("web.yaml");
      const tookMs = await agent.until("nothing is left", async () =>
        isSame(await podTraces(box), before),
      );
      assert.ok(
        tookMs < 4000 * TIMEOUT_FACTOR,
        `removed in ${tookMs} ms: more than the grace of 2 s and 2 s`,
      );
    }));
}

test("a killed container is restarted: at once, then after the back-off", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("web.yaml", manifest("web"));
    await agent.untilReady();
    const restarts = () => agent.status()?.containerStatuses?.[0]?.restartCount ?? -1;
    const killMain = async () => {
      const id =
        agent.status()?.containerStatuses?.[0]?.containerID?.replace("containerd://", "") ?? "";
      await box.ctr("tasks", "kill", "--signal", "SIGKILL", id);
    };
    await killMain();
    const firstMs = await agent.until(
      "restarted once",
      () => restarts() === 1 && conditionOf(agent.status(), "Ready") === "True",
    );
    assert.ok(firstMs < 3000 * TIMEOUT_FACTOR, `the first restart took ${firstMs} ms`);
    await killMain();
    await agent.until(
      "it waits",
      () => agent.status()?.containerStatuses?.[0]?.state?.waiting?.reason === "CrashLoopBackOff",
    );
    assert.match(
      agent.status()?.containerStatuses?.[0]?.state?.waiting?.message ?? "",
      /^back-off 10s restarting failed container=main pod=web-/,
    );
    const secondMs = await agent.until("restarted twice", () => restarts() === 2);
    assert.ok(secondMs > 8000 && secondMs < 13_000, `the second restart took ${secondMs} ms`);
    const last = agent.status()?.containerStatuses?.[0]?.lastState?.terminated;
    assert.equal(last?.exitCode, 137);
    const rules = agent.decisions().filter(({ kind }) => kind === "delayRestart");
    assert.equal(rules.length, 1);
  }));

test("a manifest that is put back is the same pod: its containers are counted on", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const before = await podTraces(box);
    for (const count of [0, 1, 2]) {
      agent.apply("web.yaml", manifest("web"));
      await agent.untilReady();
      assert.equal(agent.statuses().size, 1);
      assert.equal(agent.status()?.containerStatuses?.[0]?.restartCount, count);
      agent.remove("web.yaml");
      await agent.until("nothing is left", async () => isSame(await podTraces(box), before));
    }
  }));

test("an edited manifest replaces the pod; the old one is gone before the new one starts", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("web.yaml", manifest("web"));
    await agent.untilReady();
    const [oldUid] = agent.statuses().keys();
    agent.apply(
      "web.yaml",
      manifest("web", {
        containers: [
          { name: "main", image: TEST_IMAGE, command: [...STAY], env: [{ name: "A", value: "2" }] },
        ],
      }),
    );
    await agent.until("another pod is Ready", () => {
      const [uid] = agent.statuses().keys();
      return (
        agent.statuses().size === 1 &&
        uid !== oldUid &&
        conditionOf(agent.status(), "Ready") === "True"
      );
    });
    const kinds = agent
      .decisions()
      .map(({ kind, subject }) => `${kind} ${subject.uid === oldUid ? "old" : "new"}`);
    assert.ok(kinds.indexOf("release old") < kinds.indexOf("startSandbox new"), kinds.join(", "));
  }));

test("a pod that ends well is Succeeded and not restarted; its log stays", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const containers = [
      { name: "main", image: TEST_IMAGE, command: ["sh", "-c", "echo done; exit 0"] },
    ];
    agent.apply("job.yaml", manifest("job", { restartPolicy: "Never", containers }));
    await agent.until("it is Succeeded", () => agent.status()?.phase === "Succeeded");
    const log = await box.run(["sh", "-c", "cat /var/log/pods/*/main/0.log"]);
    assert.match(log, /stdout F done/);
    await agent.until(
      "its cgroup is gone",
      async () => (await podTraces(box))["cgroups"]?.length === 0,
    );
  }));

test("a container that cannot run has a reason and is retried", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const containers = [
      { name: "noimage", image: "nodelet.test/nothing:1", imagePullPolicy: "Never" },
      { name: "nocommand", image: TEST_IMAGE, command: ["/does/not/exist"] },
    ];
    agent.apply("bad.yaml", manifest("bad", { containers }));
    const waitingOf = (name: string) =>
      agent.status()?.containerStatuses?.find((status) => status.name === name)?.state?.waiting;
    await agent.until(
      "both wait with a reason",
      () =>
        waitingOf("noimage")?.reason === "ErrImageNeverPull" &&
        /RunContainerError|CrashLoopBackOff/.test(waitingOf("nocommand")?.reason ?? ""),
    );
    assert.match(waitingOf("noimage")?.message ?? "", /is not present with pull policy of Never/);
    assert.ok(agent.running);
  }));

function isSame(
  a: Readonly<Record<string, readonly string[]>>,
  b: Readonly<Record<string, readonly string[]>>,
): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

test("a pod that is active longer than its deadline is ended and stays so, also over a restart of the agent", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("short.yaml", manifest("short", { activeDeadlineSeconds: 6 }));
    await agent.untilReady();
    await agent.kill();
    await agent.start();
    const ended = () => agent.status()?.phase === "Failed";
    await agent.until("it is ended", ended, 15_000);
    assert.equal(agent.status()?.reason, "DeadlineExceeded");
    assert.match(agent.status()?.message ?? "", /longer than the specified deadline/);
    const [attempt] = agent.status()?.containerStatuses ?? [];
    assert.equal(attempt?.restartCount, 0);
    assert.ok(attempt?.state?.terminated);
    assert.ok(agent.decisions().some(({ rule }) => rule === "active deadline exceeded"));
  }));
