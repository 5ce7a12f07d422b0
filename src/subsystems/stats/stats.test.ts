import assert from "node:assert/strict";
import { test } from "node:test";
import { FAKE_FACTS } from "../../../test/sim/fake-host.ts";
import { GI, ID, NO_PRESSURE, POD, statsWorld } from "../../../test/support/stats-world.ts";

for (const version of [1, 2] as const) {
  test(`v${version}: figures of pod, container and node are the kernel's`, async () => {
    const { stats, burn } = await statsWorld(version);
    await stats.measure();
    await burn(POD, 1, 4);
    const { pods, node } = await stats.measure();
    const [pod] = pods;
    assert.ok(pod?.group?.cpu && pod.group.memory);
    assert.equal(pod.group.cpu.usageNanos, 2e9);
    assert.equal(pod.group.nanoCores, 250_000_000);
    const { usageBytes, workingSetBytes, rssBytes, limitBytes } = pod.group.memory;
    assert.deepEqual(
      [usageBytes, workingSetBytes, rssBytes, limitBytes],
      [100 * 2 ** 20, 99 * 2 ** 20, 5000, GI],
    );
    assert.equal(pod.group.tasks, 3);
    assert.deepEqual(
      pod.network?.map(({ name, rxBytes }) => [name, rxBytes]),
      [["eth0", 1234]],
    );
    const [container] = pod.containers;
    assert.deepEqual([container?.name, container?.path], ["c", `${POD}/${ID}`]);
    assert.equal(container?.group.memory?.limitBytes, undefined);
    assert.equal(node.group.memory?.usageBytes, version === 1 ? 100 * 2 ** 20 : GI);
    assert.equal(node.group.memory?.limitBytes, FAKE_FACTS.memoryBytes);
    assert.equal(node.tasks, 222);
  });
}

