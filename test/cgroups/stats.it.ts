// What the agent says of usage, beside what the kernel and the pods themselves know.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cgroupRoots } from "../box/prerequisites.ts";
import { podName, RUNTIME_GROUP, ServedNode } from "../server/node.ts";
import { cpuUsed, groupValue } from "../support/cgroup-box.ts";

const MI = 2 ** 20;
const { version } = cgroupRoots();

interface Fs {
  readonly usedBytes: number;
  readonly inodesUsed: number;
  readonly capacityBytes: number;
}
interface Usage {
  readonly cpu: { readonly usageNanoCores?: number; readonly usageCoreNanoSeconds: number };
  readonly memory: Readonly<Record<string, number>>;
}
interface PodStats extends Usage {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly containers: readonly (Usage & { name: string; rootfs: Fs; logs: Fs })[];
  readonly network?: {
    readonly name: string;
    readonly rxBytes: number;
    readonly txBytes: number;
    readonly interfaces: readonly { readonly name: string }[];
  };
  readonly volume?: readonly (Fs & { readonly name: string })[];
  readonly "ephemeral-storage": Fs;
  readonly process_stats: { readonly process_count: number };
}
interface Summary {
  readonly node: Usage & {
    readonly nodeName: string;
    readonly systemContainers: readonly (Usage & { readonly name: string })[];
    readonly fs: Fs;
    readonly runtime: { readonly imageFs: Fs };
    readonly rlimit: { readonly maxpid: number; readonly curproc: number };
    readonly network: { readonly interfaces: readonly { readonly name: string }[] };
  };
  readonly pods: readonly PodStats[];
}

/** Samples of a page by name and the labels that are asked for. */
function sample(page: string, name: string, ...labels: readonly string[]): number | undefined {
  const line = page
    .split("\n")
    .find((one) => one.startsWith(name) && labels.every((label) => one.includes(label)));
  return line === undefined ? undefined : Number(line.slice(line.indexOf("} ") + 2).split(" ")[0]);
}

const near = (found: number, wanted: number, part: number, what: string) =>
  assert.ok(Math.abs(found - wanted) <= wanted * part, `${what}: ${found}, known is ${wanted}`);

let node: ServedNode;
before(async () => {
  node = await ServedNode.start();
  const limits = { cpu: "200m", memory: "200Mi" };
  node.run("burner", "burn", { resources: { limits } });
  node.run("holder", "eat-memory 64 600", { resources: { requests: { memory: "1Mi" } } });
  const files = "dd if=/dev/zero of=/data/big bs=1M count=8; dd if=/dev/zero of=/own bs=1M count=4";
  node.run("writer", `${files}; yes | head -c 300000; serve-tcp 9090`, {
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  });
  for (const name of ["burner", "holder", "writer"]) await node.untilReady(name);
});
after(() => node[Symbol.asyncDispose]());

const ask = async () => JSON.parse((await node.local("/stats/summary")).body) as Summary;
const group = (tier: string, { podRef }: PodStats) => `/kubepods${tier}/pod${podRef.uid}`;

function podOf(summary: Summary, name: string): PodStats {
  const found = summary.pods.find(({ podRef }) => podRef.name === podName(name));
  assert.ok(found, `no figures of ${name}: ${JSON.stringify(summary)}`);
  return found;
}

test("CPU is what the kernel counts, and no more than the quota lets through", async () => {
  const path = group("", podOf(await ask(), "burner"));
  const observe = async () => {
    const [began, counted] = [performance.now(), cpuUsed(node.box, path)];
    await sleep(3_000);
    const burner = podOf(await ask(), "burner");
    const used = cpuUsed(node.box, path) - counted;
    return { burner, counted, cores: used / 1e6 / (performance.now() - began) };
  };
  // The agent's own window is another one: on a machine that is busy for a while the two differ.
  let { burner, counted, cores } = await observe();
  const inUse = () => (burner.cpu.usageNanoCores ?? 0) / 1e9;
  for (let again = 0; again < 3 && Math.abs(inUse() - cores) > cores * 0.15; again += 1)
    ({ burner, counted, cores } = await observe());
  near(inUse(), cores, 0.15, "CPUs in use");
  assert.ok(inUse() < 0.23, "the quota is 0.2 CPUs");
  assert.ok(burner.cpu.usageCoreNanoSeconds >= counted);
  assert.ok(burner.cpu.usageCoreNanoSeconds <= cpuUsed(node.box, path));
  const [container] = burner.containers;
  assert.ok((container?.cpu.usageCoreNanoSeconds ?? 0) <= burner.cpu.usageCoreNanoSeconds);
});

