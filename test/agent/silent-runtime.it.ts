// A container runtime that is stopped (SIGSTOP) answers nothing and refuses nothing: the node becomes NotReady in the API, and
// every command says so at the same time, with the cause.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Node } from "../../src/api/generated/types.ts";
import { type Box, withBox } from "../box/box.ts";
import { accessIn } from "../localapi/local-api.ts";
import { BoxedAgent, manifest } from "../support/agent.ts";

const API = "/var/lib/kubelet/api";
/** The runtime is down after 30 s; the node's object is updated every 10 s. */
const NOT_READY_MS = 60_000;
const CAUSE = /container runtime has not answered for \d+ s/;

/** The status of the node's condition Ready in the API. */
async function readyInApi(box: Box): Promise<string | undefined> {
  const { server, caPem, identity } = accessIn(box.path(`${API}/admin.kubeconfig`));
  const file = (name: string, text = "") => {
    writeFileSync(join(box.folder, name), text, { mode: 0o600 });
    return join(box.folder, name);
  };
  const list = await box.run([
    ...["curl", "-sf", "--cacert", file("ca.pem", caPem)],
    ...["--cert", file("admin.pem", identity?.certificatePem)],
    ...["--key", file("admin.key", identity?.privateKeyPem)],
    `${server}/api/v1/nodes`,
  ]);
  const { items } = JSON.parse(list) as { readonly items: readonly Node[] };
  const conditions = items[0]?.status?.conditions ?? [];
  return conditions.find(({ type }) => type === "Ready")?.status;
}

async function signalRuntime(box: Box, signal: "STOP" | "CONT"): Promise<void> {
  await box.run(["pkill", `-${signal}`, "-x", "containerd"]);
  if (signal === "STOP") return;
  // nsenter(1) stops with the program that it has started, and goes on only on a SIGCONT of its own.
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim();
  for (const pid of children.split(" ")) process.kill(Number(pid), "SIGCONT");
}

test("a runtime that does not answer: get nodes, describe node and why --node say NotReady as the API does, and why", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, { env: { NODELET_API_FOLDER: API } });
    agent.apply("web.yaml", manifest("web"));
    await agent.untilReady();
    await agent.until("the node is Ready", async () => (await readyInApi(box)) === "True");
    assert.match(await agent.command("get", "nodes"), / Ready /);
    await signalRuntime(box, "STOP");
    try {
      await agent.until(
        "the node is NotReady",
        async () => (await readyInApi(box)) === "False",
        NOT_READY_MS,
      );
      const nodes = await agent.command("get", "nodes");
      assert.match(nodes, / NotReady /);
      const why = await agent.command("why", "--node");
      const [, first = ""] = why.split("\n");
      assert.match(first, /^ {2}not ready: /, why);
      assert.match(first, CAUSE, why);
      const described = await agent.command("describe", "node");
      assert.match(described, /RuntimeReady +False +container runtime has not answered for \d+ s/);
      assert.match(described, /Ready +False +.*container runtime has not answered for/);
      const overview = JSON.parse(await agent.command("why", "--node", "-o", "json")) as {
        readonly ready: boolean;
        readonly why: string;
      };
      assert.equal(overview.ready, false);
      assert.match(overview.why, CAUSE);
    } finally {
      await signalRuntime(box, "CONT");
    }
    await agent.until("the node is Ready again", async () => (await readyInApi(box)) === "True");
    assert.match(await agent.command("get", "nodes"), / Ready /);
    assert.match(await agent.command("why", "--node"), /\n {2}ready\n/);
  }));
