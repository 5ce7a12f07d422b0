// What pods refer to, from a real API server that shows a node only what its pods refer to.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TEST_IMAGE } from "../box/images.ts";
import { STAY } from "../support/agent.ts";
import { apiServerObstacle } from "./apiserver.ts";
import { PODS, podOf, withNode } from "./cluster-node.ts";

const skip = apiServerObstacle() ?? false;
const DEFAULT = "/api/v1/namespaces/default";

test("secrets, config maps and tokens reach the pod, and a change of them too", { skip }, () =>
  withNode(async (node) => {
    await node.untilNodeReady();
    const { server, agent } = node;
    await server.must("POST", `${DEFAULT}/secrets`, {
      metadata: { name: "secret" },
      stringData: { word: "open sesame" },
    });
    await server.must("POST", `${DEFAULT}/configmaps`, {
      metadata: { name: "settings" },
      data: { colour: "red" },
    });
    await server.must("POST", `${DEFAULT}/serviceaccounts`, { metadata: { name: "app" } });
    const sources = [
      { serviceAccountToken: { path: "token", expirationSeconds: 600 } },
      { secret: { name: "secret" } },
    ];
    await server.must(
      "POST",
      PODS,
      podOf("web", {
        serviceAccountName: "app",
        containers: [
          {
            name: "main",
            image: TEST_IMAGE,
            command: [...STAY],
            env: [
              { name: "WORD", valueFrom: { secretKeyRef: { name: "secret", key: "word" } } },
              { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
            ],
            volumeMounts: [
              { name: "settings", mountPath: "/settings" },
              { name: "all", mountPath: "/all" },
            ],
          },
        ],
        volumes: [
          { name: "settings", configMap: { name: "settings" } },
          { name: "all", projected: { sources } },
        ],
      }),
    );
    await node.untilReady("web");
    const inside = (script: string) => server.kubectl(["exec", "web", "--", "sh", "-c", script]);
    assert.equal(await inside('echo "$WORD $NODE"'), "open sesame node-1\n");
    assert.equal(await inside("cat /settings/colour /all/word"), "redopen sesame");
    const token = await inside("cat /all/token");
    const review = await server.must<{ status: { user?: { username?: string } } }>(
      "POST",
      "/apis/authentication.k8s.io/v1/tokenreviews",
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } },
    );
    assert.equal(review.status.user?.username, "system:serviceaccount:default:app");
    await server.must("PUT", `${DEFAULT}/configmaps/settings`, {
      metadata: { name: "settings" },
      data: { colour: "blue" },
    });
    await agent.until(
      "the pod sees the other colour",
      async () => (await inside("cat /settings/colour")) === "blue",
      90_000,
    );
  }),
);
