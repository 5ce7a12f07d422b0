// Volumes of a CSI driver in real containers, on a node of a real API server that shows a node only what is its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NODE } from "../kube/cluster-node.ts";
import { podTraces } from "../support/agent.ts";
import { csiObstacle, DRIVER, keyOf, STORAGE, withDriver } from "./csi-node-box.ts";
import { eventTexts } from "./objects.ts";
import { staying } from "./world.ts";

const skip = csiObstacle() ?? false;

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
        // Nothing is refused for it on a machine without SELinux.
        seLinuxMount: true,
      },
    });
    csi.setFaults({ St: { status: "Internal" } });
    await csi.claimed("memory");
    await csi.start("reader", ["memory"], {
      securityContext: { seLinuxChangePolicy: "MountOption" },
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

test(
  "handles and names of drivers that lead elsewhere stay within the folders of volumes",
  { skip },
  () =>
    withDriver(async (csi) => {
      const { agent, server } = csi.node;
      const before = await csi.traces();
      const handle = `${"../".repeat(12)}etc/led-away`;
      const ledAway = () =>
        csi.box.run(["sh", "-c", "ls -d /etc/led-away* /var/lib/led-away* 2>&1 || true"]);
      const nothing = await ledAway();
      await server.must("POST", `${STORAGE}/csidrivers`, {
        metadata: { name: DRIVER },
        spec: { attachRequired: false },
      });
      await csi.claimed("away", { csi: { driver: DRIVER, volumeHandle: handle } });
      await csi.start("user", ["away"]);
      await csi.node.untilReady("user");
      await csi.inside("user")("echo mine > /away/file");
      const staged = "/var/lib/kubelet/plugins/kubernetes.io/csi";
      const folders = await csi.box.run([
        "find",
        staged,
        "-mindepth",
        "3",
        "-maxdepth",
        "3",
        "-name",
        "globalmount",
      ]);
      assert.match(folders, new RegExp(`^${staged}/${DRIVER}/[0-9a-f]{64}/globalmount\n$`));
      csi.startImpostor("../../../../etc/led-away");
      await agent.until("the impostor is refused", () =>
        /driver \.\.\/\.\.\/\.\.\/\.\.\/etc\/led-away: .*cannot be the name of a folder/.test(
          agent.log(),
        ),
      );
      // A new agent finds the volume by its handle.
      await agent.kill();
      await agent.start();
      await csi.remove("user");
      await csi.untilGone(before);
      // Whether the new agent publishes the volume again depends on when the pod goes.
      assert.match(csi.calls(handle), /^St Pb (St Pb )?Up Us$/);
      assert.equal(await ledAway(), nothing);
      assert.deepEqual(
        (await csi.csiNode())?.spec.drivers?.map(({ name }) => name),
        [DRIVER],
      );
    }),
);
