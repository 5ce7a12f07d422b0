// Volumes of a CSI driver in real containers, on a node of a real API server that shows a node only what is its own.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { CSINode, PersistentVolumeSpec, PodStatus } from "../../src/api/generated/types.ts";
import { attachmentName } from "../../src/subsystems/csi/csi-paths.ts";
import type { Box, BoxProcess } from "../box/box.ts";
import { apiServerObstacle } from "../kube/apiserver.ts";
import { type ClusterNode, NODE, PODS, podOf, withNode } from "../kube/cluster-node.ts";
import { podTraces } from "../support/agent.ts";
import { loopObstacle } from "../support/loop-device.ts";
import { boundClaim } from "./bound-claim.ts";
import { eventTexts } from "./objects.ts";
import { insideOf, staying } from "./world.ts";

const skip = apiServerObstacle() ?? loopObstacle() ?? false;
const DRIVER = "csi.nodelet.test";
const REGISTRY = "/var/lib/kubelet/plugins_registry";
const PROGRAM = join(import.meta.dirname, "csi-driver-main.ts");
const STORAGE = "/apis/storage.k8s.io/v1";
const STATUS_PATCH = "application/merge-patch+json";

/** A node with a driver beside the agent, and the controller that is in these tests. */
class CsiNodeBox {
  readonly node: ClusterNode;
  readonly box: Box;
  readonly folder: string;
  #driver: BoxProcess | undefined;

  constructor(node: ClusterNode, box: Box) {
    this.node = node;
    this.box = box;
    this.folder = join(box.folder, "csi");
    mkdirSync(this.folder);
  }

  startDriver(): void {
    this.#driver = this.box.spawnLogged("driver", [
      process.execPath,
      PROGRAM,
      DRIVER,
      this.folder,
      REGISTRY,
    ]);
  }

  /** `kill -9`; its sockets go as with the pod of a driver. */
  async killDriver(): Promise<void> {
    await this.#driver?.kill("SIGKILL");
    await this.#driver?.exited;
    await this.box.run(["rm", "-f", `${REGISTRY}/${DRIVER}-reg.sock`]);
  }

  /** How calls are to fail from now on. */
  setFaults(faults: object): void {
    writeFileSync(join(this.folder, "faults"), JSON.stringify(faults));
  }

  /** Calls of a volume in their order, repetitions left out. */
  calls(volume: string): string {
    const file = join(this.folder, "calls");
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    const own = lines
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { call: string; volume: string })
      .filter((each) => each.volume === volume && each.call !== "stats")
      .map(({ call }) => call);
    return own.filter((each, at) => each !== own[at - 1]).join(" ");
  }

  forgetCalls(): void {
    rmSync(join(this.folder, "calls"), { force: true });
  }

  get violations(): string {
    const file = join(this.folder, "violations");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  csiNode(): Promise<CSINode | undefined> {
    return this.node.get<CSINode>(`${STORAGE}/csinodes/${NODE}`);
  }

  untilRegistered(): Promise<number> {
    return this.node.agent.until("the driver is in CSINode", async () =>
      ((await this.csiNode())?.spec.drivers ?? []).some(({ name }) => name === DRIVER),
    );
  }

  /** A volume of the driver with a claim of its name. */
  claimed(name: string, spec: Partial<PersistentVolumeSpec> = {}): Promise<void> {
    const csi = { driver: DRIVER, volumeHandle: name };
    return boundClaim(this.node, name, { storageClassName: "csi", csi, ...spec });
  }

  async inUse(): Promise<readonly string[]> {
    return (await this.node.node())?.status?.volumesInUse ?? [];
  }

  /** What the controller does: the object of the attachment, and the node's status. */
  async attach(handle: string): Promise<void> {
    const { server } = this.node;
    const name = attachmentName(handle, DRIVER, NODE);
    const spec = { attacher: DRIVER, nodeName: NODE, source: { persistentVolumeName: handle } };
    await server.must("POST", `${STORAGE}/volumeattachments`, { metadata: { name }, spec });
    await this.#patch(`${STORAGE}/volumeattachments/${name}/status`, { attached: true });
    const volumesAttached = [{ name: keyOf(handle), devicePath: "" }];
    await this.#patch(`/api/v1/nodes/${NODE}/status`, { volumesAttached });
  }

  async #patch(path: string, status: object): Promise<void> {
    const body = { status };
    const reply = await this.node.server.request({
      method: "PATCH",
      path,
      body,
      contentType: STATUS_PATCH,
    });
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
  }

  inside(pod: string): (script: string) => Promise<string> {
    const status = async (): Promise<PodStatus | undefined> => (await this.node.pod(pod))?.status;
    return insideOf(this.box, status);
  }

  async start(name: string, claims: readonly string[], more: object = {}): Promise<void> {
    const volumeMounts = claims.map((claim) => ({ name: claim, mountPath: `/${claim}` }));
    await this.node.server.must(
      "POST",
      PODS,
      podOf(name, {
        containers: [staying("main", { volumeMounts })],
        volumes: claims.map((claim) => ({
          name: claim,
          persistentVolumeClaim: { claimName: claim },
        })),
        ...more,
      }),
    );
  }

  remove(name: string): Promise<string> {
    return this.node.server.kubectl(["delete", "pod", name, "--wait=false"]);
  }

  /** Everything of volumes that must be as before when the pods are gone. */
  async traces(): Promise<unknown> {
    const folders = `find /var/lib/kubelet/plugins/kubernetes.io/csi/${DRIVER} -mindepth 1 2>/dev/null || true`;
    const mounts = "grep /var/lib/kubelet/plugins /proc/self/mounts || true";
    return {
      ...(await podTraces(this.box)),
      volumes: await this.box.run(["sh", "-c", `${folders}; ${mounts}`]),
    };
  }

  async untilGone(before: unknown): Promise<void> {
    let now: unknown;
    await this.node.agent.until("nothing is left", async () => {
      now = await this.traces();
      return JSON.stringify(now) === JSON.stringify(before);
    });
    assert.deepEqual(now, before);
    assert.equal(this.violations, "");
  }
}

