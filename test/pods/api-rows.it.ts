// What only pods of an API server can ask for, seen on a node with real containerd.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CoreEventList, Pod } from "../../src/api/generated/types.ts";
import { testImage } from "../box/images.ts";
import { apiServerObstacle } from "../kube/apiserver.ts";
import { conditionOf, PODS, podOf, withNode } from "../kube/cluster-node.ts";
import { manifest } from "../support/agent.ts";
import { insideOf } from "../volumes/world.ts";

const skip = apiServerObstacle() ?? false;
const ANOTHER_IMAGE = "nodelet.test/other:1";

test("a pod's image changed in place; a critical pod takes the place of another", { skip }, () =>
  withNode(
    async (node, box) => {
      const { server, agent } = node;
      const files = { who: { text: "another image" } };
      await box.importImages([testImage({ names: [ANOTHER_IMAGE], files })]);
      await server.must("POST", PODS, podOf("changes"));
      await node.untilReady("changes");
      const before = (await node.pod("changes"))?.status?.containerStatuses?.[0];
      const patch = { spec: { containers: [{ name: "main", image: ANOTHER_IMAGE }] } };
      await server.kubectl(["patch", "pod", "changes", "-p", JSON.stringify(patch)]);
      await agent.until("another attempt with the other image is ready", async () => {
        const now = (await node.pod("changes"))?.status?.containerStatuses?.[0];
        return now?.restartCount === 1 && now.ready && now.containerID !== before?.containerID;
      });
      const [after] = (await node.pod("changes"))?.status?.containerStatuses ?? [];
      assert.equal(after?.image, ANOTHER_IMAGE);
      const inside = insideOf(box, async () => (await node.pod("changes"))?.status);
      assert.equal(await inside("cat /who"), "another image");
      const list = await node.get<CoreEventList>("/api/v1/namespaces/default/events");
      const reported = "Container main definition changed, will be restarted";
      assert.ok(
        list?.items.some(({ reason, message }) => reason === "Killing" && message === reported),
      );

      const [container] = podOf("asks-for-some").spec?.containers ?? [];
      if (!container) throw new Error("a pod has a container");
      const resources = { requests: { cpu: "10m" } };
      await server.must("POST", PODS, podOf("asks", { containers: [{ ...container, resources }] }));
      await node.untilReady("asks");
      agent.apply("critical.yaml", manifest("critical"));
      let evicted: Pod | undefined;
      await agent.until("the pod that asks for nothing has gone", async () => {
        evicted = await node.pod("changes");
        return evicted?.status?.phase === "Succeeded";
      });
      // Its container exits with 0 when it is asked to stop; the Go kubelet shows no reason then either.
      assert.equal(evicted?.status?.reason, undefined);
      assert.equal(conditionOf(evicted, "DisruptionTarget"), "True");
      await node.untilReady("critical-node-1");
      assert.equal(conditionOf(await node.pod("asks"), "Ready"), "True");
      const events = await node.get<CoreEventList>("/api/v1/namespaces/default/events");
      const preempting = events?.items.find(({ reason }) => reason === "Preempting");
      assert.equal(preempting?.message, "Preempted in order to admit critical pod");
    },
    { config: "maxPods: 2" },
  ),
);
