// An agent beside another one on the same machine, and an agent whose port is where the configuration says.
import assert from "node:assert/strict";
import { request } from "node:https";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withBox } from "../box/box.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { answerOf } from "../server/http.ts";
import { BoxedAgent } from "../support/agent.ts";

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
    assert.match(agent.log(), /anybody who reaches the HTTPS port may run commands/);
    assert.doesNotMatch(agent.log(), /loopback only/);
  }));

async function startSecond(node: NodeBox) {
  node.box.write(
    SECOND.config,
    `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
port: ${SECOND.port}
healthzPort: ${SECOND.healthz}
${OPEN}
`,
  );
  node.box.spawnLogged("second-containerd", ["containerd"]);
  const serves = "until ctr version >/dev/null 2>&1; do sleep 0.1; done";
  await node.box.run(["sh", "-c", serves], { timeoutMs: 30_000 });
  return node.start(["run", "--config", SECOND.config, "--root-dir", SECOND.root]);
}

test("run starts beside up: its socket has another name, and both answer", async () => {
  await using node = await bareMachine();
  await node.run("up", "--detach", "--until-ready");
  const second = await startSecond(node);
  await second.said(/agent is running/);
  assert.match(second.text, /has another name.*agent-2\.sock/);
  await sleep(TOGETHER_MS);
  assert.ok(second.process.running, second.text);
  assert.equal((await secure(node, SECOND.port, "/configz")).status, 200);
  await node.run("get", "pods", "--socket", SECOND.socket);
  await node.run("get", "pods");
  assert.equal(await second.interrupt(), 0);
  await node.run("get", "pods");
});
