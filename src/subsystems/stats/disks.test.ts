import assert from "node:assert/strict";
import { test } from "node:test";
import { statsWorld } from "../../../test/support/stats-world.ts";
import { OutsideError } from "../../kit/errors.ts";
import { FilesystemUsage } from "../../outside/cri/generated/api.ts";
import type { MeasuredTree } from "../../outside/host/host.ts";

test("writable layers on a file system of their own are shown with that", async () => {
  const { stats, host, filesystems } = await statsWorld(2);
  const at = (mountpoint: string, used: bigint) =>
    FilesystemUsage.fromPartial({ fsId: { mountpoint }, usedBytes: { value: used } });
  filesystems.images = [at("/images", 10n)];
  const whole = host.disk.capacityBytes;
  const shown = async () => {
    const { node, pods } = (await stats.summary()) as unknown as SplitSummary;
    const { imageFs, containerFs } = node.runtime;
    const { rootfs } = pods[0]?.containers[0] ?? {};
    return [imageFs, containerFs, rootfs].map((fs) => [fs?.capacityBytes, fs?.usedBytes]);
  };
  host.diskUsage = async (path) =>
    path === "/layers" ? { ...host.disk, capacityBytes: 5_000 } : host.disk;
  filesystems.containers = [at("/layers", 20n)];
  assert.deepEqual(await shown(), [
    [whole, 10],
    [5_000, 20],
    [5_000, 700],
  ]);
});

interface SplitSummary {
  readonly node: { readonly runtime: Readonly<Record<"imageFs" | "containerFs", ShownFs>> };
  readonly pods: readonly { readonly containers: readonly { readonly rootfs: ShownFs }[] }[];
}

interface ShownFs {
  readonly capacityBytes: number;
  readonly usedBytes: number;
}

test("storage of chosen pods: as young as it is wanted, forgotten with its pod", async () => {
  const { stats, host, clock, asked, pods } = await statsWorld(2);
  const data = "/root/pods/u1/volumes/kubernetes.io~empty-dir/data";
  const volumeBytes = async (uids: readonly string[]) => {
    const found = await stats.storageOf(new Set(uids), 9_000);
    const measured = [...found.values()].flatMap(({ volumes }) => volumes);
    return measured.filter(({ name }) => name === "data").map(({ fs }) => fs.usedBytes);
  };
  const [before] = await volumeBytes(["u1"]);
  const [container] = (await stats.storageOf(new Set(["u1"]), 9_000)).get("u1")?.containers ?? [];
  assert.deepEqual([container?.rootfs?.usedBytes, container?.logs?.usedBytes], [700, 4096]);
  assert.deepEqual(await volumeBytes(["other"]), []);
  await host.files.writeAtomic(`${data}/big`, "x".repeat(90_000), 0o600);
  assert.deepEqual(await volumeBytes(["u1"]), [before], "not measured again at once");
  await clock.advance(10_000);
  const [now = 0] = await volumeBytes(["u1"]);
  assert.ok(now >= 90_000 + (before ?? 0));
  assert.deepEqual(asked, ["layers", "layers"]);
  const [pod] = pods.splice(0);
  await stats.storageOf(new Set(), 9_000);
  await host.files.remove(`${data}/big`);
  if (pod) pods.push(pod);
  assert.deepEqual(await volumeBytes(["u1"]), [before], "nothing is known of before it was gone");
});

test("what containers write to files that the agent keeps for them counts as the pod's storage (CVE-2020-8557)", async () => {
  const { stats, host, clock, pods } = await statsWorld(2);
  const managedFiles = ["/root/pods/u1/etc-hosts", "/root/pods/u1/containers"];
  for (const pod of pods.splice(0)) pods.push({ ...pod, managedFiles });
  const managed = async () =>
    (await stats.storageOf(new Set(["u1"]), 9_000)).get("u1")?.managedFiles?.usedBytes;
  const shown = async () => {
    const { pods } = (await stats.summary()) as unknown as {
      readonly pods: readonly { readonly "ephemeral-storage": ShownFs }[];
    };
    return pods[0]?.["ephemeral-storage"].usedBytes ?? 0;
  };
  assert.equal(await managed(), undefined);
  const before = await shown();
  await host.files.makeDirectory("/root/pods/u1/containers/c", 0o755);
  await host.files.writeAtomic("/root/pods/u1/etc-hosts", "x".repeat(90_000), 0o644);
  await host.files.writeAtomic("/root/pods/u1/containers/c/00000000", "x".repeat(50_000), 0o666);
  await clock.advance(10_000);
  const now = (await managed()) ?? 0;
  assert.ok(now >= 140_000, `${now} bytes`);
  assert.equal(await shown(), before + now);
});

