// A device plugin in Go, on grpc-go, against the agent on real containerd: restarts of either in all orders.
import assert from "node:assert/strict";
import { test } from "node:test";
import { messageOf } from "../../src/kit/errors.ts";
import { withBox } from "../box/box.ts";
import { BOX, DeviceNode, gpuPod } from "./boxed-plugin.ts";
import { pluginProgram } from "./programs.ts";

type Restart = "plugin" | "agent" | "both, plugin first" | "both, agent first";

const RESTARTS: readonly Restart[] = ["plugin", "agent", "both, plugin first", "both, agent first"];

/** Why there is no Go here; undefined when there is. */
function goObstacle(): string | undefined {
  try {
    pluginProgram("go");
    return undefined;
  } catch (error) {
    return `no device plugin in Go can be built: ${messageOf(error)}`;
  }
}

async function restart(node: DeviceNode, which: Restart): Promise<void> {
  const { agent } = node;
  switch (which) {
    case "plugin":
      await node.killPlugin();
      node.startPlugin();
      return;
    case "agent":
      await agent.kill();
      await agent.start();
      return;
    case "both, plugin first":
      await node.killPlugin();
      await agent.kill();
      node.startPlugin();
      await agent.start();
      return;
    case "both, agent first":
      await agent.kill();
      await node.killPlugin();
      await agent.start();
      node.startPlugin();
      return;
    default:
      which satisfies never;
  }
}

test(
  "a Go plugin: register, list, allocate, and restarts in all orders",
  { skip: goObstacle() ?? false },
  () =>
    withBox(BOX, async (box) => {
      const node = await DeviceNode.start(box, "go");
      const { agent } = node;
      agent.apply("p0.yaml", gpuPod("p0", 1));
      await agent.untilReady(1, 60_000);
      const ids = () =>
        [...agent.statuses().values()].map(
          ({ containerStatuses }) => containerStatuses?.[0]?.containerID,
        );
      for (const [i, which] of RESTARTS.entries()) {
        const before = {
          owners: await node.owners(),
          ids: ids(),
          asked: node.calls("allocate").length,
        };
        await restart(node, which);
        await node.offered();
        assert.deepEqual(await node.owners(), before.owners, `after ${which}`);
        assert.deepEqual(ids(), before.ids, `after ${which}`);
        assert.equal(node.calls("allocate").length, before.asked, `after ${which}`);
        const name = `p${i + 1}`;
        agent.apply(`${name}.yaml`, gpuPod(name, 1));
        await agent.untilReady(i + 2, 60_000);
        await agent.until("it has checked", () => node.seen(name).length > 0);
        assert.equal(node.seen(name)[0]?.variable, (await node.owners()).get(name)?.join());
      }
      const all = [...(await node.owners()).values()].flat();
      assert.equal(new Set(all).size, RESTARTS.length + 1);
      // Without a plugin a new pod waits and says for what; it starts as soon as the plugin is back.
      await node.killPlugin();
      agent.apply("late.yaml", gpuPod("late", 1));
      await agent.until("the pod waits", () =>
        [...agent.statuses().values()].some(
          ({ containerStatuses }) =>
            containerStatuses?.[0]?.state?.waiting?.reason === "WaitingForDevices",
        ),
      );
      node.startPlugin();
      await agent.untilReady(RESTARTS.length + 2, 60_000);
    }),
);
