// What pods get from the real kernel, with real containerd.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { request } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { CgroupsReport } from "../../src/subsystems/cgroups/cgroups.ts";
import { type Box, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { answerOf } from "../server/http.ts";
import { BoxedAgent, type Manifest, manifest, STAY } from "../support/agent.ts";
import { cpuUsed, disguise, groupValue } from "../support/cgroup-box.ts";
import { exampleManifests, exampleRows } from "./example.ts";

const GI = 2 ** 30;
const MI = 2 ** 20;
const { version } = cgroupRoots();
const MEMORY_LIMIT = version === 1 ? "memory.limit_in_bytes" : "memory.max";

const QOS_RESERVED = "featureGates: {QOSReserved: true}\nqosReserved: {memory: 100%}";
const ALL_MEMORY = 'evictionHard: {memory.available: "0%"}';

/** A pod of the given requests and limits that runs a shell command. */
function pod(
  name: string,
  command: readonly string[],
  resources: Readonly<Record<"requests" | "limits", Record<string, string>>> | undefined,
  restartPolicy = "Always",
): Manifest {
  const container = { name: "main", image: TEST_IMAGE, command, ...(resources && { resources }) };
  const { metadata, spec } = manifest(name, { restartPolicy, containers: [container] });
  return { metadata: { ...metadata, uid: name }, ...(spec && { spec }) };
}

async function report(box: Box): Promise<CgroupsReport> {
  const main =
    process.env["NODELET_PROGRAM"] ?? new URL("../../src/main.ts", import.meta.url).pathname;
  return JSON.parse(
    await box.run([process.execPath, main, "cgroups", "-o", "json"]),
  ) as CgroupsReport;
}

test("the worked example: every group of three real pods, value for value", () =>
  withBox({}, async (box) => {
    await disguise(box, { cpus: 3, memoryBytes: 8 * GI });
    const agent = await BoxedAgent.start(box, { config: QOS_RESERVED });
    for (const { name, text } of exampleManifests()) agent.apply(`${name}.yaml`, text);
    await agent.untilReady(3);
    const live = await report(box);
    const rows = exampleRows(live.runtimeWeights === "quadratic" ? "quadratic" : "linear");
    for (const { path, container, ...values } of rows) {
      const found = container ? containerGroup(live, path) : path;
      for (const [file, wanted] of Object.entries(values[version])) {
        assert.equal(groupValue(box, found, file), wanted, `${path} ${file}`);
      }
    }
    const odd = live.groups.flatMap(({ path, values }) =>
      values.filter(({ state }) => state !== "same").map((value) => ({ path, ...value })),
    );
    assert.deepEqual(odd, [], "and nodelet cgroups finds nothing to say");
    assert.equal(live.groups.filter(({ kind }) => kind === "container").length, 4);
    await sameUsage(box);
  }));

/** The summary of usage says of every pod what its group says. */
async function sameUsage(box: Box): Promise<void> {
  const socketPath = box.path("/run/nodelet/agent.sock");
  const { body } = await answerOf(request({ socketPath, path: "/stats/summary", agent: false }));
  const { pods } = JSON.parse(body) as { readonly pods: readonly PodUsage[] };
  assert.equal(pods.length, 3);
  for (const { podRef, cpu, memory, containers, network, process_stats } of pods) {
    const { path } = PODS.find(({ uid }) => uid === podRef.uid) ?? { path: "" };
    const counted = Number(groupValue(box, path, MEMORY_USAGE));
    assert.ok(Math.abs(memory.usageBytes - counted) < 4 * MI, `${path} uses ${counted}`);
    assert.ok(cpu.usageCoreNanoSeconds > 0 && cpu.usageCoreNanoSeconds <= cpuUsed(box, path));
    assert.equal("psi" in cpu, version === 2, "the kernel tells pressure on version 2 only");
    assert.equal(containers.length, podRef.uid === "b" ? 2 : 1);
    assert.equal(network?.name, "eth0");
    assert.ok(process_stats.process_count >= containers.length + 1);
  }
}

const MEMORY_USAGE = version === 1 ? "memory.usage_in_bytes" : "memory.current";
const PODS = [
  { uid: "g", path: "/kubepods/podg" },
  { uid: "b", path: "/kubepods/burstable/podb" },
  { uid: "be", path: "/kubepods/besteffort/podbe" },
] as const;

interface PodUsage {
  readonly podRef: { readonly uid: string };
  readonly cpu: { readonly usageCoreNanoSeconds: number };
  readonly memory: { readonly usageBytes: number };
  readonly containers: readonly object[];
  readonly network?: { readonly name: string };
  readonly process_stats: { readonly process_count: number };
}

/** Where the runtime has put a container that the example calls by its name. */
function containerGroup({ groups }: CgroupsReport, path: string): string {
  const parent = path.slice(0, path.lastIndexOf("/"));
  const name = path.slice(parent.length + 1);
  const found = groups.find(
    (group) => group.container === name && group.path.startsWith(`${parent}/`),
  );
  assert.ok(found, `no group of container ${name}`);
  return found.path;
}

test("qosReserved: the classes' limits follow pods that come and go, and are lifted when it is off", () =>
  withBox({}, async (box) => {
    await disguise(box, { cpus: 3, memoryBytes: 8 * GI });
    const agent = await BoxedAgent.start(box, { config: `${QOS_RESERVED}\n${ALL_MEMORY}` });
    const limits = () =>
      ["burstable", "besteffort"].map(
        (tier) => Number(groupValue(box, `/kubepods/${tier}`, MEMORY_LIMIT)) / GI,
      );
    const become = (wanted: readonly number[]) =>
      agent.until(
        `the limits are ${wanted.join(" and ")} GiB`,
        () => `${limits()}` === `${wanted}`,
      );
    await become([8, 8]);
    const one = { cpu: "1", memory: "1Gi" };
    agent.apply("g.yaml", pod("g", STAY, { requests: one, limits: one }));
    await become([7, 7]);
    const two = { requests: { memory: "2Gi" }, limits: {} };
    agent.apply("b.yaml", pod("b", STAY, two));
    await become([7, 5]);
    await agent.untilReady(2);
    agent.remove("g.yaml");
    await become([8, 6]);
    await agent.stop();
    await new BoxedAgentWithout(box).start();
    await agent.until("the limits are lifted", () => limits().every((limit) => !(limit < 1000)));
  }));

/** The same agent with the option off. */
class BoxedAgentWithout {
  readonly #box: Box;
  constructor(box: Box) {
    this.#box = box;
  }
  async start(): Promise<void> {
    await BoxedAgent.start(this.#box, { config: ALL_MEMORY });
  }
}

test("qosReserved below what is in use kills nobody, and takes hold when the memory is given back", () =>
  withBox({}, async (box) => {
    await disguise(box, { cpus: 3, memoryBytes: 256 * MI });
    const agent = await BoxedAgent.start(box, { config: `${QOS_RESERVED}\n${ALL_MEMORY}` });
    const limit = () => Number(groupValue(box, "/kubepods/besteffort", MEMORY_LIMIT));
    const usageFile = version === 1 ? "memory.usage_in_bytes" : "memory.current";
    const usage = () => Number(groupValue(box, "/kubepods/besteffort", usageFile));
    // Holds the memory until the file is there, then goes on without it.
    const eater = "eat-memory 100 8 & wait; while true; do sleep 0.1; done";
    agent.apply("be.yaml", pod("be", ["sh", "-c", eater], undefined));
    await agent.until("the hog holds 100 MiB", () => usage() > 100 * MI);
    const most = { cpu: "1", memory: "200Mi" };
    agent.apply("g.yaml", pod("g", STAY, { requests: most, limits: most }));
    await agent.until("the limit has come down", () => limit() < 256 * MI);
    assert.ok(limit() >= 100 * MI, `${limit()} is below what is in use`);
    await agent.untilReady(2);
    await agent.until("the hog has let go", () => usage() < 50 * MI);
    agent.apply("other.yaml", pod("other", STAY, undefined));
    await agent.until("the limit is what was planned", () => limit() === 56 * MI);
    await agent.untilReady(3);
    const restarts = [...agent.statuses().values()].flatMap(
      (status) => status.containerStatuses?.map(({ restartCount }) => restartCount) ?? [],
    );
    assert.deepEqual(restarts, [0, 0, 0]);
  }));

const BURN = ["taskset", "1", "burn"];
const burners = (count: number) => [
  "sh",
  "-c",
  `${Array.from({ length: count }, () => `${BURN.join(" ")} &`).join(" ")} wait`,
];

/** CPU time that each group gets within the same few seconds. */
async function share(box: Box, paths: readonly string[], seconds: number) {
  const before = paths.map((path) => cpuUsed(box, path));
  await sleep(seconds * 1000);
  return paths.map((path, i) => cpuUsed(box, path) - (before[i] ?? 0));
}

test("a saturated CPU is shared 3 to 1 by requests of 3 to 1", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const requests = (cpu: string) => ({ requests: { cpu }, limits: {} });
    agent.apply("big.yaml", pod("big", burners(2), requests("600m")));
    agent.apply("small.yaml", pod("small", burners(2), requests("200m")));
    await agent.untilReady(2);
    const paths = ["/kubepods/burstable/podbig", "/kubepods/burstable/podsmall"];
    const [big = 0, small = 0] = await share(box, paths, 8);
    assert.ok(Math.abs(big / small - 3) <= 0.3, `${(big / small).toFixed(2)} to 1`);
    console.log(`CPU time with requests of 3:1 is ${(big / small).toFixed(3)}:1`);
  }));

