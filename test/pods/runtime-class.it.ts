// Runtime classes of a real API server, on a containerd that has a second handler.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { type ClusterNode, PODS, podOf, withNode } from "../kube/cluster-node.ts";
import { STAY } from "../support/agent.ts";

const CLASSES = "/apis/node.k8s.io/v1/runtimeclasses";
/** The second handler's program: runc that leaves a trace. */
const PROGRAM = "/var/lib/containerd/traced-runc";
const TRACE = "/var/lib/containerd/traced-runc.log";
const RUNTIMES = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes';
const CONTAINERD = `
[${RUNTIMES}.traced]
runtime_type = "io.containerd.runc.v2"
[${RUNTIMES}.traced.options]
BinaryName = "${PROGRAM}"
`;

const { version } = cgroupRoots();
const CPU =
  version === 1
    ? { file: "cpu.cfs_quota_us", limited: "15000" }
    : { file: "cpu.max", limited: "15000 100000" };
const MEMORY_LIMIT = version === 1 ? "memory.limit_in_bytes" : "memory.max";

const limited = { requests: { cpu: "100m" }, limits: { cpu: "100m", memory: "64Mi" } };
const containers = [{ name: "main", image: TEST_IMAGE, command: [...STAY], resources: limited }];

async function make(node: ClusterNode, path: string, body: object): Promise<void> {
  const { status, body: answer } = await node.server.request({ method: "POST", path, body });
  assert.equal(status, 201, JSON.stringify(answer));
}

const messagesOf = async (node: ClusterNode, name: string): Promise<string> => {
  const found = await node.get<{ items: readonly { message?: string }[] }>(
    `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${name}`,
  );
  return (found?.items ?? []).map(({ message }) => message).join("\n");
};

test("a pod's runtime class: waited for, its handler runs the containers, its overhead counts", () =>
  withNode(
    async (node, box) => {
      box.write(PROGRAM, `#!/bin/sh\necho "$@" >> ${TRACE}\nexec ${box.runtimePaths.runc} "$@"\n`);
      await box.run(["chmod", "755", PROGRAM]);
      await node.untilNodeReady();
      const runtimeClass = {
        metadata: { name: "traced" },
        handler: "traced",
        overhead: { podFixed: { cpu: "50m", memory: "32Mi" } },
      };
      await make(node, CLASSES, runtimeClass);
      await make(node, PODS, podOf("traced", { runtimeClassName: "traced", containers }));
      await node.untilReady("traced");
      const pod = (await node.pod("traced")) as Pod;
      assert.deepEqual(pod.spec?.overhead, { cpu: "50m", memory: "32Mi" });
      assert.match(await box.run(["cat", TRACE]), / start /);
      const read = (controller: string, file: string) => {
        const group = box.cgroupPath(`/kubepods/pod${pod.metadata?.uid}`, controller);
        return readFileSync(join(group, file), "utf8").trim();
      };
      assert.equal(read("cpu", CPU.file), CPU.limited);
      assert.equal(read("memory", MEMORY_LIMIT), String(96 * 1024 ** 2));
    },
    { box: { containerdConfig: CONTAINERD } },
  ));

test("a class that is not there is waited for", () =>
  withNode(
    async (node, box) => {
      box.write(PROGRAM, `#!/bin/sh\nexec ${box.runtimePaths.runc} "$@"\n`);
      await box.run(["chmod", "755", PROGRAM]);
      await node.untilNodeReady();
      const late = { metadata: { name: "late" }, handler: "traced" };
      node.agent.apply("pod.yaml", {
        metadata: { name: "static" },
        spec: { runtimeClassName: "late", containers },
      });
      const reported = 'Failed to create pod sandbox: runtimeclass.node.k8s.io "late" not found';
      await node.agent.until("it says why", async () =>
        (await messagesOf(node, "static-node-1")).includes(reported),
      );
      await make(node, CLASSES, late);
      await node.untilReady("static-node-1");
    },
    { box: { containerdConfig: CONTAINERD } },
  ));