for (const version of [1, 2] as const)
  test(`v${version}: a machine without swap shows that nobody uses any`, async () => {
    const { stats, host } = await statsWorld(version);
    host.kernelFiles.set(
      "/proc/meminfo",
      "MemTotal: 8 kB\nMemFree: 7 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB",
    );
    // What the agent gives containers that may not use swap.
    if (version === 2) await host.cgroups.write(`${POD}/${ID}`, "memory.swap.max", "0");
    else await host.cgroups.write(`${POD}/${ID}`, "memory.limit_in_bytes", `${GI}`);
    if (version === 1)
      await host.cgroups.write(`${POD}/${ID}`, "memory.memsw.limit_in_bytes", `${GI}`);
    const page = await stats.resourcePage();
    const swap = page.match(/^[a-z]+_swap_[^#]*$/gm)?.map((line) => line.replace(/ \d+$/, ""));
    const container = '{container="c",namespace="shop",pod="web"}';
    assert.deepEqual(swap, [
      `container_swap_limit_bytes${container} 0`,
      `container_swap_usage_bytes${container} 0`,
      "node_swap_usage_bytes 0",
      'pod_swap_usage_bytes{namespace="shop",pod="web"} 0',
    ]);
    const { pods } = await stats.summary({ onlyCpuAndMemory: true });
    const [pod] = pods as readonly Record<string, Record<string, unknown>>[];
    assert.equal(pod?.["swap"]?.["swapUsageBytes"], 0);
  });

test("questions close together are answered once; nothing is read while nobody asks", async () => {
  const { stats, host, clock } = await statsWorld(2);
  let reads = 0;
  const readNow = host.cgroups.readNow.bind(host.cgroups);
  host.cgroups.readNow = (...of) => {
    reads += 1;
    return readNow(...of);
  };
  const [first, second] = await Promise.all([stats.measure(), stats.measure()]);
  assert.equal(first, second);
  const once = reads;
  await clock.advance(500);
  assert.equal(await stats.measure(), first);
  assert.equal(reads, once);
  assert.notEqual(await stats.measure({ maxAgeMs: 0 }), first, "unless fresh figures are wanted");
  const before = reads;
  await clock.advance(3_600_000);
  assert.equal(reads, before, "an hour without questions");
  assert.notEqual(await stats.measure(), first);
});

test("the runtime is asked at most every ten seconds, and not at all for CPU and memory", async () => {
  const { stats, asked, clock } = await statsWorld(2);
  await stats.summary({ onlyCpuAndMemory: true });
  await stats.resourcePage();
  assert.deepEqual(asked, []);
  for (let i = 0; i < 5; i += 1) {
    await stats.summary();
    await clock.advance(2_600);
  }
  assert.deepEqual(asked, ["filesystems", "layers", "filesystems", "layers"]);
});

test("page faults of version 1 are those of the group's own processes, as cAdvisor has them", async () => {
  for (const version of [1, 2] as const) {
    const { stats } = await statsWorld(version);
    const { pods } = await stats.summary();
    const [pod] = pods as readonly { readonly memory?: { readonly pageFaults?: number } }[];
    assert.equal(pod?.memory?.pageFaults, 4, `version ${version}`);
  }
});

test("the summary has the Go kubelet's fields", async () => {
  const { stats, burn } = await statsWorld(2);
  await stats.summary();
  await burn(`${POD}/${ID}`, 2, 10);
  const { node, pods } = await stats.summary();
  const [pod] = pods as readonly Record<string, unknown>[];
  assert.deepEqual(pod?.["podRef"], { name: "web", namespace: "shop", uid: "u1" });
  assert.deepEqual(pod?.["process_stats"], { process_count: 3 });
  const time = "2026-09-21T14:13:30Z";
  const [container] = (pod?.["containers"] ?? []) as readonly Record<
    string,
    Record<string, unknown>
  >[];
  assert.deepEqual(container?.["cpu"], {
    time,
    usageNanoCores: 200_000_000,
    usageCoreNanoSeconds: 3e9,
    psi: NO_PRESSURE,
  });
  assert.deepEqual(container?.["memory"], {
    time,
    usageBytes: 100 * 2 ** 20,
    workingSetBytes: 99 * 2 ** 20,
    rssBytes: 5000,
    pageFaults: 4,
    majorPageFaults: 0,
    psi: NO_PRESSURE,
  });
  assert.equal(container?.["rootfs"]?.["usedBytes"], 700);
  assert.equal(container?.["logs"]?.["usedBytes"], 4096);
  const volumes = (pod?.["volume"] ?? []) as readonly { readonly name: string }[];
  assert.deepEqual(
    volumes.map(({ name }) => name),
    ["data", "db", "disk"],
  );
  assert.deepEqual(volumes.slice(1), [
    {
      time: "1970-01-01T00:50:00Z",
      availableBytes: 400,
      capacityBytes: 1000,
      usedBytes: 600,
      inodesFree: 20,
      inodes: 50,
      inodesUsed: 30,
      name: "db",
      pvcRef: { name: "orders", namespace: "shop" },
    },
    {
      time: "1970-01-01T00:50:00Z",
      capacityBytes: 2000,
      name: "disk",
      pvcRef: { name: "raw", namespace: "shop" },
    },
  ]);
  const storage = pod?.["ephemeral-storage"] as Record<string, number> | undefined;
  assert.equal(storage?.["usedBytes"], 4796);
  const { systemContainers } = node as { readonly systemContainers: readonly { name: string }[] };
  assert.deepEqual(
    systemContainers.map(({ name }) => name),
    ["pods", "runtime"],
  );
  const { nodeName, fs, rlimit, network } = node as Record<string, Record<string, unknown>>;
  assert.equal(nodeName, "n");
  assert.equal(fs?.["capacityBytes"], 60 * GI);
  assert.deepEqual(rlimit, { time, maxpid: FAKE_FACTS.pidMax, curproc: 222 });
  assert.equal(network?.["name"], "eth0");
});

test("a runtime that does not answer leaves out its part only", async () => {
  const { stats } = await statsWorld(1, "layers");
  const { pods } = await stats.summary();
  const [pod] = pods as readonly { readonly containers: readonly object[] }[];
  assert.deepEqual(Object.keys(pod?.containers[0] ?? {}), [
    "name",
    "startTime",
    "cpu",
    "memory",
    "io",
    "logs",
    "swap",
  ]);
});

test("a pod whose groups vanish while it is measured has no figures, and the rest has", async () => {
  const { stats, host } = await statsWorld(2);
  await host.cgroups.destroy(POD);
  const { pods, node } = await stats.measure();
  assert.deepEqual(
    [pods[0]?.group, pods[0]?.containers, pods[0]?.network],
    [undefined, [], undefined],
  );
  assert.ok(node.group.memory);
  assert.match(await stats.resourcePage(), /^node_memory_working_set_bytes \d+ \d+$/m);
});

for (const version of [1, 2] as const)
  test(`v${version}: the machine is read without its pods`, async () => {
    const { stats, host, asked } = await statsWorld(version);
    const read: string[] = [];
    const readNow = host.cgroups.readNow.bind(host.cgroups);
    host.cgroups.readNow = (path, files) => {
      read.push(path);
      return readNow(path, files);
    };
    const { group, groups, tasks } = stats.machine();
    const used = (version === 1 ? 100 * 2 ** 20 : GI) - 2 ** 20;
    assert.equal(group.memory?.workingSetBytes, used);
    assert.equal(group.memory?.limitBytes, FAKE_FACTS.memoryBytes);
    assert.deepEqual([groups.some(({ name }) => name === "pods"), tasks], [true, 222]);
    const paths = new Set(["/", ...groups.map(({ path }) => path)]);
    assert.deepEqual([groups.length, new Set(read)], [1, paths]);
    assert.deepEqual(asked, []);
  });

test("kubectl top: the first answer takes a second, the next ones do not", async () => {
  const { stats, clock, burn } = await statsWorld(1);
  const signal = new AbortController().signal;
  const first = stats.usage(signal);
  await burn(`${POD}/${ID}`, 0, 0.2);
  await clock.advance(900);
  await burn(`${POD}/${ID}`, 0.5, 0);
  const { pods } = await first;
  assert.equal(pods.length, 1);
  await burn(`${POD}/${ID}`, 1, 2);
  const now = await stats.usage(signal);
  const [pod] = now.pods;
  assert.equal(pod?.apiVersion, "metrics.k8s.io/v1beta1");
  assert.deepEqual(pod?.metadata.labels, { app: "web" });
  assert.equal(pod?.containers[0]?.usage.memory, `${99 * 1024}Ki`);
  assert.match(pod?.containers[0]?.usage.cpu ?? "", /^[1-9]\d+n$/);
  assert.match(now.node.window, /^\d+(\.\d+)?s$/);
});

test("pages hold the names that dashboards and metrics-server use", async () => {
  const { stats } = await statsWorld(1);
  const resource = await stats.resourcePage();
  const at = 1_790_000_000_000;
  assert.match(
    resource,
    new RegExp(
      `^container_cpu_usage_seconds_total\\{container="c",namespace="shop",pod="web"\\} 1 ${at}$`,
      "m",
    ),
  );
  assert.match(
    resource,
    new RegExp(
      `^pod_memory_working_set_bytes\\{namespace="shop",pod="web"\\} ${99 * 2 ** 20} ${at}$`,
      "m",
    ),
  );
  assert.match(
    resource,
    /^container_start_time_seconds\{container="c",namespace="shop",pod="web"\} 2000$/m,
  );
  assert.match(resource, /^resource_scrape_error 0$/m);
  assert.doesNotMatch(resource, /^(# (HELP|TYPE) )?scrape_error/m);
  const cadvisor = await stats.cadvisorPage();
  const labels = `container="c",id="${POD}/${ID}",image="img",name="${ID}",namespace="shop",pod="web"`;
  for (const line of [
    `container_cpu_usage_seconds_total{${labels},cpu="total"} 1 ${at}`,
    `container_memory_working_set_bytes{${labels}} ${99 * 2 ** 20} ${at}`,
    `container_spec_memory_limit_bytes{container="",id="${POD}",image="",name="",namespace="shop",pod="web"} ${GI}`,
    `container_network_receive_bytes_total{container="",id="${POD}",image="",name="",namespace="shop",pod="web",interface="eth0"} 1234 ${at}`,
    "machine_scrape_error 0",
  ])
    assert.ok(cadvisor.split("\n").includes(line), `${line}\n${cadvisor}`);
});

test("/metrics/cadvisor counts processes and what they have open", async () => {
  const { stats, host, clock } = await statsWorld(2);
  const path = `${POD}/${ID}`;
  host.cgroups.addProcess(path, 78);
  host.cgroups.addProcess(path, 79);
  host.cgroups.set(path, "pids.current", "5");
  host.cgroups.set(path, "pids.max", "max");
  host.openFilesOf.set(78, { descriptors: 4, sockets: 1 });
  host.openFilesOf.set(79, { descriptors: 3, sockets: 2 });
  host.kernelFiles.set("/proc/78/limits", "Max open files            1024      4096      files");
  const labels = `{container="c",id="${path}",image="img",name="${ID}",namespace="shop",pod="web"`;
  const at = 1_790_000_000_000;
  const page = (await stats.cadvisorPage()).split("\n");
  for (const line of [
    `container_processes${labels}} 2 ${at}`,
    `container_file_descriptors${labels}} 7 ${at}`,
    `container_sockets${labels}} 3 ${at}`,
    `container_threads${labels}} 5 ${at}`,
    `container_threads_max${labels}} 0 ${at}`,
    `container_ulimits_soft${labels},ulimit="max_open_files"} 1024 ${at}`,
  ])
    assert.ok(page.includes(line), `${line}\n${page.join("\n")}`);
  const sockets = async (afterMs: number) => {
    await clock.advance(afterMs);
    const lines = (await stats.cadvisorPage()).split("\n");
    return lines
      .find((line) => line.startsWith("container_sockets"))
      ?.split(" ")
      .at(-2);
  };
  host.openFilesOf.set(79, { descriptors: 3, sockets: 1 });
  assert.equal(await sockets(30_000), "3", "as many descriptors as before");
  assert.equal(await sockets(31_000), "2", "a minute later they are counted again");
  host.openFilesOf.set(79, { descriptors: 2, sockets: 0 });
  assert.equal(await sockets(5_000), "1", "fewer descriptors");
});

test("/metrics/cadvisor: file systems of the machine, its disks, its processors", async () => {
  const { stats, host } = await statsWorld(2);
  host.disk = {
    capacityBytes: 1000,
    availableBytes: 400,
    inodes: 50,
    inodesFree: 20,
    device: 0x801,
  };
  host.kernelFiles.set("/proc/diskstats", "   8       1 sda1 1 2 3 4000 5 6 7 8 9 10 11");
  host.kernelFiles.set("/sys/dev/block/8:1/uevent", "MAJOR=8\nDEVNAME=sda1\n");
  const labels = `{container="",id="/",image="",name="",namespace="",pod="",device="/dev/sda1"}`;
  const at = 1_790_000_000_000;
  const page = (await stats.cadvisorPage()).split("\n");
  for (const line of [
    `container_fs_limit_bytes${labels} 1000 ${at}`,
    `container_fs_usage_bytes${labels} 600 ${at}`,
    `container_fs_inodes_total${labels} 50 ${at}`,
    `container_fs_inodes_free${labels} 20 ${at}`,
    `container_fs_read_seconds_total${labels} 4 ${at}`,
    `container_fs_io_current${labels} 9 ${at}`,
    `machine_cpu_physical_cores{machine_id="${FAKE_FACTS.machineId}",system_uuid="${FAKE_FACTS.systemUuid}",boot_id="${FAKE_FACTS.bootId}"} 2`,
  ])
    assert.ok(page.includes(line), `${line}\n${page.join("\n")}`);
});

test("v1: work on disks is what the first of the kernel's counters has that has anything, as in runc", async () => {
  const COUNTERS = { bfq: "blkio.bfq", cfq: "blkio", throttle: "blkio.throttle" };
  for (const [counting, first] of [
    [["bfq"], "bfq"],
    [["throttle"], "throttle"],
    [["bfq", "cfq", "throttle"], "bfq"],
    [["cfq", "throttle"], "cfq"],
    [[], undefined],
  ] as const) {
    const { stats, host } = await statsWorld(1);
    for (const [i, [kind, prefix]] of Object.entries(COUNTERS).entries())
      for (const path of ["/", POD, `${POD}/${ID}`]) {
        const isCounting = (counting as readonly string[]).includes(kind);
        const lines = (read: number) =>
          isCounting ? `8:0 Read ${read}\n8:0 Write 9\nTotal ${read + 9}` : "Total 0";
        host.cgroups.set(path, `${prefix}.io_service_bytes_recursive`, lines(4096 + i));
        host.cgroups.set(path, `${prefix}.io_serviced_recursive`, lines(1 + i));
      }
    host.kernelFiles.set("/sys/dev/block/8:0/uevent", "MAJOR=8\nDEVNAME=sda\n");
    const at = Object.keys(COUNTERS).indexOf(first ?? "");
    const page = (await stats.cadvisorPage()).split("\n");
    const of = (name: string) =>
      page.flatMap((line) =>
        line.startsWith(`${name}{container="c"`) ? [line.replace(/^.*device=/, "")] : [],
      );
    assert.deepEqual(
      [of("container_fs_reads_bytes_total"), of("container_fs_reads_total")],
      first === undefined
        ? [[], []]
        : [[`"/dev/sda"} ${4096 + at} 1790000000000`], [`"/dev/sda"} ${1 + at} 1790000000000`]],
      counting.join(),
    );
  }
});

for (const version of [1, 2] as const)
  test(`v${version}: pressure is shown as zeros where the kernel counts none`, async () => {
    const { stats } = await statsWorld(version);
    const { node, pods } = await stats.summary();
    const [pod] = pods as readonly { readonly containers: readonly object[] }[];
    for (const shown of [node, pod, pod?.containers[0]]) {
      const { cpu, memory, io } = shown as Record<string, { readonly psi: object } | undefined>;
      for (const figures of [cpu, memory, io]) assert.deepEqual(figures?.psi, NO_PRESSURE);
    }
  });