test("a best-effort hog does not take a guaranteed pod's share", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const one = { cpu: "1", memory: "64Mi" };
    agent.apply("hog.yaml", pod("hog", burners(8), undefined));
    agent.apply("calm.yaml", pod("calm", burners(1), { requests: one, limits: one }));
    await agent.untilReady(2);
    const paths = ["/kubepods/podcalm", "/kubepods/besteffort/podhog"];
    const [calm = 0, hog = 0] = await share(box, paths, 5);
    const part = calm / (calm + hog);
    // On v2 the least weight is 1 against 39, on v1 2 against 1024.
    assert.ok(part > (version === 1 ? 0.97 : 0.94), `the guaranteed pod got ${part}`);
    console.log(`beside 8 best-effort hogs the guaranteed pod has ${(part * 100).toFixed(1)} %`);
  }));

test("a pod over its memory limit is killed and says so", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const limits = { cpu: "500m", memory: "32Mi" };
    const command = ["sh", "-c", "head -c 100m /dev/zero | tail -c 100m"];
    agent.apply("eater.yaml", pod("eater", command, { requests: limits, limits }, "Never"));
    await agent.until("it has ended", () => agent.status()?.phase === "Failed");
    const [container] = agent.status()?.containerStatuses ?? [];
    assert.equal(container?.state?.terminated?.reason, "OOMKilled");
    const text =
      /Process tail \(pid \d+\) holding \d+ MiB was killed: the memory limit of the (container|pod)/;
    await agent.until("the event names process and limit", () => text.test(agent.log()));
    await agent.until("its group is gone", () => !podGroups(box).includes("podeater"));
  }));

function podGroups(box: Box): readonly string[] {
  try {
    return readdirSync(box.cgroupPath("/kubepods"));
  } catch {
    return [];
  }
}
