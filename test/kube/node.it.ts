// The agent as a node of a real control plane: registration, pods, exec, deletion.
import assert from "node:assert/strict";
import { request } from "node:https";
import { test } from "node:test";
import type { CoreEvent } from "../../src/api/generated/types.ts";
import { answerOf } from "../server/http.ts";
import { podTraces } from "../support/agent.ts";
import { apiServerObstacle } from "./apiserver.ts";
import { conditionOf, NODE, PODS, podOf, withNode } from "./cluster-node.ts";

const skip = apiServerObstacle() ?? false;

test("a pod of the API runs, is exec'd into, is deleted, and leaves nothing", { skip }, () =>
  withNode(async (node, box) => {
    await node.untilNodeReady();
    const before = await podTraces(box);
    const found = await node.node();
    assert.equal(found?.status?.daemonEndpoints?.kubeletEndpoint?.Port, 10250);
    assert.ok((found?.status?.images ?? []).length > 0);
    await node.server.must("POST", PODS, podOf("web"));
    const readyMs = await node.untilReady("web");
    const reported = await node.server.kubectl(["exec", "web", "--", "echo", "hello from inside"]);
    assert.equal(reported, "hello from inside\n");
    const logs = await node.server.kubectl(["logs", "web"]);
    assert.equal(typeof logs, "string");
    const events = "/api/v1/namespaces/default/events";
    await node.agent.until("the start has an event", async () => {
      const list = await node.get<{ items: readonly CoreEvent[] }>(events);
      return list?.items.some(({ reason }) => reason === "Started") === true;
    });
    await node.server.kubectl(["delete", "pod", "web", "--wait=false"]);
    const goneMs = await node.agent.until(
      "the pod is gone",
      async () => (await node.pod("web")) === undefined,
    );
    await node.agent.until(
      "nothing is left",
      async () => JSON.stringify(await podTraces(box)) === JSON.stringify(before),
    );
    console.log(`ready after ${Math.round(readyMs)} ms, gone after ${Math.round(goneMs)} ms`);
  }),
);

test("a static pod is seen in the API, and its mirror comes back when deleted", { skip }, () =>
  withNode(async (node) => {
    await node.untilNodeReady();
    const { metadata: _, ...rest } = podOf("fixed");
    node.agent.apply("fixed.yaml", { ...rest, metadata: { name: "fixed" } });
    const name = `fixed-${NODE}`;
    await node.untilReady(name);
    const first = await node.pod(name);
    await node.server.kubectl(["delete", "pod", name, "--wait=false"]);
    await node.agent.until("another mirror", async () => {
      const now = await node.pod(name);
      return now?.metadata?.uid !== first?.metadata?.uid && conditionOf(now, "Ready") === "True";
    });
    assert.equal(node.agent.status()?.containerStatuses?.[0]?.restartCount, 0);
    const isGone = async () => (await node.pod(name)) === undefined;
    node.agent.remove("fixed.yaml");
    await node.agent.until("the mirror is gone", isGone);
    node.agent.apply("fixed.yaml", { ...rest, metadata: { name: "fixed" } });
    await node.untilReady(name);
    assert.equal((await node.pod(name))?.status?.containerStatuses?.[0]?.restartCount, 1);
    node.agent.remove("fixed.yaml");
    await node.agent.until("the mirror is gone again", isGone);
  }),
);

test("callers of the port are known by the API server's word, and may what it says", { skip }, () =>
  withNode(async (node, box) => {
    await node.untilNodeReady();
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    const tokenOf = async (name: string) => {
      await node.server.must("POST", accounts, { metadata: { name } });
      const order = {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 600 },
      };
      const path = `${accounts}/${name}/token`;
      const made = await node.server.must<{ status: { token: string } }>("POST", path, order);
      return made.status.token;
    };
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    await node.server.must("POST", `${rbac}/clusterroles`, {
      metadata: { name: "reads-metrics" },
      rules: [{ apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] }],
    });
    await node.server.must("POST", `${rbac}/clusterrolebindings`, {
      metadata: { name: "reads-metrics" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "reads-metrics",
      },
      subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
    });
    const socketPath = await box.forward(10250);
    const status = async (path: string, token?: string) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const options = { socketPath, path, headers, agent: false, rejectUnauthorized: false };
      return (await answerOf(request(options))).status;
    };
    const [reader, nobody] = [await tokenOf("reader"), await tokenOf("nobody")];
    assert.deepEqual(
      [
        await status("/metrics"),
        await status("/metrics", "wrong"),
        await status("/metrics", nobody),
        await status("/metrics", reader),
        await status("/pods", reader),
        await status("/exec/a/b/c", reader),
      ],
      [401, 401, 403, 200, 403, 403],
    );
  }),
);