test("a size bears the time when its walk began, managed files together that of the oldest", async () => {
  const { stats, host, clock, pods } = await statsWorld(2);
  const managedFiles = ["/root/pods/u1/etc-hosts", "/root/pods/u1/containers"];
  for (const pod of pods.splice(0)) pods.push({ ...pod, managedFiles });
  await host.files.makeDirectory("/root/pods/u1/containers", 0o755);
  const measureTrees = host.files.measureTrees.bind(host.files);
  host.files.measureTrees = async (paths, limits) => {
    const trees = await measureTrees(paths, limits);
    // What is written from now on is not in the size.
    if (paths[0]?.startsWith("/logs")) await clock.sleep(500, new AbortController().signal);
    return trees;
  };
  const times = async () => {
    const measuring = stats.storageOf(new Set(["u1"]), 9_000);
    await clock.advance(600);
    const { containers, managedFiles: managed } = (await measuring).get("u1") ?? {};
    return [containers?.[0]?.logs?.atMs, managed?.atMs];
  };
  const began = clock.wall();
  assert.deepEqual(await times(), [began, began]);
  await host.files.writeAtomic("/root/pods/u1/etc-hosts", "x", 0o644);
  await clock.advance(5_000);
  assert.deepEqual(await times(), [began, began]);
});

test("a layer that the runtime has not measured yet has no recent time", async () => {
  const { stats, runtime } = await statsWorld(1);
  const timeOfLayer = async () => {
    const storage = await stats.storageOf(new Set(["u1"]), -1);
    return storage.get("u1")?.containers[0]?.rootfs?.atMs;
  };
  assert.equal(await timeOfLayer(), 0);
  const { listContainerStats } = runtime;
  runtime.listContainerStats = async (signal) =>
    (await listContainerStats(signal)).map(({ attributes, writableLayer }) => ({
      attributes,
      writableLayer: writableLayer && { ...writableLayer, timestamp: 5_000_000n },
    }));
  assert.equal(await timeOfLayer(), 5);
});

test("storage of chosen pods: file systems as a whole are not measured for it", async () => {
  const { stats, host, asked } = await statsWorld(1);
  const disks: string[] = [];
  host.diskUsage = async (path) => {
    disks.push(path);
    return host.disk;
  };
  await stats.storageOf(new Set(["u1"]), 9_000);
  assert.deepEqual([disks, asked], [[], ["layers"]]);
});

test("calls at the same time share one measurement, and one that began too long ago is not enough", async () => {
  const { stats, runtime, clock, asked } = await statsWorld(1);
  const answers: (() => void)[] = [];
  const { listContainerStats } = runtime;
  runtime.listContainerStats = async (signal) => {
    const layers = await listContainerStats(signal);
    await new Promise<void>((resolve) => answers.push(resolve));
    return layers;
  };
  const layersAsked = () => asked.filter((what) => what === "layers").length;
  const both = [stats.summary(), stats.storageOf(new Set(["u1"]), 500)];
  await clock.advance(500);
  assert.equal(layersAsked(), 1);
  both.push(stats.storageOf(new Set(["u1"]), 499));
  await clock.advance(1);
  assert.equal(layersAsked(), 2);
  for (const answer of answers) answer();
  await Promise.all(both);
  await stats.summary();
  assert.deepEqual([asked.filter((what) => what === "filesystems").length, layersAsked()], [1, 2]);
});

/** The requests for sizes of folders, by their last names; the wrapper may change or refuse an answer. */
function recordMeasuring(
  { host }: Pick<Awaited<ReturnType<typeof statsWorld>>, "host">,
  change: (paths: readonly string[], trees: readonly MeasuredTree[]) => readonly MeasuredTree[],
): () => readonly string[] {
  const requests: string[] = [];
  const measureTrees = host.files.measureTrees.bind(host.files);
  host.files.measureTrees = async (paths, limits) => {
    requests.push(paths.map((path) => path.slice(path.lastIndexOf("/") + 1)).join(" "));
    return change(paths, await measureTrees(paths, limits));
  };
  return () => requests.splice(0);
}

