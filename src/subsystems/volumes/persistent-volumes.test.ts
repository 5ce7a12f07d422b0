// Claims on local volumes: folders, file systems on block devices, block devices.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { volumeReports } from "../../../test/support/volume-reports.ts";
import type {
  Container,
  PersistentVolume,
  PersistentVolumeSpec,
  PodSpec,
} from "../../api/generated/types.ts";
import { type IdentifiedPod, identifyPod } from "../../api/pod-identity.ts";
import { OutsideError } from "../../kit/errors.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import type { ObjectSource, Resource } from "../../outside/kube/kube.ts";
import { mountOptions } from "./kinds/persistent-volume.ts";
import { Volumes } from "./volumes.ts";

const ROOTS = { root: "/r", logs: "/l" };
const ALLOCATABLE = { cpuMilli: 2000, memoryBytes: 2 ** 33, ephemeralStorageBytes: 2 ** 34 };
const NODES = "/r/plugins/kubernetes.io~local-volume/volumeDevices";
const MOUNTS = "/r/plugins/kubernetes.io/local-volume/mounts";
const FEATURES = { recursiveReadOnly: false, imageVolumes: false, imageSubPaths: false };

const affinity = (value: string): NonNullable<PersistentVolumeSpec["nodeAffinity"]> => ({
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [value] }] }],
  },
});

const pvOf = (name: string, spec: Partial<PersistentVolumeSpec>): PersistentVolume => ({
  metadata: { name },
  spec: { claimRef: { uid: `claim-${name}` }, ...spec },
});

const local = { path: "/dev/sda" };

/** A pod that claims the volume `pv`, as a file system or as a device. */
function podWith(uid: string, container: Partial<Container>, more: Partial<PodSpec> = {}) {
  const persistentVolumeClaim = { claimName: "pv", readOnly: uid.startsWith("ro") };
  return identifyPod({
    metadata: { name: uid, namespace: "default", uid },
    spec: {
      containers: [{ name: "c", ...container }],
      volumes: [{ name: "d", persistentVolumeClaim }],
      ...more,
    },
  });
}

const MOUNTING: Partial<Container> = { volumeMounts: [{ name: "d", mountPath: "/d" }] };
const MAPPING: Partial<Container> = { volumeDevices: [{ name: "d", devicePath: "/dev/d" }] };

async function world(spec: Partial<PersistentVolumeSpec>) {
  const clock = new SimClock();
  const faulty = new Set<string>();
  const fault = (operation: string) =>
    faulty.has(operation) ? new OutsideError("io", `no ${operation}`) : undefined;
  const host = new FakeHost({ clock, fault });
  await host.files.makeDirectory("/dev", 0o755);
  for (const [name, number] of Object.entries({ sda: "8:0", sdb: "8:16" }))
    host.files.addDevice(`/dev/${name}`, number);
  await host.files.makeDirectory("/disk", 0o755);
  await host.files.writeAtomic("/disk/file", "", 0o600);
  const pv = { now: pvOf("pv", spec) };
  const claim = {
    metadata: { name: "pv", uid: "claim-pv" },
    spec: { volumeName: "pv" },
    status: { phase: "Bound" },
  };
  const get = async (resource: Resource<object>) =>
    resource.plural === "persistentvolumes" ? pv.now : claim;
  const objects = { follow: () => () => {}, list: async () => [], get } as unknown as ObjectSource;
  const labels: { now: Record<string, string> | undefined } = { now: { zone: "a" } };
  const stated: string[] = [];
  let metrics = new MetricsRegistry();
  host.kernelFiles.set("/sys/dev/block/8:0/size", "2048");
  const agent = () =>
    new Volumes(
      { roots: ROOTS, clusterDomain: "", allocatable: ALLOCATABLE },
      {
        clock,
        objects,
        files: host.files,
        volumes: host.volumes,
        metrics,
        diskUsage: (path) => host.diskUsage(path),
        readKernel: (path) => host.readKernel(path),
        nodeLabels: () => labels.now,
        ...volumeReports(({ reason, message }) => stated.push(`${reason}: ${message}`)),
      },
    );
  let volumes = agent();
  /** Tries for two seconds; returns whether the volume is there. */
  const mounted = async (pod: IdentifiedPod): Promise<boolean> => {
    await host.files.makeDirectory(`/r/pods/${pod.metadata?.uid}/volumes`, 0o750);
    const stop = new AbortController();
    const work = volumes.mount(pod, stop.signal).then(
      () => true,
      () => false,
    );
    await clock.advance(2_000);
    stop.abort(new Error("enough"));
    return await work;
  };
  return {
    host,
    stated,
    labels,
    pv,
    clock,
    faulty,
    mounted,
    exposed: () => metrics.expose(),
    keepFresh: (leave: AbortSignal) => volumes.keepFresh(leave),
    unmount: (pod: IdentifiedPod) => volumes.unmount(pod),
    orphan: (uid: string) => volumes.clearOrphan(uid),
    devicesOf: async (pod: IdentifiedPod) => {
      const [container = { name: "" }] = pod.spec?.containers ?? [];
      const more = { restartCount: 0, env: [], podIps: [], images: new Map() };
      const request = { pod, container, ...more, features: FEATURES };
      return (await volumes.mounts(request)).devices;
    },
    /** The agent ends as if killed, and another one starts. */
    restart: () => {
      metrics = new MetricsRegistry();
      volumes = agent();
    },
  };
}

