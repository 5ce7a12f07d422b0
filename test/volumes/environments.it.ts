// Environments out of objects of a real API server, seen from inside the containers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServerObstacle } from "../kube/apiserver.ts";
import { PODS, podOf, withNode } from "../kube/cluster-node.ts";
import { base64, configMap, DEFAULT, eventTexts, secret, started } from "./objects.ts";
import { insideOf, staying } from "./world.ts";

const skip = apiServerObstacle() ?? false;

test(
  "environments: envFrom, keys, optional ones, services, and what is reported when one is missing",
  { skip },
  () =>
    withNode(async (node, box) => {
      const inside = insideOf(box, async () => node.pod("pod").then((pod) => pod?.status));
      const { server } = node;
      await server.must(
        "POST",
        `${DEFAULT}/configmaps`,
        configMap("settings", { ONE: "1", TWO: "2" }),
      );
      await server.must("POST", `${DEFAULT}/secrets`, secret("keys", { key: "geheim" }));
      await server.must("POST", `${DEFAULT}/services`, {
        metadata: { name: "my-db" },
        spec: { clusterIP: "10.96.3.3", ports: [{ port: 5432 }] },
      });
      await server.must("POST", `${DEFAULT}/secrets`, {
        metadata: { name: "store" },
        data: { bytes: Buffer.from([0xfe, 0xed]).toString("base64"), text: base64("größe") },
      });
      await started(node, {
        containers: [
          staying("main", {
            envFrom: [
              { secretRef: { name: "store" } },
              { configMapRef: { name: "settings" }, prefix: "P_" },
              { secretRef: { name: "keys" } },
              { secretRef: { name: "nothing", optional: true } },
            ],
            env: [
              { name: "TWO", valueFrom: { configMapKeyRef: { name: "settings", key: "TWO" } } },
              { name: "KEY", valueFrom: { secretKeyRef: { name: "keys", key: "key" } } },
              {
                name: "GONE",
                valueFrom: { secretKeyRef: { name: "keys", key: "none", optional: true } },
              },
              { name: "ALL", value: "$(P_ONE)-$(TWO)-$(MY_DB_SERVICE_HOST)" },
            ],
          }),
        ],
      });
      const env = new Set((await inside("env")).split("\n"));
      for (const line of [
        "P_ONE=1",
        "P_TWO=2",
        "key=geheim",
        "text=größe",
        "KEY=geheim",
        "TWO=2",
        "ALL=1-2-10.96.3.3",
        "MY_DB_PORT_5432_TCP_ADDR=10.96.3.3",
        "KUBERNETES_SERVICE_HOST=10.96.0.1",
      ])
        assert.ok(env.has(line), `${line} is not in\n${[...env].join("\n")}`);
      assert.ok(![...env].some((line) => /^(GONE|bytes)=/.test(line)));
      await node.agent.until("what is left out is reported", async () =>
        (await eventTexts(node)).some((line) =>
          line.startsWith(
            "InvalidEnvironmentVariableValues: Keys [bytes] from the EnvFrom secret default/store",
          ),
        ),
      );
      await server.must(
        "POST",
        PODS,
        podOf("bad", {
          enableServiceLinks: false,
          containers: [
            staying("nokey", {
              env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "settings", key: "x" } } }],
            }),
            staying("noobject", { envFrom: [{ secretRef: { name: "late" } }] }),
            staying("bytes", {
              env: [{ name: "A", valueFrom: { secretKeyRef: { name: "store", key: "bytes" } } }],
            }),
          ],
        }),
      );
      const waiting = async (name: string) =>
        (await node.pod("bad"))?.status?.containerStatuses?.find((one) => one.name === name)?.state
          ?.waiting;
      await node.agent.until(
        "both wait",
        async () => (await waiting("noobject"))?.reason === "CreateContainerConfigError",
      );
      assert.equal(
        (await waiting("nokey"))?.message,
        "couldn't find key x in ConfigMap default/settings",
      );
      assert.equal((await waiting("noobject"))?.message, 'secret "late" not found');
      assert.match(
        (await waiting("bytes"))?.message ?? "",
        /^the value of key bytes in Secret default\/store is not UTF-8/,
      );
    }),
);
