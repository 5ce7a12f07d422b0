import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeApiServer } from "../../../test/sim/fake-apiserver.ts";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { volumeReports } from "../../../test/support/volume-reports.ts";
import type { Container, Pod, Volume } from "../../api/generated/types.ts";
import { type IdentifiedPod, identifyPod } from "../../api/pod-identity.ts";
import type { WallMs } from "../../kit/clock.ts";
import { isOutside, OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { TaskScope } from "../../kit/scope.ts";
import { KubeClient, type TokenOptions, WatchedObjects } from "../../outside/kube/kube.ts";
import { Volumes } from "./volumes.ts";

const ROOTS = { root: "/r", logs: "/l" };
const ALLOCATABLE = { cpuMilli: 2000, memoryBytes: 2 ** 33, ephemeralStorageBytes: 2 ** 34 };
const FOLDER = "/r/pods/u1/volumes";
const SECRETS = { collection: "secrets", namespace: "default" };
const CONFIG_MAPS = { collection: "configmaps", namespace: "default" };
const signal = new AbortController().signal;

function podWith(volumes: readonly Volume[], more: Pod["metadata"] = {}) {
  return identifyPod({
    metadata: { name: "p", namespace: "default", uid: "u1", ...more },
    spec: { containers: [], volumes, serviceAccountName: "robot" },
  });
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

async function world() {
  const clock = new SimClock();
  const random = createSeededRandom(1);
  const server = new FakeApiServer(clock, random);
  const client = new KubeClient({}, { transport: server, clock, log: silentLog });
  const scope = new TaskScope("test", { clock, log: silentLog });
  const objects = new WatchedObjects({ client, clock, random, log: silentLog, scope });
  const host = new FakeHost({ clock });
  await host.files.makeDirectory(FOLDER, 0o750);
  const faults: string[] = [];
  const metrics = new MetricsRegistry();
  const tokenRequests: TokenOptions[] = [];
  const tokens = {
    token: async (request: TokenOptions) => {
      tokenRequests.push(request);
      return { token: `token-${Math.floor(clock.wall() / 600_000)}`, expiresAt: 0 as WallMs };
    },
    forget: () => {},
  };
  const volumes = new Volumes(
    { roots: ROOTS, clusterDomain: "cluster.local", allocatable: ALLOCATABLE },
    {
      clock,
      objects,
      tokens,
      files: host.files,
      volumes: host.volumes,
      metrics,
      diskUsage: (path: string) => host.diskUsage(path),
      ...volumeReports(({ message }) => faults.push(message)),
    },
  );
  scope.spawn("volumes", "restart", (leave) => volumes.keepFresh(leave));
  const mounted = async (pod: IdentifiedPod, ms = 2_000): Promise<void> => {
    const work = volumes.mount(pod, signal);
    await Promise.allSettled([work, clock.advance(ms)]);
    await work;
  };
  const read = (path: string) => host.files.readText(`${FOLDER}/${path}`, { maxBytes: 1 << 20 });
  return { clock, server, host, volumes, faults, tokenRequests, mounted, read, metrics };
}

const CONFIG: Volume = { name: "c", configMap: { name: "settings" } };

test("mount waits for a missing object, says so with growing pauses, and goes on at once when it comes", async () => {
  const { clock, server, volumes, faults, read } = await world();
  let done = false;
  const work = volumes.mount(podWith([CONFIG]), signal).then(() => {
    done = true;
  });
  await clock.advance(10_000);
  assert.equal(done, false);
  const message = 'MountVolume.SetUp failed for volume "c" : configmap "settings" not found';
  assert.ok(faults.length >= 3 && faults.length <= 6, `${faults.length} words in 10 s`);
  assert.deepEqual([...new Set(faults)], [message]);
  server.objects.create(CONFIG_MAPS, { metadata: { name: "settings" }, data: { a: "1" } });
  await clock.advance(200);
  assert.equal(done, true);
  await work;
  assert.equal(await read("kubernetes.io~configmap/c/a"), "1");
});

test("mount gives up after two minutes and three seconds with the Go kubelet's words", async () => {
  const { clock, volumes } = await world();
  const pod = podWith([CONFIG, { name: "e", emptyDir: {} }]);
  const failed = volumes.mount(pod, signal).then(
    () => "mounted",
    (error: unknown) => (isOutside(error, "deadline") ? error.message : String(error)),
  );
  await clock.advance(124_000);
  assert.equal(
    await failed,
    "Unable to attach or mount volumes: unmounted volumes=[c], unattached volumes=[], failed to process volumes=[]: context deadline exceeded",
  );
});

test("mount ends with its signal", async () => {
  const { clock, volumes } = await world();
  const stop = new AbortController();
  const failed = volumes.mount(podWith([CONFIG]), stop.signal).catch(String);
  await clock.advance(100);
  stop.abort(new Error("superseded"));
  await clock.advance(100);
  assert.equal(await failed, "Error: superseded");
});

test("optional objects give empty volumes that fill when the object comes", async () => {
  const { clock, server, mounted, read } = await world();
  const secret = { secretName: "s", optional: true };
  await mounted(podWith([{ name: "v", secret }]));
  assert.equal(await read("kubernetes.io~secret/v/a"), undefined);
  server.objects.create(SECRETS, { metadata: { name: "s" }, data: { a: base64("x") } });
  await clock.advance(500);
  assert.equal(await read("kubernetes.io~secret/v/a"), "x");
});

test("a change of an object reaches the volume; deleting it leaves the files and says so once", async () => {
  const { clock, server, mounted, read, faults } = await world();
  const at = { ...SECRETS, name: "s" };
  server.objects.create(SECRETS, { metadata: { name: "s" }, data: { a: base64("1") } });
  await mounted(podWith([{ name: "v", secret: { secretName: "s" } }]));
  for (const value of ["2", "3"]) {
    const body = { data: { a: base64(value) } };
    server.objects.patch(at, false, { body, strategic: false });
    await clock.advance(500);
    assert.equal(await read("kubernetes.io~secret/v/a"), value);
  }
  server.objects.delete(at, {});
  await clock.advance(200_000);
  assert.equal(await read("kubernetes.io~secret/v/a"), "3");
  assert.deepEqual(faults, ['MountVolume.SetUp failed for volume "v" : secret "s" not found']);
  server.objects.create(SECRETS, { metadata: { name: "s" }, data: { a: base64("4") } });
  await clock.advance(500);
  assert.equal(await read("kubernetes.io~secret/v/a"), "4");
});

test("projected volumes show the trust bundles of a signer, and those that come later", async () => {
  const { clock, server, mounted, read } = await world();
  const place = { collection: "certificates.k8s.io/clustertrustbundles", namespace: "" };
  const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
  const add = (name: string, signerName: string, trustBundle: string) =>
    server.objects.create(place, {
      metadata: { name, labels: { live: "yes" } },
      spec: { signerName, trustBundle },
    });
  add("one", "example.test/a", pem("BBBB"));
  add("other", "example.test/b", pem("CCCC"));
  const labelSelector = { matchLabels: { live: "yes" } };
  const clusterTrustBundle = { path: "ca.pem", signerName: "example.test/a", labelSelector };
  await mounted(podWith([{ name: "v", projected: { sources: [{ clusterTrustBundle }] } }]));
  assert.equal(await read("kubernetes.io~projected/v/ca.pem"), pem("BBBB"));
  add("two", "example.test/a", pem("AAAA"));
  await clock.advance(180_000);
  assert.equal(await read("kubernetes.io~projected/v/ca.pem"), pem("AAAA") + pem("BBBB"));
});

test("projected volumes join their sources, ask for tokens of the pod and renew them", async () => {
  const { clock, server, mounted, read, tokenRequests, host } = await world();
  server.objects.create(CONFIG_MAPS, { metadata: { name: "ca" }, data: { "ca.crt": "CA" } });
  const sources = [
    { serviceAccountToken: { path: "token", audience: "vault", expirationSeconds: 3607 } },
    { configMap: { name: "ca", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: {
        items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }],
      },
    },
  ];
  await mounted(podWith([{ name: "v", projected: { sources } }]));
  assert.deepEqual(tokenRequests[0], {
    namespace: "default",
    serviceAccount: "robot",
    audiences: ["vault"],
    expirationSeconds: 3607,
    pod: { name: "p", uid: "u1" },
  });
  const first = await read("kubernetes.io~projected/v/token");
  assert.equal(await read("kubernetes.io~projected/v/ca.crt"), "CA");
  assert.equal(await read("kubernetes.io~projected/v/namespace"), "default");
  await clock.advance(700_000);
  assert.notEqual(await read("kubernetes.io~projected/v/token"), first);
  assert.deepEqual(host.volumes.mounted, [`${FOLDER}/kubernetes.io~projected/v`]);
});

test("files of labels and resources follow the pod; what they do not show wakes nobody", async () => {
  const { clock, host, volumes, mounted, read } = await world();
  const resourceFieldRef = { containerName: "c", resource: "limits.cpu", divisor: "1m" };
  const items = [
    { path: "l", fieldRef: { fieldPath: "metadata.labels" } },
    { path: "r", resourceFieldRef },
  ];
  const podOf = (label: string, cpu: string, status: NonNullable<Pod["status"]> = {}) => {
    const pod = podWith([{ name: "v", downwardAPI: { items } }], { labels: { a: label } });
    const containers = [{ name: "c", resources: { limits: { cpu } } }];
    return { ...pod, spec: { ...pod.spec, containers }, status };
  };
  const shown = async () => [
    await read("kubernetes.io~downward-api/v/l"),
    await read("kubernetes.io~downward-api/v/r"),
  ];
  await mounted(podOf("1", "1"));
  const { payloads } = host.volumes;
  assert.equal(payloads.length, 1);
  for (const [pod, labels, cpu, times] of [
    [podOf("2", "1"), 'a="2"', "1000", 2],
    [podOf("2", "500m"), 'a="2"', "500", 3],
    [podOf("2", "500m", { phase: "Running" }), 'a="2"', "500", 3],
  ] as const) {
    volumes.podChanged(pod);
    await clock.advance(100);
    assert.deepEqual(await shown(), [labels, cpu]);
    assert.equal(payloads.length, times);
  }
});

test("another agent finds the volumes, does not mount them again, and takes them away", async () => {
  const { server, host, mounted, volumes, clock } = await world();
  server.objects.create(SECRETS, { metadata: { name: "s" }, data: { a: base64("1") } });
  const pod = podWith([
    { name: "v", secret: { secretName: "s" } },
    { name: "m", emptyDir: { medium: "Memory" } },
  ]);
  await mounted(pod);
  const before = host.volumes.mounted;
  assert.equal(before.length, 2);
  const options = { roots: ROOTS, clusterDomain: "", allocatable: ALLOCATABLE };
  const deps = { clock, files: host.files, volumes: host.volumes };
  await new Volumes(options, { ...deps, ...volumeReports() }).clearOrphan("u1");
  assert.deepEqual(host.volumes.mounted, []);
  assert.equal(await host.files.facts(FOLDER), undefined);
  await volumes.unmount(pod);
});

test("another agent leaves an emptyDir to its containers, unless its memory went with the node", async () => {
  const { clock, host, mounted } = await world();
  const plain = podWith([
    { name: "d", emptyDir: {} },
    { name: "m", emptyDir: { medium: "Memory" } },
  ]);
  const pod = {
    ...plain,
    spec: { containers: [], ...plain.spec, securityContext: { fsGroup: 7 } },
  };
  await mounted(pod);
  const [disk, memory] = ["d", "m"].map((name) => `${FOLDER}/kubernetes.io~empty-dir/${name}`);
  assert.deepEqual(host.volumes.given, [disk, memory]);
  const options = { roots: ROOTS, clusterDomain: "", allocatable: ALLOCATABLE };
  const deps = { clock, files: host.files, volumes: host.volumes };
  const another = () => new Volumes(options, { ...deps, ...volumeReports() });
  await another().mount(pod, signal);
  assert.deepEqual(host.volumes.given, [disk, memory]);
  await host.volumes.unmount(memory ?? "");
  await another().mount(pod, signal);
  assert.deepEqual(host.volumes.given, [disk, memory, memory]);
});

test("what others mounted below a pod is neither taken away nor entered", async () => {
  const { host, volumes } = await world();
  const foreign = `${FOLDER}/kubernetes.io~csi/x/mount`;
  await host.files.makeDirectory(foreign, 0o755);
  await host.volumes.mountMemory(foreign, {});
  await host.files.writeAtomic(`${foreign}/precious`, "data", 0o600);
  await assert.rejects(volumes.clearOrphan("u1"), /kubernetes.io~csi\/x\/mount is still mounted/);
  assert.equal(await host.files.readText(`${foreign}/precious`, { maxBytes: 10 }), "data");
});

test("volumes that a container mounted something into are cleared with it", async () => {
  const { host, volumes, mounted } = await world();
  const pod = podWith([{ name: "e", emptyDir: {} }]);
  await mounted(pod);
  const inner = `${FOLDER}/kubernetes.io~empty-dir/e/inner`;
  await host.files.makeDirectory(inner, 0o755);
  await host.volumes.mountMemory(inner, {});
  await volumes.unmount(pod);
  assert.deepEqual(host.volumes.mounted, []);
});

test("a volume that is there stays while the API is away", async () => {
  const { clock, server, host, mounted } = await world();
  server.objects.create(SECRETS, { metadata: { name: "s" }, data: { a: base64("1") } });
  const pod = podWith([{ name: "v", secret: { secretName: "s" } }]);
  await mounted(pod);
  const objects = {
    follow: () => () => {},
    get: async () => Promise.reject(new OutsideError("unavailable", "away")),
    list: async () => [],
  };
  const options = { roots: ROOTS, clusterDomain: "", allocatable: ALLOCATABLE };
  const deps = { clock, files: host.files, volumes: host.volumes };
  const next = new Volumes(options, { ...deps, objects, ...volumeReports() });
  await next.mount(pod, signal);
});

test("another agent goes on with a volume whose object is gone, and says so", async () => {
  const { clock, server, host, mounted, faults } = await world();
  server.objects.create(SECRETS, { metadata: { name: "s" }, data: { a: base64("1") } });
  const pod = podWith([{ name: "v", secret: { secretName: "s" } }]);
  await mounted(pod);
  const objects = { follow: () => () => {}, get: async () => undefined, list: async () => [] };
  const options = { roots: ROOTS, clusterDomain: "", allocatable: ALLOCATABLE };
  const deps = { clock, files: host.files, volumes: host.volumes };
  const reports = volumeReports(({ message }) => faults.push(message));
  await new Volumes(options, { ...deps, objects, ...reports }).mount(pod, signal);
  assert.deepEqual(faults, ['MountVolume.SetUp failed for volume "v" : secret "s" not found']);
});

const CLAIM: Volume = { name: "d", persistentVolumeClaim: { claimName: "data" } };
const CLAIMS = { collection: "persistentvolumeclaims", namespace: "default" };
const VOLUMES = { collection: "persistentvolumes", namespace: "" };

test("claims: local volumes are bound, and every reason why not is reported", async () => {
  const { clock, server, host, volumes, faults, mounted, metrics } = await world();
  const pod = podWith([CLAIM]);
  const work = volumes.mount(pod, signal);
  // Tries come after 0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5 s, and the last at 123 s.
  const stated = async (text: string) => {
    await clock.advance(25_000);
    assert.ok(faults.at(-1)?.includes(text), `${faults.at(-1)} says not ${text}`);
  };
  await stated('persistentvolumeclaims "data" not found');
  server.objects.create(CLAIMS, { metadata: { name: "data" }, status: { phase: "Pending" } });
  await stated("error processing PVC default/data: PVC is not bound");
  const uid = server.objects.get({ ...CLAIMS, name: "data" })?.metadata?.uid ?? "";
  const patch = (body: object) =>
    server.objects.patch({ ...CLAIMS, name: "data" }, false, { body, strategic: false });
  patch({ spec: { volumeName: "pv1" }, status: { phase: "Bound" } });
  await stated('persistentvolumes "pv1" not found');
  await host.files.makeDirectory("/disk/one", 0o755);
  server.objects.create(VOLUMES, {
    metadata: { name: "pv1" },
    spec: { local: { path: "/disk/one" }, claimRef: { uid } },
  });
  await clock.advance(60_000);
  await work;
  await mounted(pod);
  assert.deepEqual(host.volumes.mounted, [`${FOLDER}/kubernetes.io~local-volume/pv1`]);
  await clock.advance(61_000);
  const text = metrics.expose();
  const label = '{namespace="default",persistentvolumeclaim="data"}';
  assert.ok(text.includes(`kubelet_volume_stats_capacity_bytes${label} 6442450944`), text);
  const [claim, ...none] = volumes.measuredClaims(pod.metadata.uid);
  assert.deepEqual(
    [claim?.namespace, claim?.name, claim?.volume, claim?.usage.capacityBytes, none.length],
    ["default", "data", "d", 60 * 2 ** 30, 0],
  );
  assert.deepEqual(volumes.measuredClaims("another"), []);
  await volumes.unmount(pod);
  await clock.advance(61_000);
  assert.ok(!metrics.expose().includes(label));
});

test("mounts binds sub paths and writes /etc/hosts", async () => {
  const { host, volumes, mounted, read } = await world();
  const pod = podWith([{ name: "e", emptyDir: {} }]);
  await mounted(pod);
  const volume = "/r/pods/u1/volumes/kubernetes.io~empty-dir/e";
  await host.files.makeDirectory(volume, 0o3775);
  const volumeMounts = [{ name: "e", mountPath: "/d", subPathExpr: "x/$(WHO)" }];
  const container: Container = { name: "c", volumeMounts, terminationMessagePath: "/dev/end" };
  const env = [{ name: "WHO", value: "me" }];
  const features = { recursiveReadOnly: false, imageVolumes: false, imageSubPaths: false };
  const address = { podIps: ["10.0.0.5"], images: new Map() };
  const request = { pod, container, restartCount: 17, env, features, ...address };
  const { mounts } = await volumes.mounts(request);
  const target = "/r/pods/u1/volume-subpaths/e/c/0";
  assert.deepEqual(
    mounts.map(({ containerPath, hostPath }) => [containerPath, hostPath]),
    [
      ["/d", target],
      ["/etc/hosts", "/r/pods/u1/etc-hosts"],
      ["/dev/end", "/r/pods/u1/containers/c/00000011"],
    ],
  );
  for (const made of ["x", "x/me"])
    assert.equal((await host.files.facts(`${volume}/${made}`))?.mode, 0o3775);
  const message = mounts[2]?.hostPath ?? "";
  assert.equal((await host.files.facts(message))?.mode, 0o666);
  await volumes.removed({ pod, container: "c", restartCount: 17 });
  await volumes.removed({ pod, container: "c", restartCount: 17 });
  assert.equal(await host.files.facts(message), undefined);
  await host.files.writeAtomic(`${target}/f`, "seen", 0o600);
  assert.equal(await read("kubernetes.io~empty-dir/e/x/me/f"), "seen");
  await volumes.mounts(request);
  assert.deepEqual(host.volumes.mounted, [target]);
  await volumes.unmount(pod);
  assert.deepEqual(host.volumes.mounted, []);
});