const volumeOf = (uid: string) => `/r/pods/${uid}/volumes/kubernetes.io~local-volume/pv`;
const read = (host: FakeHost, path: string) => host.files.readText(path, { maxBytes: 100 });

test("a block device is formatted and mounted once, bound for each pod, unmounted after the last", async () => {
  const { host, mounted, unmount, stated } = await world({ local: { path: "/dev/sda" } });
  const [one, two] = [podWith("one", MOUNTING), podWith("two", MOUNTING)];
  assert.ok((await mounted(one)) && (await mounted(two)), stated.join());
  const all = [`${MOUNTS}/pv`, volumeOf("one"), volumeOf("two")];
  assert.deepEqual(host.volumes.mounted, all);
  await host.files.writeAtomic(`${volumeOf("one")}/f`, "kept", 0o600);
  assert.equal(await read(host, `${volumeOf("two")}/f`), "kept");
  await unmount(one);
  assert.deepEqual(host.volumes.mounted, [`${MOUNTS}/pv`, volumeOf("two")]);
  await unmount(two);
  assert.deepEqual(host.volumes.mounted, []);
  assert.deepEqual(await host.files.list(MOUNTS), []);
  const three = podWith("three", MOUNTING);
  assert.ok(await mounted(three));
  assert.equal(await read(host, `${volumeOf("three")}/f`), "kept");
});

test("another agent takes over mounts, without checking device or node again", async () => {
  const { host, mounted, orphan, restart, labels } = await world({
    local: { path: "/dev/sda" },
    nodeAffinity: affinity("a"),
  });
  const pod = podWith("one", MOUNTING);
  assert.ok(await mounted(pod));
  const before = host.volumes.mounted;
  await host.files.remove("/dev/sda");
  labels.now = { zone: "b" };
  restart();
  assert.ok(await mounted(pod));
  assert.deepEqual(host.volumes.mounted, before);
  restart();
  await orphan("one");
  assert.deepEqual(host.volumes.mounted, []);
});

test("an agent that ended between mounting and binding leaves nothing", async () => {
  const { host, mounted, unmount, restart, stated, faulty } = await world({
    local: { path: "/dev/sda" },
  });
  const pod = podWith("one", MOUNTING);
  faulty.add("bind");
  assert.equal(await mounted(pod), false);
  assert.deepEqual(host.volumes.mounted, [`${MOUNTS}/pv`]);
  assert.equal(stated[0], 'FailedMount: MountVolume.SetUp failed for volume "pv" : no bind');
  restart();
  await unmount(pod);
  assert.deepEqual(host.volumes.mounted, []);
});

test("a volume whose group could not be given is not left half done", async () => {
  const { host, mounted, faulty, stated } = await world({ local: { path: "/disk" } });
  const pod = podWith("one", MOUNTING, { securityContext: { fsGroup: 7 } });
  faulty.add("giveToGroup");
  assert.equal(await mounted(pod), false);
  assert.deepEqual(host.volumes.mounted, []);
  faulty.clear();
  assert.ok(await mounted(pod));
  // The second pod gets it with the group it has.
  faulty.add("giveToGroup");
  assert.ok(await mounted(podWith("two", MOUNTING, { securityContext: { fsGroup: 8 } })));
  const words = "The requested fsGroup is 8, but the volume pv has GID 7.";
  assert.equal(stated.at(-1), `AlreadyMountedVolume: ${words} The volume may not be shareable.`);
});

