// How containers and pods end, and what comes after it, on a node with real containerd: one box, one test for each.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { connectCri } from "../../src/outside/cri/connect-cri.ts";
import { type Box, startBox } from "../box/box.ts";
import { BoxedAgent } from "../support/agent.ts";
import { STAY, WAIT_FOREVER } from "../support/stay.ts";
import { exec, OUT, PodsOfAgent, shell } from "./world.ts";

let box: Box;
let pods: PodsOfAgent;

const DEAF = `trap '' TERM; ${WAIT_FOREVER}`;

before(async () => {
  box = await startBox({});
  await box.run(["mkdir", "-p", OUT]);
  const config = "crashLoopBackOff: {maxContainerRestartPeriod: 1s}";
  pods = new PodsOfAgent(await BoxedAgent.start(box, { config }));
  applyAll();
});
after(() => box?.dispose());

function applyAll(): void {
  const livenessProbe = { exec: { command: ["false"] }, periodSeconds: 1, failureThreshold: 1 };
  pods.apply("sick", {
    restartPolicy: "OnFailure",
    containers: [shell("main", STAY, { livenessProbe })],
  });
  pods.apply("greets", {
    containers: [
      shell("web", "mkdir -p /tmp/w; exec httpd -f -p 8080 -h /tmp/w", {
        lifecycle: { postStart: { sleep: { seconds: 1 } } },
      }),
      shell("main", STAY, {
        lifecycle: { postStart: { httpGet: { path: "/nobody-has-this", port: 8080 } } },
      }),
    ],
  });
  pods.apply("moves", {
    containers: [
      shell("main", `echo "$IP $(grep -c "^$IP" /etc/hosts)" >>/out/moves; ${STAY}`, {
        env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
      }),
    ],
  });
  pods.apply("sides", {
    terminationGracePeriodSeconds: 20,
    initContainers: [
      shell("side", `trap 'echo side-ended >>/out/sides; exit 0' TERM; ${WAIT_FOREVER}`, {
        restartPolicy: "Always",
        lifecycle: { preStop: exec("echo side-hook >>/out/sides") },
      }),
    ],
    containers: [
      shell("main", `trap 'sleep 3; echo main-ended >>/out/sides; exit 0' TERM; ${WAIT_FOREVER}`),
    ],
  });
  pods.apply("job", {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 1,
    initContainers: [shell("side", DEAF, { restartPolicy: "Always" })],
    containers: [shell("main", "sleep 1")],
  });
  pods.apply("late", {
    activeDeadlineSeconds: 2,
    containers: [shell("main", STAY, { image: "nodelet.test/none:1", imagePullPolicy: "Never" })],
  });
  pods.apply("ruled", {
    containers: [
      shell("main", "echo x >>/out/ruled; [ $(wc -l </out/ruled) -gt 2 ] && exit 3; exit 42", {
        restartPolicy: "Never",
        restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
      }),
    ],
  });
  pods.apply("last-line", {
    restartPolicy: "Never",
    containers: [
      shell("main", "head -c 16370 /dev/zero | tr '\\0' x; echo the end; exit 1", {
        terminationMessagePolicy: "FallbackToLogsOnError",
      }),
    ],
  });
  pods.apply("no-command", {
    restartPolicy: "Never",
    containers: [shell("main", "", { command: ["/nobody/has/this"] })],
  });
  for (const policy of ["Never", "Always"])
    pods.apply(`forgotten-${policy.toLowerCase()}`, {
      restartPolicy: policy,
      containers: [shell("main", `echo ${policy} >>/out/forgotten; ${STAY}`)],
    });
}

describe("a container that is stopped to be restarted", () => {
  test("comes back although it ended well under OnFailure", async () => {
    await pods.agent.until("it was restarted twice", async () => {
      return ((await pods.container("sick"))?.restartCount ?? 0) >= 2;
    });
    const status = (await pods.pod("sick"))?.status;
    assert.equal(status?.phase, "Running");
    assert.equal(status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 0);
    const reported = "Killing: Container main failed liveness probe, will be restarted";
    assert.ok((await pods.events("sick")).includes(reported));
    pods.remove("sick");
  });
});

describe("hooks", () => {
  test("a post-start hook that is answered with 404 leaves its container alone", async () => {
    await pods.untilRunning("greets");

    assert.equal((await pods.container("greets"))?.restartCount, 0);
    const failed = (await pods.events("greets")).filter((each) => each.includes("FailedPostStart"));
    assert.deepEqual(failed, []);
  });

  test("a sidecar's pre-stop hook runs when the end begins, and its end comes last", async () => {
    await pods.untilRunning("sides");
    pods.remove("sides");
    await pods.until("sides", (pod) => pod === undefined, "is gone");
    assert.deepEqual(pods.lines("sides"), ["side-hook", "main-ended", "side-ended"]);
  });
});