test("memory is what a program holds, and what the kernel counts", async () => {
  const rss = async () => podOf(await ask(), "holder").memory["rssBytes"] ?? 0;
  await node.until(async () => (await rss()) >= 64 * MI, "64 MiB are held");
  const holder = podOf(await ask(), "holder");
  near(holder.memory["rssBytes"] ?? 0, 64 * MI, 0.05, "anonymous memory");
  const path = group("/burstable", holder);
  const file = version === 1 ? "memory.usage_in_bytes" : "memory.current";
  near(holder.memory["usageBytes"] ?? 0, Number(groupValue(node.box, path, file)), 0.02, "usage");
  assert.ok((holder.memory["workingSetBytes"] ?? 0) >= 64 * MI);
  assert.equal(holder.memory["availableBytes"], undefined, "no limit, so nothing is left of it");
  const { memory } = podOf(await ask(), "burner");
  const left = (memory["availableBytes"] ?? 0) + (memory["workingSetBytes"] ?? 0);
  assert.equal(left, 200 * MI);
});

test("disk is what was written: layer, log and volume", async () => {
  const sizes = async () => {
    const writer = podOf(await ask(), "writer");
    const [container] = writer.containers;
    return { writer, volume: writer.volume?.[0], container };
  };
  await node.until(async () => {
    const { container, volume } = await sizes();
    const wrote = (volume?.usedBytes ?? 0) >= 8 * MI && (container?.logs.usedBytes ?? 0) > 300_000;
    return wrote && (container?.rootfs.usedBytes ?? 0) >= 4 * MI;
  }, "everything is seen");
  const { writer, volume, container } = await sizes();
  assert.ok(volume && container);
  assert.equal(volume.name, "data");
  near(volume.usedBytes, 8 * MI, 0.02, "volume");
  near(container.rootfs.usedBytes, 4 * MI, 0.05, "writable layer");
  const parts = volume.usedBytes + container.rootfs.usedBytes + container.logs.usedBytes;
  const managed = writer["ephemeral-storage"].usedBytes - parts;
  assert.ok(managed >= 4096 && managed <= 16_384, `hosts file and messages take ${managed} bytes`);
});

test("system containers: the runtime's cgroup is the configured one", async () => {
  const { node: of } = await ask();
  const runtime = of.systemContainers.find(({ name }) => name === "runtime");
  assert.ok(of.systemContainers.some(({ name }) => name === "pods"));
  const used = runtime?.cpu.usageCoreNanoSeconds ?? 0;
  const now = cpuUsed(node.box, RUNTIME_GROUP);
  assert.ok(used > now / 2 && used <= now, `${used} ns of ${now}`);
});

test("network is what went over the wire", async () => {
  const ip = (await node.untilReady("writer")).status?.podIP ?? "";
  const network = async () => podOf(await ask(), "writer").network;
  const before = await network();
  const sent = 1_000_000;
  // One that is refused has sent nothing; the server ends after the first.
  const send = `{ head -c ${sent} /dev/zero; sleep 1; } | busybox nc -w 3 ${ip} 9090 >/dev/null`;
  const isSent = async () => (await node.box.exec(["sh", "-c", send])).code === 0;
  await node.until(isSent, "the server has read all");
  await sleep(1_100);
  const after = await network();
  assert.deepEqual([after?.name, after?.interfaces.length], ["eth0", 1]);
  near((after?.rxBytes ?? 0) - (before?.rxBytes ?? 0), sent, 0.1, "bytes received");
  near((after?.txBytes ?? 0) - (before?.txBytes ?? 0), sent, 0.1, "bytes sent back");
});