test("a device for a block volume: node, link, words; another agent; nothing left", async () => {
  const { host, mounted, unmount, stated, devicesOf, restart } = await world({
    volumeMode: "Block",
    local: { path: "/dev/sda" },
  });
  const [pod, reader] = [podWith("one", MAPPING), podWith("ro-two", MAPPING)];
  assert.ok((await mounted(pod)) && (await mounted(reader)), stated.join());
  assert.deepEqual(stated.slice(0, 2), [
    `SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for volume "pv" globalMapPath "${NODES}/pv"`,
    'SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for volume "pv" volumeMapPath "/r/pods/one/volumeDevices/kubernetes.io~local-volume"',
  ]);
  const device = { containerPath: "/dev/d", hostPath: `${NODES}/pv/one` };
  assert.deepEqual(await devicesOf(pod), [{ ...device, permissions: "mrw" }]);
  assert.equal((await devicesOf(reader))[0]?.permissions, "r");
  const link = "/r/pods/one/volumeDevices/kubernetes.io~local-volume/pv";
  assert.equal(host.files.targetOf(link), "/dev/sda");
  // The name is another disk's now: the pod keeps its own.
  await host.files.remove("/dev/sda");
  host.files.addDevice("/dev/sda", "8:32");
  restart();
  assert.ok(await mounted(pod));
  assert.equal(host.files.deviceAt(`${NODES}/pv/one`), "8:0");
  assert.equal(stated.length, 4);
  await unmount(pod);
  assert.deepEqual(host.volumes.held, [`${NODES}/pv/ro-two`]);
  assert.equal(await host.files.facts("/r/pods/one/volumeDevices"), undefined);
  restart();
  await unmount(reader);
  assert.deepEqual([...host.volumes.held, ...host.volumes.mounted], []);
  assert.deepEqual(await host.files.list(NODES), []);
});

test("the size of a block volume is reported", async () => {
  const { clock, mounted, exposed, keepFresh } = await world({ volumeMode: "Block", local });
  const stop = new AbortController();
  const work = keepFresh(stop.signal).catch(() => {});
  assert.ok(await mounted(podWith("one", MAPPING)));
  await clock.advance(61_000);
  const samples = exposed().matchAll(/^kubelet_volume_stats_(.*)\{.*="pv"\} (.*)$/gm);
  const values = [...samples].map(([, name, value]) => `${name} ${value}`);
  assert.deepEqual(values, ["capacity_bytes 1048576"]);
  stop.abort(new Error("enough"));
  await work;
});

const REFUSED: readonly (readonly [
  what: string,
  spec: Partial<PersistentVolumeSpec>,
  container: Partial<Container>,
  says: string,
])[] = [
  [
    "another node's volume",
    { local, nodeAffinity: affinity("b") },
    MOUNTING,
    'FailedMount: MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
  ],
  [
    "another node's device",
    { local, volumeMode: "Block", nodeAffinity: affinity("b") },
    MAPPING,
    'FailedMapVolume: MapVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
  ],
  [
    "another node's path",
    { hostPath: { path: "/disk" }, nodeAffinity: affinity("b") },
    MOUNTING,
    'FailedMount: MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
  ],
  [
    "a block volume that is mounted",
    { local, volumeMode: "Block" },
    MOUNTING,
    'FailedMount: MountVolume.SetUp failed for volume "d" : volume d has volumeMode Block, but is specified in volumeMounts',
  ],
  [
    "a file system that is a device",
    { local },
    MAPPING,
    'FailedMount: MountVolume.SetUp failed for volume "d" : volume d has volumeMode Filesystem, but is specified in volumeDevices',
  ],
  [
    "a folder as a device",
    { local: { path: "/disk" }, volumeMode: "Block" },
    MAPPING,
    'FailedMapVolume: MapVolume.MapBlockVolume failed for volume "pv" : /disk is not a block device',
  ],
  [
    "a hostPath as a device",
    { hostPath: { path: "/dev/sda" }, volumeMode: "Block" },
    MAPPING,
    'FailedMapVolume: MapVolume.MapBlockVolume failed for volume "pv" : persistent volumes of the kind hostPath cannot be block devices',
  ],
  [
    "a file",
    { local: { path: "/disk/file" } },
    MOUNTING,
    'FailedMount: MountVolume.SetUp failed for volume "pv" : only directory and block device are supported',
  ],
  [
    "nothing",
    { local: { path: "/none" } },
    MOUNTING,
    'FailedMount: MountVolume.SetUp failed for volume "pv" : path "/none" does not exist',
  ],
  [
    "a way around",
    { local: { path: "/disk/../etc" } },
    MOUNTING,
    `FailedMount: MountVolume.SetUp failed for volume "pv" : invalid path: /disk/../etc must not contain '..'`,
  ],
  [
    "what a driver would have to bring",
    { iscsi: { targetPortal: "x.test", iqn: "iqn.2000-01.test:a", lun: 0 } },
    MOUNTING,
    'FailedMount: MountVolume.SetUp failed for volume "pv" : persistent volumes of the kind iscsi are not supported',
  ],
  [
    "a file server's block volume",
    { nfs: { server: "s", path: "/" }, volumeMode: "Block" },
    MAPPING,
    'FailedMapVolume: MapVolume.MapBlockVolume failed for volume "pv" : spec.volumeMode Block is not possible with spec.nfs: set it to Filesystem',
  ],
];

