// Resource claims with a real control plane, a real runtime and drivers over real sockets: what the node may read, what
// containers get, what drivers are asked and when, and what their faults do.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Container, CoreEvent, Pod } from "../../src/api/generated/types.ts";
import { connectGrpc } from "../../src/outside/grpc/grpc.ts";
import type { Box, BoxProcess } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { apiServerObstacle } from "../kube/apiserver.ts";
import { type ClusterNode, PODS, podOf, withNode } from "../kube/cluster-node.ts";
import { STAY } from "../support/agent.ts";
import { ClaimDriver } from "../support/claim-driver.ts";
import { cdiDevice, cdiId, writeCdi } from "./cdi.ts";
import { allocatedStatus, CLAIMS, claimObject } from "./claim-objects.ts";

const skip = apiServerObstacle() ?? false;

const GPU = "gpu.example.com";
const NIC = "nic.example.com";
const SLICES = "/apis/resource.k8s.io/v1/resourceslices";
const REGISTRY = "/var/lib/kubelet/plugins_registry";
const folderOf = (driver: string) => `/var/lib/kubelet/plugins/${driver}`;
const MAIN = new URL("driver-main.ts", import.meta.url).pathname;

/** Node, drivers and what the tests of them ask. */
class ClaimNode {
  readonly node: ClusterNode;
  readonly box: Box;
  /** What the driver of GPUs answers to the next preparations; empty for success. */
  gpuFault = "";
  /** Containers that ran while a claim was unprepared. */
  readonly usedWhileEnding: string[] = [];

  constructor(node: ClusterNode, box: Box) {
    this.node = node;
    this.box = box;
    for (const folder of [REGISTRY, folderOf(GPU), folderOf(NIC)])
      mkdirSync(box.path(folder), { recursive: true });
  }

  /** In this process, so that the test can be asked what to answer. */
  startGpu(): Promise<ClaimDriver> {
    const root = this.box.path("");
    return new ClaimDriver(connectGrpc(), {
      name: GPU,
      registry: REGISTRY,
      folder: folderOf(GPU),
      root,
      before: async (call, claims) => {
        if (call === "unprepare")
          for (const pod of ["web", "web2"])
            this.usedWhileEnding.push(...(await this.running(pod)));
        else for (const { uid } of claims) writeCdi(uid, root);
      },
      error: (call) => (call === "prepare" ? this.gpuFault : ""),
      devices: ({ uid }) => [cdiDevice(uid)],
    }).start();
  }

  /** As a process, so that it can be killed. */
  startNic(): BoxProcess {
    return this.box.spawnLogged("nic", [process.execPath, MAIN, NIC, REGISTRY, folderOf(NIC)]);
  }

  /** Containers and sandboxes of the pod that run. */
  async running(pod: string): Promise<readonly string[]> {
    const ids = await this.containers(pod);
    const tasks = (await this.box.ctr("tasks", "list")).split("\n");
    return tasks.filter((line) => / RUNNING\b/.test(line) && ids.some((id) => line.startsWith(id)));
  }

  /** Ids of all that the runtime has of the pod. */
  async containers(pod: string): Promise<readonly string[]> {
    const filter = `labels."io.kubernetes.pod.name"==${pod}`;
    const listed = await this.box.ctr("containers", "list", "-q", filter);
    return listed.split("\n").filter((id) => id !== "");
  }

  async addClaim(name: string): Promise<void> {
    await this.node.server.must("POST", CLAIMS, claimObject(name));
  }

  /** What a scheduler and its controllers do: allocates the claim and reserves it for the pods. */
  async allocate(name: string, driver: string, ...pods: readonly string[]): Promise<void> {
    const claim = await this.node.get<object>(`${CLAIMS}/${name}`);
    const users = await Promise.all(pods.map((pod) => this.node.pod(pod)));
    const status = allocatedStatus(
      { driver, device: "d0" },
      users.flatMap((pod) => pod ?? []),
    );
    await this.node.server.must("PUT", `${CLAIMS}/${name}/status`, { ...claim, status });
  }

  async addPod(name: string, claim?: string): Promise<void> {
    const resourceClaims = claim ? [{ name: "mine", resourceClaimName: claim }] : [];
    const pod = podOf(name, { resourceClaims, containers: [...containersOf(claim)] });
    await this.node.server.must("POST", PODS, pod);
  }

  async deletePod(name: string): Promise<void> {
    await this.node.server.kubectl(["delete", "pod", name, "--wait=false"]);
    await this.node.agent.until(
      `${name} is gone`,
      async () => (await this.node.pod(name)) === undefined,
    );
  }

  async untilEvent(pod: string, text: string): Promise<void> {
    await this.node.agent.until(`${pod} waits: ${text}`, async () => {
      const events = "/api/v1/namespaces/default/events";
      const list = await this.node.get<{ items: readonly CoreEvent[] }>(events);
      return (list?.items ?? []).some(
        ({ reason, message = "", involvedObject }) =>
          involvedObject.name === pod &&
          reason === "FailedPrepareDynamicResources" &&
          message.includes(text),
      );
    });
  }

  async slices(): Promise<string> {
    const list = await this.node.get<{ items: readonly Pod[] }>(SLICES);
    return (list?.items ?? []).map(({ metadata }) => metadata?.name).join(" ");
  }

  async addSlice(name: string, nodeName: string): Promise<void> {
    const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
    await this.node.server.must("POST", SLICES, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: { name },
      spec: { driver: NIC, nodeName, pool, devices: [{ name: "d0" }] },
    });
  }
}

