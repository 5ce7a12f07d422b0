// Devices on real containerd: what containers see of theirs, from inside.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { withBox } from "../box/box.ts";
import { manifest } from "../support/agent.ts";
import {
  BOX,
  CHECK_AND_FAIL,
  CHECK_AND_STAY,
  CHECK_ONCE,
  container,
  DeviceNode,
  gpuPod,
  type Seen,
} from "./boxed-plugin.ts";

/** The three ways to see devices say the same. */
function idsOf({ variable, nodes, folders }: Seen): string {
  assert.equal(nodes, variable === "" ? "" : `${variable},`);
  assert.equal(folders, variable);
  return variable;
}

test("pods see exactly their devices, share none, and have the same after every restart", () =>
  withBox(BOX, async (box) => {
    const node = await DeviceNode.start(box, "node");
    const { agent } = node;
    agent.apply("a.yaml", gpuPod("a", 2));
    agent.apply("b.yaml", gpuPod("b", 1, CHECK_AND_FAIL));
    await agent.until(
      "all have checked",
      () => node.seen("a").length === 1 && node.seen("b").length >= 2,
      90_000,
    );
    const a = node.seen("a").map(idsOf);
    const b = node.seen("b").map(idsOf);
    assert.equal(a[0]?.split(",").length, 2);
    assert.equal(new Set(b).size, 1, `b had ${b}`);
    const all = [...(a[0] ?? "").split(","), ...(b[0] ?? "").split(",")];
    assert.equal(new Set(all).size, 3, `shared: ${all}`);
    const asked = node.calls("preStart").filter((ids) => ids.join() === b[0]);
    assert.ok(asked.length >= b.length, "the plugin is asked before every start");
    assert.equal(node.calls("allocate").length, 2);
    // The checkpoint is lost: who has what is read from the containers themselves.
    const before = await node.owners();
    await agent.kill();
    rmSync(box.path("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"));
    await agent.start();
    await node.offered();
    assert.deepEqual((await node.owners()).get("a"), before.get("a"));
    agent.remove("a.yaml");
    agent.remove("b.yaml");
    await agent.until("all are free", async () => (await node.owners()).size === 0);
  }));

test("8 devices, init container 4 and app 2: after init two are free again", () =>
  withBox(BOX, async (box) => {
    const node = await DeviceNode.start(box, "node");
    const { agent } = node;
    const podOf = (name: string) =>
      manifest(name, {
        initContainers: [container("prep", 4, CHECK_ONCE)],
        containers: [container("main", 2, CHECK_AND_STAY)],
      });
    agent.apply("one.yaml", podOf("one"));
    await agent.untilReady(1, 60_000);
    await agent.until(
      "both have checked",
      () => node.seen("one", "prep").length === 1 && node.seen("one").length === 1,
    );
    const prep = idsOf(node.seen("one", "prep")[0] as Seen).split(",");
    const main = idsOf(node.seen("one")[0] as Seen).split(",");
    assert.equal(prep.length, 4);
    assert.ok(main.length === 2 && main.every((id) => prep.includes(id)), `${main} of ${prep}`);
    const resource = await node.resource();
    assert.deepEqual(resource?.counts, { free: 6, owned: 2, unusable: 0 });
    agent.apply("two.yaml", gpuPod("two", 6));
    await agent.untilReady(2, 60_000);
    assert.deepEqual((await node.resource())?.counts, { free: 0, owned: 8, unusable: 0 });
    agent.apply("three.yaml", gpuPod("three", 1));
    await agent.until("the third is refused", () =>
      [...agent.statuses().values()].some(({ message = "" }) =>
        message.includes(
          "requested number of devices unavailable for nodelet.test/gpu. Requested: 1, Available: 0",
        ),
      ),
    );
  }));