for (const [what, spec, container, says] of REFUSED)
  test(`a claim on ${what} waits and says why`, async () => {
    const { host, mounted, stated, unmount } = await world(spec);
    const pod = podWith("one", container);
    assert.equal(await mounted(pod), false);
    assert.deepEqual([...new Set(stated)], [says]);
    await unmount(pod);
    assert.deepEqual(host.volumes.mounted, []);
  });

test("a claim waits for the node's labels, and for the node to fit", async () => {
  const { labels, mounted, stated } = await world({ local, nodeAffinity: affinity("a") });
  const pod = podWith("one", MOUNTING);
  labels.now = undefined;
  assert.equal(await mounted(pod), false);
  assert.match(stated[0] ?? "", /NodeAffinity check failed .* Node object has not been received/);
  labels.now = { zone: "a" };
  assert.ok(await mounted(pod));
});

test("what is on a device is never reformatted: not for reading, not as another file system", async () => {
  const { host, mounted, stated, pv, unmount } = await world({ local });
  const reader = podWith("ro-one", MOUNTING);
  assert.equal(await mounted(reader), false);
  const failed = `MountVolume.MountDevice failed for volume "pv" : local: failed to mount device /dev/sda at ${MOUNTS}/pv`;
  assert.equal(
    stated[0],
    `FailedMount: ${failed} (fstype: ext4), error cannot mount unformatted disk /dev/sda`,
  );
  assert.equal(await host.files.facts(`${MOUNTS}/pv`), undefined);
  const writer = podWith("two", MOUNTING);
  assert.ok(await mounted(writer));
  assert.ok(await mounted(reader));
  await unmount(reader);
  await unmount(writer);
  pv.now = pvOf("pv", { local: { ...local, fsType: "xfs" } });
  const other = podWith("three", MOUNTING);
  assert.equal(await mounted(other), false);
  const cause = `${failed.slice(failed.indexOf("local:"))} (fstype: xfs), error mount failed: /dev/sda is no xfs`;
  assert.deepEqual(stated.slice(-2), [
    `FailedMountOnFilesystemMismatch: MountVolume failed for volume "pv" ${cause}`,
    `FailedMount: ${failed} (fstype: xfs), error mount failed: /dev/sda is no xfs`,
  ]);
});

test("another device under the name of a volume that is still mounted is not mistaken for it", async () => {
  const { mounted, stated, pv } = await world({ local });
  assert.ok(await mounted(podWith("one", MOUNTING)));
  pv.now = pvOf("pv", { local: { path: "/dev/sdb" } });
  assert.equal(await mounted(podWith("two", MOUNTING)), false);
  assert.match(stated.at(-1) ?? "", /shows another device/);
});

const OPTIONS: readonly (readonly [
  own: readonly string[] | undefined,
  annotation: string | undefined,
  readOnly: boolean,
  expected: readonly string[],
])[] = [
  [undefined, undefined, false, []],
  [["noexec", "noatime"], undefined, false, ["noatime", "noexec"]],
  [["noatime", "ro"], undefined, true, ["noatime", "ro"]],
  [["noexec"], "noatime,discard", true, ["discard", "noatime", "ro"]],
  [[], "", false, []],
];

for (const [own, annotation, readOnly, expected] of OPTIONS)
  test(`mountOptions: ${own} and ${annotation}${readOnly ? ", read-only" : ""}`, () => {
    const annotations =
      annotation === undefined ? {} : { "volume.beta.kubernetes.io/mount-options": annotation };
    const pv = { metadata: { annotations }, spec: own ? { mountOptions: own } : {} };
    assert.deepEqual(mountOptions(pv, readOnly), expected);
  });
