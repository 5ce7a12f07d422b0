// Memory of NUMA nodes on the kernel: which nodes a container may use, and what a restart keeps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { QUIET } from "../cgroups/pods.ts";
import { BoxedAgent, type Manifest } from "../support/agent.ts";
import { groupValue } from "../support/cgroup-box.ts";

const settings = (reserved: string) => `
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
kubeReserved: {memory: ${reserved}}
evictionHard: {memory.available: "0%"}
reservedMemory: [{numaNode: 0, limits: {memory: ${reserved}}}]
`;

const amounts = { cpu: "100m", memory: "32Mi" };
const POD: Manifest = {
  metadata: { name: "pinned", uid: "pinned" },
  spec: {
    terminationGracePeriodSeconds: 2,
    containers: [
      {
        name: "c",
        image: TEST_IMAGE,
        command: [...QUIET],
        resources: { requests: amounts, limits: amounts },
      },
    ],
  },
};

const STATE = "/var/lib/kubelet/memory_manager_state";

test("a guaranteed container has its node, before and after a restart; another reservation is refused", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, { config: settings("64Mi") });
    agent.apply("pinned.yaml", POD);
    await agent.untilReady();
    const id = agent.status()?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
    assert.equal(groupValue(box, `/kubepods/podpinned/${id}`, "cpuset.mems"), "0");
    const kept = await box.run(["cat", STATE]);
    assert.match(
      kept,
      /"pinned":\{"c":\[\{"numaAffinity":\[0\],"type":"memory","size":33554432\}\]\}/,
    );

    await agent.kill();
    await agent.start();
    await agent.untilReady();
    assert.equal(await box.run(["cat", STATE]), kept);

    await agent.kill();
    await assert.rejects(
      BoxedAgent.start(box, { config: settings("65Mi") }),
      /systemReserved of memory was 67108864 and is 68157440, please drain this node and delete/,
    );
  }));
