// A node whose disk is full: nothing is torn, an event says so, all goes on when there is space.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CoreEvent } from "../../src/api/generated/types.ts";
import { apiServerObstacle } from "../kube/apiserver.ts";
import { PODS, podOf, withNode } from "../kube/cluster-node.ts";
import { insideOf, staying } from "./world.ts";

const skip = apiServerObstacle() ?? false;
const DEFAULT = "/api/v1/namespaces/default";
const SIZE = 200_000;
const FULL = /^MountVolume.SetUp failed for volume "c" : .*no space left on device/;

const withConfig = {
  volumes: [{ name: "c", configMap: { name: "big" } }],
  containers: [staying("main", { volumeMounts: [{ name: "c", mountPath: "/c" }] })],
};

test(
  "a full disk: old files stay whole, a new pod waits and says why, both continue once there is space",
  { skip },
  () =>
    withNode(
      async (node, box) => {
        const { server, agent } = node;
        const inside = insideOf(box, async () => (await node.pod("old"))?.status);
        const body = (text: string) => ({
          metadata: { name: "big" },
          data: { a: text.repeat(SIZE), b: text.repeat(SIZE) },
        });
        const hasEvent = async (pod: string) => {
          const events = await node.get<{ items: readonly CoreEvent[] }>(`${DEFAULT}/events`);
          return (events?.items ?? []).some(
            ({ involvedObject, reason, message }) =>
              involvedObject?.name === pod && reason === "FailedMount" && FULL.test(message ?? ""),
          );
        };
        await server.must("POST", `${DEFAULT}/configmaps`, body("o"));
        await server.must("POST", PODS, podOf("old", withConfig));
        await node.untilReady("old");
        // What the agent keeps for its own statuses would free enough space for the pod for a moment.
        await box.run(["rm", "-f", "/var/lib/kubelet/nodelet/reserve"]);
        await box.run([
          "sh",
          "-c",
          "dd if=/dev/zero of=/var/lib/kubelet/filler bs=4k 2>/dev/null || true",
        ]);
        await server.must("PUT", `${DEFAULT}/configmaps/big`, body("n"));
        await agent.until("an event says that the change cannot be written", () => hasEvent("old"));
        const whole = `tr -d o </c/a | wc -c; tr -d o </c/b | wc -c; cat /c/a /c/b | wc -c; ls -a /c`;
        const [a, b, both, ...names] = (await inside(whole)).trim().split("\n");
        assert.deepEqual([a, b, both], ["0", "0", `${2 * SIZE}`]);
        assert.equal(names.filter((name) => name.startsWith("..2")).length, 1);
        await server.must("POST", PODS, podOf("late", withConfig));
        await agent.until("the new pod says why it waits", () => hasEvent("late"));
        await box.run(["rm", "/var/lib/kubelet/filler"]);
        await node.untilReady("late");
        await agent.until(
          "the old pod follows",
          async () => (await inside("tr -d n </c/a | wc -c; tail -c 1 /c/b")) === "0\nn",
          90_000,
        );
      },
      { box: { storeMib: 128 } },
    ),
);
