// Local volumes on block devices: file systems made on them, and the devices themselves, in real containers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type {
  CoreEvent,
  PersistentVolumeSpec,
  PodSpec,
  PodStatus,
} from "../../src/api/generated/types.ts";
import type { Box } from "../box/box.ts";
import { apiServerObstacle } from "../kube/apiserver.ts";
import { type ClusterNode, PODS, podOf, withNode } from "../kube/cluster-node.ts";
import { podTraces } from "../support/agent.ts";
import { LoopDevice, loopObstacle } from "../support/loop-device.ts";
import { boundClaim } from "./bound-claim.ts";
import { insideOf, staying } from "./world.ts";

const skip = apiServerObstacle() ?? loopObstacle() ?? false;
const DEFAULT = "/api/v1/namespaces/default";
const MOUNTS = "/var/lib/kubelet/plugins/kubernetes.io/local-volume/mounts";

const hostIs = (operator: string, ...values: readonly string[]) => ({
  required: {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: "kubernetes.io/hostname", operator, values: [...values] }] },
    ],
  },
});

/** A local volume that every node may have, unless its affinity says otherwise. */
const claimed = (node: ClusterNode, name: string, spec: Partial<PersistentVolumeSpec>) =>
  boundClaim(node, name, { storageClassName: "local", nodeAffinity: hostIs("Exists"), ...spec });

const volumeOf = (claimName: string, readOnly = false) => ({
  name: claimName,
  persistentVolumeClaim: { claimName, readOnly },
});

/** Everything of volumes that must be as before when the pods are gone. */
async function traces(box: Box): Promise<unknown> {
  const plugins = "find /var/lib/kubelet/plugins -mindepth 3 ! -name mounts 2>/dev/null || true";
  const found = "grep /var/lib/kubelet /proc/self/mounts; losetup -l -n -O NAME,BACK-FILE";
  return {
    ...(await podTraces(box)),
    volumes: (await box.run(["sh", "-c", `${plugins}; ${found}`]))
      .split("\n")
      .filter((line) => line.includes("/var/lib/kubelet")),
  };
}

async function untilGone(node: ClusterNode, box: Box, before: unknown): Promise<void> {
  let now: unknown;
  await node.agent.until("nothing is left", async () => {
    now = await traces(box);
    return JSON.stringify(now) === JSON.stringify(before);
  });
  assert.deepEqual(now, before);
}

const start = async (node: ClusterNode, name: string, spec: Partial<PodSpec>): Promise<void> => {
  await node.server.must("POST", PODS, podOf(name, spec));
};

const remove = (node: ClusterNode, name: string) =>
  node.server.kubectl(["delete", "pod", name, "--wait=false"]);

const says = (node: ClusterNode, text: string) =>
  node.agent.until(`an event says ${text}`, async () => {
    const list = await node.get<{ items: readonly CoreEvent[] }>(`${DEFAULT}/events`);
    return (list?.items ?? []).some(({ reason, message }) =>
      `${reason}: ${message}`.includes(text),
    );
  });

/** A node with a disk. */
function withDisk(
  use: (node: ClusterNode, box: Box, disk: LoopDevice) => Promise<void>,
): Promise<void> {
  return withNode(async (node, box) => {
    const disk = LoopDevice.over(join(box.folder, "disk"));
    assert.ok(disk);
    try {
      await use(node, box, disk);
    } finally {
      disk.detach();
    }
  });
}

const inPod = (node: ClusterNode, box: Box, name: string) =>
  insideOf(box, async () => node.pod(name).then((pod): PodStatus | undefined => pod?.status));