test("the node has figures of its own, and the pages say the same as the summary", async () => {
  const summary = await ask();
  const { node: of } = summary;
  assert.equal(of.nodeName, "node-1");
  assert.ok(
    (of.memory["workingSetBytes"] ?? 0) > (podOf(summary, "holder").memory["rssBytes"] ?? 0),
  );
  assert.ok(of.fs.capacityBytes > 0 && of.runtime.imageFs.capacityBytes > 0);
  assert.ok(of.rlimit.curproc > 10 && of.rlimit.curproc < of.rlimit.maxpid);
  const { name, namespace } = podOf(summary, "holder").podRef;
  const resource = (await node.local("/metrics/resource")).body;
  const labels = [`namespace="${namespace}"`, `pod="${name}"`];
  const rss = 64 * MI;
  for (const metric of ["pod_memory_working_set_bytes", "container_memory_working_set_bytes"])
    near(sample(resource, metric, ...labels) ?? 0, rss, 0.1, metric);
  assert.match(resource, /^node_cpu_usage_seconds_total [\d.]+ \d{13}$/m);
  const cadvisor = (await node.local("/metrics/cadvisor")).body;
  near(sample(cadvisor, "container_memory_rss", 'container="c"', ...labels) ?? 0, rss, 0.1, "rss");
  const burner = [`pod="${podName("burner")}"`, 'container="c"'];
  assert.equal(sample(cadvisor, "container_spec_memory_limit_bytes", ...burner), 200 * MI);
  assert.equal(sample(cadvisor, "container_spec_cpu_quota", ...burner), 20_000);
  assert.ok((sample(cadvisor, "container_cpu_cfs_throttled_periods_total", ...burner) ?? 0) > 0);
  const writer = [`pod="${podName("writer")}"`, 'container="c"'];
  assert.ok((sample(cadvisor, "container_processes", ...writer) ?? 0) >= 1);
  assert.ok((sample(cadvisor, "container_file_descriptors", ...writer) ?? 0) >= 3);
  assert.ok((sample(cadvisor, "container_sockets", ...writer) ?? 0) >= 1, "it listens");
  const disk = sample(cadvisor, "container_fs_limit_bytes", 'id="/"');
  assert.ok((disk ?? 0) >= of.fs.capacityBytes, `${disk}`);
  assert.ok((sample(cadvisor, "machine_cpu_physical_cores") ?? 0) >= 1);
  const received = sample(cadvisor, "container_network_receive_bytes_total", ...labels);
  assert.ok((received ?? 0) > 0);
  const only = await node.local("/stats/summary?only_cpu_and_memory=true");
  const [first] = (JSON.parse(only.body) as { readonly pods: readonly object[] }).pods;
  assert.deepEqual(Object.keys(first ?? {}).sort(), [
    "containers",
    "cpu",
    "memory",
    "podRef",
    "startTime",
    "swap",
  ]);
});

test("kubectl top: metrics.k8s.io on the agent's own socket", async () => {
  const top = "/apis/metrics.k8s.io/v1beta1";
  const get = async <T>(path: string) => JSON.parse((await node.local(path)).body) as T;
  interface Usage {
    readonly cpu: string;
    readonly memory: string;
  }
  interface Pods {
    readonly kind: string;
    readonly items: readonly {
      readonly metadata: { readonly name: string };
      readonly containers: readonly { readonly name: string; readonly usage: Usage }[];
    }[];
  }
  const pods = await get<Pods>(`${top}/namespaces/default/pods`);
  assert.equal(pods.kind, "PodMetricsList");
  const usage = (name: string) =>
    pods.items.find(({ metadata }) => metadata.name === podName(name))?.containers[0]?.usage;
  near(Number.parseInt(usage("holder")?.memory ?? "", 10) * 1024, 64 * MI, 0.1, "memory");
  const nanos = Number.parseInt(usage("burner")?.cpu ?? "", 10);
  assert.ok(nanos > 0 && nanos < 0.23e9, `${nanos}n of 0.2 CPUs`);
  const { usage: ofNode } = await get<{ readonly usage: Usage }>(`${top}/nodes/node-1`);
  assert.match(`${ofNode.cpu} ${ofNode.memory}`, /^[1-9]\d+n [1-9]\d+Ki$/);
});

test("who may see it", async () => {
  for (const path of ["/stats/summary", "/metrics/resource", "/metrics/cadvisor"]) {
    assert.equal((await node.secure(path)).status, 401, path);
    assert.equal((await node.secure(path, node.nobody)).status, 403, path);
    assert.equal((await node.secure(path, node.master)).status, 200, path);
  }
});