describe("another sandbox", () => {
  test("its containers know the pod by its address there", async () => {
    await pods.untilRunning("moves");
    const before = (await pods.pod("moves"))?.status?.podIP;
    assert.deepEqual(pods.lines("moves"), [`${before} 1`]);
    const cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: 60_000 });
    const { signal } = new AbortController();
    const name = (await pods.pod("moves"))?.metadata?.name ?? "";
    const labelSelector = { "io.kubernetes.pod.name": name };
    const [sandbox] = await cri.runtime.listSandboxes({ labelSelector }, signal);
    cri.close();
    await box.ctr("tasks", "kill", "--signal", "SIGKILL", sandbox?.id ?? "");
    await pods.agent.until("it runs again", () => pods.lines("moves").length === 2);
    // The status of the old sandbox holds until the new one has been observed.
    const isElsewhere = (pod?: Pod) =>
      pod?.status?.podIP !== before && pod?.status?.containerStatuses?.[0]?.ready === true;
    await pods.until("moves", isElsewhere, "is ready at another address");
    const now = (await pods.pod("moves"))?.status?.podIP;
    assert.deepEqual(pods.lines("moves"), [`${before} 1`, `${now} 1`]);
  });
});

describe("pods that end", () => {
  test("a job succeeds though its sidecar had to be killed", async () => {
    await pods.until("job", (pod) => pod?.status?.phase === "Succeeded", "has succeeded");
    const side = await pods.container("job", "side");
    assert.equal(side?.state?.terminated?.exitCode, 137);
    assert.deepEqual((await pods.container("job"))?.state?.terminated?.reason, "Completed");
  });

  test("the end of a line as long as lines get is the last word", async () => {
    await pods.until("last-line", (pod) => pod?.status?.phase === "Failed", "has failed");
    const reported = (await pods.container("last-line"))?.state?.terminated?.message ?? "";
    assert.deepEqual([reported.length, reported.slice(-10)], [2048, "xxthe end\n"]);
  });

  test("what cannot be started says why in the runtime's own words", async () => {
    await pods.until("no-command", (pod) => pod?.status?.phase === "Failed", "has failed");
    const { reason, exitCode } = (await pods.container("no-command"))?.state?.terminated ?? {};
    assert.deepEqual([reason, exitCode], ["StartError", 128]);
    const failed = (await pods.events("no-command")).find((each) => each.startsWith("Failed: "));
    assert.match(failed ?? "", /^Failed: Error: failed to create containerd task: .*no such file/);
  });

  test("nothing waits any more in a pod that was active for too long", async () => {
    await pods.until("late", (pod) => pod?.status?.phase === "Failed", "has failed");
    assert.equal((await pods.pod("late"))?.status?.reason, "DeadlineExceeded");
    await pods.agent.until("its container waits no more", async () => {
      return (await pods.container("late"))?.state?.waiting === undefined;
    });
    const { reason, exitCode } = (await pods.container("late"))?.state?.terminated ?? {};
    assert.deepEqual([reason, exitCode], ["ContainerStatusUnknown", 137]);
  });

  test("a container's own rules have it restarted by exit code, and its policy ends it", async () => {
    await pods.until("ruled", (pod) => pod?.status?.phase === "Failed", "has failed");
    const status = await pods.container("ruled");
    assert.deepEqual([status?.restartCount, status?.state?.terminated?.exitCode], [2, 3]);
    assert.equal(pods.lines("ruled").length, 3);
  });
});

describe("a container that the runtime forgot", () => {
  test("has ended: Never does not run it twice, Always does", async () => {
    await pods.untilRunning("forgotten-never");
    await pods.untilRunning("forgotten-always");
    const cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: 60_000 });
    const { signal } = new AbortController();
    const idOf = async (name: string) =>
      (await pods.container(name))?.containerID?.replace("containerd://", "") ?? "";
    const ids = [await idOf("forgotten-never"), await idOf("forgotten-always")];
    await pods.agent.kill();
    for (const id of ids) {
      await cri.runtime.stopContainer(id, 2, signal);
      await cri.runtime.removeContainer(id, signal);
    }
    cri.close();
    await pods.agent.start();
    await pods.until("forgotten-never", (pod) => pod?.status?.phase === "Failed", "has failed");
    const lost = (await pods.container("forgotten-never"))?.state?.terminated;
    assert.deepEqual([lost?.reason, lost?.exitCode], ["ContainerStatusUnknown", 137]);
    await pods.until(
      "forgotten-always",
      (pod) => {
        const [main] = pod?.status?.containerStatuses ?? [];
        return main?.state?.running !== undefined && main.restartCount > 0;
      },
      "runs again",
    );
    assert.equal((await pods.container("forgotten-always"))?.restartCount, 1);
    assert.deepEqual([...pods.lines("forgotten")].sort(), ["Always", "Always", "Never"]);
  });
});