test(
  "a block volume is its device in the container, also after kill -9 of the agent",
  { skip },
  () =>
    withDisk(async (node, box, disk) => {
      await box.run(["ln", "-s", disk.path, "/var/lib/disk"]);
      await claimed(node, "raw", { volumeMode: "Block", local: { path: "/var/lib/disk" } });
      const before = await traces(box);
      const volumeDevices = [{ name: "raw", devicePath: "/dev/xvda" }];
      const containers = [staying("main", { volumeDevices })];
      await start(node, "writer", { volumes: [volumeOf("raw")], containers });
      await start(node, "reader", { volumes: [volumeOf("raw", true)], containers });
      await node.untilReady("writer");
      await node.untilReady("reader");
      const [writer, reader] = [inPod(node, box, "writer"), inPod(node, box, "reader")];
      const [major, minor] = disk.number.split(":").map((part) => Number(part).toString(16));
      assert.equal(
        await writer("stat -c '%F %t:%T' /dev/xvda"),
        `block special file ${major}:${minor}\n`,
      );
      await writer(
        "printf hello-block | dd of=/dev/xvda bs=512 seek=3 conv=notrunc,fsync 2>/dev/null",
      );
      assert.equal(readFileSync(disk.file).subarray(1536, 1547).toString(), "hello-block");
      const refused = await reader("printf no | dd of=/dev/xvda bs=512 2>&1 || true");
      assert.match(refused, /Operation not permitted/);
      await says(node, 'SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for volume "raw"');

      await node.agent.kill();
      // Another disk takes the name: a container that starts again keeps the device of its pod.
      await box.run(["ln", "-sfn", "/dev/null", "/var/lib/disk"]);
      await node.agent.start();
      await writer("kill -TERM 1").catch(() => {});
      await node.agent.until("the container runs again", async () => {
        const [main] = (await node.pod("writer"))?.status?.containerStatuses ?? [];
        return main?.restartCount === 1 && main.ready;
      });
      assert.equal(
        await writer("dd if=/dev/xvda bs=512 skip=3 count=1 2>/dev/null | head -c 11"),
        "hello-block",
      );
      await remove(node, "writer");
      // The reader's end comes while nobody reads.
      await node.agent.kill();
      await remove(node, "reader");
      await node.agent.start();
      await untilGone(node, box, before);
    }),
);

test("an empty disk is formatted once; its files outlive pods and agent", { skip }, () =>
  withDisk(async (node, box, disk) => {
    const local = { path: disk.path };
    await claimed(node, "files", { local, mountOptions: ["noatime"] });
    const before = await traces(box);
    const volumeMounts = [{ name: "files", mountPath: "/data" }];
    const spec = (readOnly = false): Partial<PodSpec> => ({
      securityContext: { fsGroup: 4242 },
      volumes: [volumeOf("files", readOnly)],
      containers: [staying("main", { volumeMounts })],
    });
    await start(node, "ro", spec(true));
    await says(
      node,
      `FailedMount: MountVolume.MountDevice failed for volume "files" : local: failed to mount device ${disk.path} at ${MOUNTS}/files (fstype: ext4), error cannot mount unformatted disk ${disk.path} as we are manipulating it in read-only mode`,
    );
    await remove(node, "ro");
    await untilGone(node, box, before);
    for (const name of ["one", "two"]) {
      await start(node, name, spec());
      await node.untilReady(name);
    }
    const [one, two] = [inPod(node, box, "one"), inPod(node, box, "two")];
    assert.match(
      await one("grep ' /data ' /proc/mounts"),
      /^\/dev\/loop\d+ \/data ext4 rw,.*noatime/,
    );
    await one("echo kept >/data/f");
    assert.equal(await two("cat /data/f; stat -c %g /data"), "kept\n4242\n");
    await remove(node, "one");
    await node.agent.until("one is gone", async () => !(await node.pod("one")));
    assert.equal(await two("cat /data/f"), "kept\n");
    await node.agent.kill();
    await node.agent.start();
    await remove(node, "two");
    await untilGone(node, box, before);
    await start(node, "three", spec());
    await node.untilReady("three");
    assert.equal(await inPod(node, box, "three")("cat /data/f"), "kept\n");
    await remove(node, "three");
    await untilGone(node, box, before);
  }),
);

test("claims that cannot be had as they are asked for wait and say why", { skip }, () =>
  withDisk(async (node, box, disk) => {
    const local = { path: disk.path };
    const before = await traces(box);
    await claimed(node, "far", { local, nodeAffinity: hostIs("In", "elsewhere") });
    await claimed(node, "files", { local: { ...local, fsType: "ext4" } });
    await claimed(node, "raw", { local, volumeMode: "Block" });
    const mounting = (name: string) =>
      staying("main", { volumeMounts: [{ name, mountPath: "/data" }] });
    const mapping = (name: string) =>
      staying("main", { volumeDevices: [{ name, devicePath: "/dev/xvda" }] });
    for (const [name, container, text] of [
      [
        "far",
        mounting("far"),
        'FailedMount: MountVolume.NodeAffinity check failed for volume "far" : no matching NodeSelectorTerms',
      ],
      ["raw", mounting("raw"), "volume raw has volumeMode Block, but is specified in volumeMounts"],
      [
        "files",
        mapping("files"),
        "volume files has volumeMode Filesystem, but is specified in volumeDevices",
      ],
    ] as const) {
      await start(node, name, { volumes: [volumeOf(name)], containers: [container] });
      await says(node, text);
      assert.equal((await node.pod(name))?.status?.phase, "Pending");
    }
    const blank = readFileSync(disk.file).every((byte) => byte === 0);
    assert.ok(blank, "nothing was written to the disk");
    for (const name of ["far", "raw", "files"]) await remove(node, name);
    await untilGone(node, box, before);
  }),
);