/** One that uses the pod's claim and says what it sees of it, and one that does not. */
function containersOf(claim: string | undefined): readonly Container[] {
  if (claim === undefined) return [{ name: "main", image: TEST_IMAGE, command: [...STAY] }];
  const say = 'echo "claimed $CLAIMED $(ls -l /dev/claimed 2>&1)"';
  const one = { image: TEST_IMAGE, command: ["sh", "-c", `${say}; ${STAY[2]}`] };
  return [
    { ...one, name: "main", resources: { claims: [{ name: "mine", request: "gpu" }] } },
    { ...one, name: "other" },
  ];
}

test(
  "claims of pods: CDI devices, the order of things, drivers and agents that die",
  {
    skip,
  },
  () =>
    withNode(
      async (node, box) => {
        const claims = new ClaimNode(node, box);
        await node.untilNodeReady();
        await using gpu = await claims.startGpu();
        const nic = claims.startNic();
        await node.agent.until("the driver is registered", () =>
          gpu.statuses.includes("registered"),
        );
        await refusedThenPrepared(claims, gpu);
        await seesItsDevice(claims, gpu);
        await agentIsKilled(claims);
        await sharedByTwo(claims, gpu);
        await driverIsKilled(claims, nic);
        const { restartCount } = (await node.pod("plain"))?.status?.containerStatuses?.[0] ?? {};
        assert.equal(restartCount, 0);
      },
      { box: { containerd: "2.4" } },
    ),
);

/** A driver that refuses: its pod waits, without a sandbox, and others do not notice. */
async function refusedThenPrepared(claims: ClaimNode, gpu: ClaimDriver): Promise<void> {
  const { node } = claims;
  claims.gpuFault = "the device is broken";
  for (const claim of ["gpu", "nic"]) await claims.addClaim(claim);
  await claims.addPod("plain");
  await claims.addPod("net", "nic");
  await claims.addPod("web", "gpu");
  await claims.untilEvent("web", "is not allowed to use ResourceClaim gpu");
  await claims.allocate("gpu", GPU, "web");
  await claims.allocate("nic", NIC, "net");
  const refused = "NodePrepareResources failed for ResourceClaim gpu: the device is broken";
  await claims.untilEvent("web", refused);
  assert.deepEqual(await claims.containers("web"), []);
  assert.equal((await node.pod("web"))?.status?.phase, "Pending");
  await node.untilReady("plain");
  await node.untilReady("net");
  assert.deepEqual([...gpu.prepared], []);
  claims.gpuFault = "";
}

/** The container that names the claim, and no other; with the health that the driver reports. */
async function seesItsDevice({ node }: ClaimNode, gpu: ClaimDriver): Promise<void> {
  const { agent, server } = node;
  await node.untilReady("web");
  const uid = (await node.get<Pod>(`${CLAIMS}/gpu`))?.metadata?.uid ?? "";
  const log = await server.kubectl(["logs", "web", "-c", "main"]);
  assert.match(log, new RegExp(`^claimed ${uid} crw.*/dev/claimed`));
  const other = await server.kubectl(["logs", "web", "-c", "other"]);
  assert.match(other, /^claimed +ls: .*No such file/);
  gpu.report({ device: "d0", pool: "p", health: 2, message: "too hot" });
  const health = { resourceID: cdiId(uid), health: "Unhealthy", message: "too hot" };
  await agent.until("its health is shown", async () => {
    const statuses = (await node.pod("web"))?.status?.containerStatuses ?? [];
    const shown = statuses.find((status) => status.name === "main")?.allocatedResourcesStatus;
    return isDeepStrictEqual(shown, [{ name: "claim:mine/gpu", resources: [health] }]);
  });
}

/** Pods and what is prepared outlive it; of slices, all of the node go when it starts, as its identity may, and no others. */
async function agentIsKilled(claims: ClaimNode): Promise<void> {
  const { agent } = claims.node;
  await claims.addSlice("another", "node-2");
  await claims.addSlice("own", "node-1");
  await agent.kill();
  await agent.start();
  await agent.until("its slices are deleted", async () => (await claims.slices()) === "another");
}

/** In a new run of the agent the driver is asked once for all users; the last of them ends the claim. */
async function sharedByTwo(claims: ClaimNode, gpu: ClaimDriver): Promise<void> {
  const { node } = claims;
  const before = gpu.calls.length;
  const [uid = ""] = gpu.prepared;
  await claims.addPod("web2", "gpu");
  await claims.untilEvent("web2", "is not allowed to use ResourceClaim gpu");
  await claims.allocate("gpu", GPU, "web", "web2");
  await node.untilReady("web2");
  await claims.deletePod("web");
  assert.deepEqual([...gpu.prepared], [uid]);
  assert.equal((await claims.running("web2")).length, 3);
  await claims.deletePod("web2");
  assert.deepEqual(gpu.calls.slice(before), [`prepare ${uid}`, `unprepare ${uid}`]);
  assert.deepEqual([...gpu.prepared], []);
  assert.deepEqual(claims.usedWhileEnding, []);
}

/** Its pod goes on, and ends when the driver is back. */
async function driverIsKilled(claims: ClaimNode, nic: BoxProcess): Promise<void> {
  const { node } = claims;
  await nic.kill("SIGKILL");
  await nic.exited;
  await node.untilReady("net");
  await node.server.kubectl(["delete", "pod", "net", "--wait=false"]);
  await node.agent.until(
    "its containers have ended",
    async () => (await claims.running("net")).length === 0,
  );
  assert.ok(await node.pod("net"), "it stays until its claim is unprepared");
  claims.startNic();
  await node.agent.until("it ends", async () => (await node.pod("net")) === undefined);
}