test("a folder that is not counted to its end is warned of once, with what was counted as its size", async () => {
  const world = await statsWorld(2);
  const { stats, clock, warnings } = world;
  recordMeasuring(world, (paths, trees) =>
    trees.map((tree, at) =>
      tree.kind === "measured" && paths[at]?.endsWith("/data")
        ? { ...tree, size: { ...tree.size, usedBytes: 12_345, complete: false } }
        : tree,
    ),
  );
  for (let rounds = 0; rounds < 2; rounds += 1) {
    const found = (await stats.storageOf(new Set(["u1"]), 9_000)).get("u1");
    const data = found?.volumes.find(({ name }) => name === "data");
    assert.equal(data?.fs.usedBytes, 12_345);
    await clock.advance(10_000);
  }
  assert.deepEqual(warnings, ["a folder of a pod takes more of the disk than was measured"]);
});

test("folders of one round are measured in one request, and each alone when that is not answered", async () => {
  const world = await statsWorld(1);
  const { stats, clock } = world;
  let answersSeveral = true;
  const requests = recordMeasuring(world, (paths, trees) => {
    if (paths.length > 1 && !answersSeveral) throw new OutsideError("deadline", "no answer");
    return trees;
  });
  const measured = async () => {
    const { containers = [], volumes = [] } =
      (await stats.storageOf(new Set(["u1"]), 9_000)).get("u1") ?? {};
    const sizes = [containers[0]?.logs, volumes.find(({ name }) => name === "data")?.fs];
    return sizes.filter((fs) => fs?.usedBytes !== undefined).length;
  };
  assert.equal(await measured(), 2);
  assert.deepEqual(requests(), ["c", "data"], "for the first time each alone");
  await clock.advance(10_000);
  assert.equal(await measured(), 2);
  assert.deepEqual(requests(), ["c data"]);
  answersSeveral = false;
  await clock.advance(10_000);
  assert.equal(await measured(), 2);
  assert.deepEqual(requests(), ["c data", "c", "data"]);
});

test("a folder that fails to be measured is missing alone, and one that takes long is measured alone and less often", async () => {
  const world = await statsWorld(1);
  const { stats, clock } = world;
  let outcome: MeasuredTree | { readonly tookMs: number } = { tookMs: 0 };
  const requests = recordMeasuring(world, (paths, trees) =>
    trees.map((tree, i): MeasuredTree => {
      if (!paths[i]?.endsWith("/data") || tree.kind !== "measured") return tree;
      return "kind" in outcome ? outcome : { ...tree, size: { ...tree.size, ...outcome } };
    }),
  );
  const volumes = async () => {
    const found = await stats.storageOf(new Set(["u1"]), 9_000);
    return found.get("u1")?.volumes.map(({ name }) => name);
  };
  const all = await volumes();
  assert.ok(all?.includes("data"));
  await clock.advance(10_000);
  outcome = { kind: "failed", message: "EIO" };
  assert.deepEqual(
    await volumes(),
    all?.filter((name) => name !== "data"),
  );
  assert.deepEqual(requests(), ["c", "data", "c data"]);
  outcome = { tookMs: 5_000 };
  for (let i = 0; i < 12; i += 1) {
    await clock.advance(10_000);
    assert.deepEqual(await volumes(), all);
  }
  const alone = requests().flatMap((names, i) =>
    names.includes("data") ? [`${i}: ${names}`] : [],
  );
  assert.deepEqual(alone, ["1: data", "12: data"]);
});

test("the capacity of a file system is asked for once, however many volumes lie on it", async () => {
  const { stats, host, clock, pods } = await statsWorld(1);
  for (const uid of ["u2", "u3"]) {
    const volumesFolder = `/root/pods/${uid}/volumes`;
    await host.files.makeDirectory(`${volumesFolder}/kubernetes.io~empty-dir/data`, 0o755);
    for (const pod of pods.slice(0, 1)) pods.push({ ...pod, uid, volumesFolder });
  }
  const asked: string[] = [];
  const diskUsage = host.diskUsage.bind(host);
  host.diskUsage = (path) => {
    if (path.startsWith("/root/pods/")) asked.push(path);
    return diskUsage(path);
  };
  const capacities = async () => {
    const { pods: shown } = (await stats.summary()) as unknown as {
      readonly pods: readonly {
        readonly volume: readonly (ShownFs & { readonly name: string })[];
      }[];
    };
    return shown.flatMap(({ volume }) =>
      volume.flatMap(({ name, capacityBytes }) => (name === "data" ? [capacityBytes] : [])),
    );
  };
  const { capacityBytes } = host.disk;
  assert.deepEqual(await capacities(), [capacityBytes, capacityBytes, capacityBytes]);
  assert.equal(asked.length, 1);
  await clock.advance(61_000);
  assert.deepEqual(await capacities(), [capacityBytes, capacityBytes, capacityBytes]);
  assert.equal(asked.length, 2);
});