const keyOf = (handle: string) => `kubernetes.io/csi/${DRIVER}^${handle}`;

function withDriver(use: (csi: CsiNodeBox) => Promise<void>): Promise<void> {
  return withNode(async (node, box) => {
    await node.untilNodeReady();
    const csi = new CsiNodeBox(node, box);
    csi.startDriver();
    await csi.untilRegistered();
    await use(csi);
  });
}

test(
  "a driver registers: CSINode, annotation and label of the node; it goes and comes",
  { skip },
  () =>
    withDriver(async (csi) => {
      const found = await csi.csiNode();
      assert.deepEqual(found?.spec.drivers, [
        {
          name: DRIVER,
          nodeID: "node-of-the-driver",
          topologyKeys: ["topology.nodelet.test/zone"],
          allocatable: { count: 7 },
        },
      ]);
      assert.deepEqual(
        found?.metadata?.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`),
        [`Node ${NODE}`],
      );
      const { labels, annotations } = (await csi.node.node())?.metadata ?? {};
      assert.equal(labels?.["topology.nodelet.test/zone"], "z1");
      assert.equal(
        annotations?.["csi.volume.kubernetes.io/nodeid"],
        `{"${DRIVER}":"node-of-the-driver"}`,
      );
      await csi.killDriver();
      await csi.node.agent.until("the driver is out of CSINode", async () => {
        const now = await csi.csiNode();
        return now !== undefined && (now.spec.drivers ?? []).length === 0;
      });
      csi.startDriver();
      await csi.untilRegistered();
    }),
);

test(
  "a persistent volume waits for its attachment, is mounted, survives kill -9, and leaves nothing",
  { skip },
  () =>
    withDriver(async (csi) => {
      const { agent } = csi.node;
      const before = await csi.traces();
      await csi.claimed("disk", {
        csi: {
          driver: DRIVER,
          volumeHandle: "disk",
          fsType: "ext4",
          volumeAttributes: { disk: "ext4" },
        },
      });
      await csi.start("writer", ["disk"], { securityContext: { fsGroup: 4242 } });
      await agent.until("the volume is in use", async () =>
        (await csi.inUse()).includes(keyOf("disk")),
      );
      assert.equal(csi.calls("disk"), "");
      await csi.attach("disk");
      await csi.node.untilReady("writer");
      assert.equal(csi.calls("disk"), "St Pb");
      const inside = csi.inside("writer");
      assert.match(await inside("grep ' /disk ' /proc/self/mounts"), /^\S+ \/disk ext4 rw/);
      assert.equal(await inside("echo kept > /disk/file; stat -c %g /disk"), "4242\n");
      csi.forgetCalls();
      await agent.kill();
      await agent.start();
      await agent.until("the volume is published again", async () =>
        csi.calls("disk").includes("Pb"),
      );
      assert.equal(csi.calls("disk"), "St Pb");
      assert.equal(await inside("cat /disk/file"), "kept\n");
      csi.forgetCalls();
      await csi.remove("writer");
      await csi.untilGone(before);
      assert.equal(csi.calls("disk"), "Up Us");
      await agent.until("the volume is not in use", async () => (await csi.inUse()).length === 0);
      assert.deepEqual(
        (await eventTexts(csi.node)).filter((text) => text.startsWith("FailedMount")),
        [],
      );
    }),
);

test("an inline volume, and one that the driver does not let be mounted at first", { skip }, () =>
  withDriver(async (csi) => {
    const before = await csi.traces();
    await csi.node.server.must("POST", `${STORAGE}/csidrivers`, {
      metadata: { name: DRIVER },
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        volumeLifecycleModes: ["Persistent", "Ephemeral"],
      },
    });
    csi.setFaults({ St: { status: "Internal" } });
    await csi.claimed("memory");
    await csi.start("reader", ["memory"], {
      volumes: [
        { name: "memory", persistentVolumeClaim: { claimName: "memory" } },
        { name: "inline", csi: { driver: DRIVER } },
      ],
      containers: [
        staying("main", {
          volumeMounts: [
            { name: "memory", mountPath: "/memory", subPath: "below" },
            { name: "inline", mountPath: "/inline" },
          ],
        }),
      ],
    });
    await csi.node.agent.until("the event names the driver's refusal", async () =>
      (await eventTexts(csi.node)).includes(
        'FailedMount: MountVolume.MountDevice failed for volume "memory" : rpc error: code = Internal desc = as the test asks',
      ),
    );
    csi.setFaults({});
    await csi.node.untilReady("reader");
    assert.equal(
      await csi.inside("reader")("grep -cE ' /(memory|inline) tmpfs ' /proc/self/mounts"),
      "2\n",
    );
    await csi.killDriver();
    await csi.remove("reader");
    await csi.node.agent.until("the containers are gone", async () => {
      const pod = await csi.node.pod("reader");
      return (pod?.status?.containerStatuses ?? []).every(({ state }) => state?.terminated);
    });
    csi.startDriver();
    await csi.untilGone(before);
    assert.equal(csi.calls("memory"), "St Pb Up Us");
  }),
);

test("a block volume is its device in the container", { skip }, () =>
  withDriver(async (csi) => {
    const before = await podTraces(csi.box);
    await csi.node.server.must("POST", `${STORAGE}/csidrivers`, {
      metadata: { name: DRIVER },
      spec: { attachRequired: false },
    });
    await csi.claimed("raw", { volumeMode: "Block" });
    const volumeDevices = [{ name: "raw", devicePath: "/dev/xvda" }];
    await csi.start("blocky", ["raw"], { containers: [staying("main", { volumeDevices })] });
    await csi.node.untilReady("blocky");
    const script =
      "test -b /dev/xvda && echo hello | dd of=/dev/xvda 2>/dev/null; head -c 5 /dev/xvda";
    assert.equal(await csi.inside("blocky")(script), "hello");
    await csi.remove("blocky");
    await csi.node.agent.until("nothing is left", async () => {
      return JSON.stringify(await podTraces(csi.box)) === JSON.stringify(before);
    });
    assert.equal(csi.calls("raw"), "St Pb Up Us");
    const blocks = "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices";
    assert.equal(await csi.box.run(["find", blocks, "-type", "f"]), "");
    assert.equal(csi.violations, "");
  }),
);
