// An agent beside another one on the same machine, and an agent whose port is where the configuration says.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { request } from "node:https";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { PodList } from "../../src/api/generated/types.ts";
import { withBox } from "../box/box.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { answerOf } from "../server/http.ts";
import { BoxedAgent, manifest } from "../support/agent.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const SECOND = {
  config: "/etc/second.yaml",
  root: "/var/lib/kubelet-second",
  port: 10350,
  healthz: 10348,
  socket: "/run/nodelet/agent-2.sock",
};
const OPEN = `authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}`;
/** As long as it takes for either to see everything on the machine. */
const TOGETHER_MS = 5_000;
const WAIT_MS = 60_000 * TIMEOUT_FACTOR;

/** GET at the HTTPS port on the node's own address. */
async function secure(node: Pick<NodeBox, "box">, port: number, path: string) {
  const socketPath = await node.box.forward(port);
  return await answerOf(request({ socketPath, path, rejectUnauthorized: false, agent: false }));
}

test("run with anonymous callers and no authorities answers /configz on the node's own address", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, { usualAuthentication: false, config: OPEN });
    const answer = await secure({ box }, 10250, "/configz");
    assert.equal(answer.status, 200, answer.body);
    assert.match(answer.body, /"anonymous":\{"enabled":true\}/);
    assert.match(agent.log(), /anyone who can reach the HTTPS port can run commands/);
    assert.doesNotMatch(agent.log(), /loopback only/);
  }));

function writeSecond(node: NodeBox, more = ""): readonly string[] {
  node.box.write(
    SECOND.config,
    `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
port: ${SECOND.port}
healthzPort: ${SECOND.healthz}
${OPEN}
${more}
`,
  );
  return ["run", "--config", SECOND.config, "--root-dir", SECOND.root];
}

async function startSecond(node: NodeBox) {
  const argv = writeSecond(node);
  node.box.spawnLogged("second-containerd", ["containerd"]);
  const serves = "until ctr version >/dev/null 2>&1; do sleep 0.1; done";
  await node.box.run(["sh", "-c", serves], { timeoutMs: 30_000 });
  return node.start(argv);
}

test("run starts beside up: its socket has another name, and both answer", async () => {
  await using node = await bareMachine();
  await node.run("up", "--detach", "--until-ready");
  const second = await startSecond(node);
  await second.reported(/agent is running/);
  assert.match(second.text, /listening on another path.*agent-2\.sock/);
  await sleep(TOGETHER_MS);
  assert.ok(second.process.running, second.text);
  assert.equal((await secure(node, SECOND.port, "/configz")).status, 200);
  await node.run("get", "pods", "--socket", SECOND.socket);
  await node.run("get", "pods");
  assert.equal(await second.interrupt(), 0);
  await node.run("get", "pods");
});

const MANIFESTS = "/etc/second";

/** What an agent says of its containers: which they are, and how often they were restarted. */
async function containersOf(node: NodeBox, ...argv: readonly string[]) {
  const { items } = JSON.parse(
    await node.run("get", "pods", "-A", "-o", "json", ...argv),
  ) as PodList;
  return items.flatMap(({ metadata, status }) =>
    (status?.containerStatuses ?? []).map(
      ({ containerID, restartCount, ready }) =>
        `${metadata?.name} ${containerID} ${restartCount} ${ready}`,
    ),
  );
}

test("pods of two agents: neither takes away cgroups and logs of the other's", async () => {
  await using node = await bareMachine({ containerd: "machine", network: true });
  const { box } = node;
  await box.run(["mkdir", MANIFESTS]);
  for (const name of ["web", "gone"]) {
    const pod = { apiVersion: "v1", kind: "Pod", ...manifest(name) };
    box.write(`${MANIFESTS}/${name}.json`, JSON.stringify(pod));
  }
  const argv = writeSecond(node, `staticPodPath: ${MANIFESTS}`);
  const second = node.start(argv, { NODELET_SOCKET: SECOND.socket });
  await second.reported(/agent is running/);
  const socket = `--socket=${SECOND.socket}`;
  const until = async (what: string, test: () => Promise<boolean>) => {
    const deadline = performance.now() + WAIT_MS;
    while (!(await test())) {
      assert.ok(performance.now() < deadline, `not in time: ${what}\n${second.text}`);
      await sleep(100);
    }
  };
  const ready = async (count: number, ...options: readonly string[]) =>
    (await containersOf(node, ...options)).filter((line) => line.endsWith(" true")).length ===
    count;
  await until("the second agent's pods are ready", () => ready(2, socket));
  // Starts a containerd of its own, since pods keep running the machine's.
  await node.run("up", "--demo", "--detach", "--until-ready");
  const all = async () => ({
    groups: await box.run(["sh", "-c", "find /sys/fs/cgroup -type d -path '*/pod*' | sort"]),
    logs: await box.run(["sh", "-c", "ls /var/log/pods"]),
    first: (await containersOf(node)).filter((line) => line.startsWith("hello")),
    second: (await containersOf(node, socket)).filter((line) => line.startsWith("web")),
  });
  // Whoever has released a pod searches for what others left.
  rmSync(box.path(`${MANIFESTS}/gone.json`));
  await until("the pod that was removed is gone", () => ready(1, socket));
  await until("its logs, too", async () => !(await all()).logs.includes("gone"));
  const before = await all();
  assert.deepEqual([before.first.length, before.second.length], [1, 1], second.text);
  assert.equal(before.logs.trim().split("\n").length, 2, before.logs);
  await sleep(TOGETHER_MS);
  assert.deepEqual(await all(), before);
  for (const line of [...before.first, ...before.second]) assert.match(line, / 0 true$/);
  assert.equal(await second.interrupt(), 0);
});
