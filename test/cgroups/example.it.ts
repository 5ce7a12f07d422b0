// The worked example on a real kernel with real containerd, and what memory limits do there. Also run on
// cgroup v2 in a guest (test/guest/v2.it.ts), which is slow: all of it in one box.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { request } from "node:http";
import { test } from "node:test";
import type { CgroupsReport } from "../../src/subsystems/cgroups/cgroups.ts";
import { type Box, withBox } from "../box/box.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { answerOf } from "../server/http.ts";
import { BoxedAgent } from "../support/agent.ts";
import { cpuUsed, disguise, groupValue } from "../support/cgroup-box.ts";
import { exampleManifests, exampleRows } from "./example.ts";
import { pod, QUIET } from "./pods.ts";

const GI = 2 ** 30;
const MI = 2 ** 20;
const { version } = cgroupRoots();
const MEMORY_LIMIT = version === 1 ? "memory.limit_in_bytes" : "memory.max";
const MEMORY_USAGE = version === 1 ? "memory.usage_in_bytes" : "memory.current";

/** All of the memory is for pods, so that the example comes out and can be filled up. */
const CONFIG = `featureGates: {QOSReserved: true}
qosReserved: {memory: 100%}
evictionHard: {memory.available: "0%"}`;

test("the worked example", (t) =>
  withBox({}, async (box) => {
    await disguise(box, { cpus: 3, memoryBytes: 8 * GI });
    const agent = await BoxedAgent.start(box, { config: CONFIG });
    for (const { name, text } of exampleManifests()) agent.apply(`${name}.yaml`, text);
    await agent.untilReady(3);
    await t.test("every group of three real pods, value for value", () => sameValues(box));
    await t.test("the summary of usage says what the groups say", () => sameUsage(box));
    await t.test("a class is limited below what it uses, and nobody is killed", () =>
      lowered(box, agent),
    );
    await t.test("a pod over its memory limit is killed and says so", () => killed(box, agent));
  }));

async function sameValues(box: Box): Promise<void> {
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
}

/** What `nodelet cgroups` shows. */
function report(box: Box): Promise<CgroupsReport> {
  return asked<CgroupsReport>(box, "/nodelet/v1/cgroups");
}

async function asked<T>(box: Box, path: string): Promise<T> {
  const socketPath = box.path("/run/nodelet/agent.sock");
  const { body } = await answerOf(request({ socketPath, path, agent: false }));
  return JSON.parse(body) as T;
}

/** The summary of usage says of every pod what its group says. */
async function sameUsage(box: Box): Promise<void> {
  const { pods } = await asked<{ readonly pods: readonly PodUsage[] }>(box, "/stats/summary");
  assert.equal(pods.length, 3);
  for (const { podRef, cpu, memory, containers, network, process_stats } of pods) {
    const { path } = PODS.find(({ uid }) => uid === podRef.uid) ?? { path: "" };
    const counted = Number(groupValue(box, path, MEMORY_USAGE));
    assert.ok(Math.abs(memory.usageBytes - counted) < 4 * MI, `${path} uses ${counted}`);
    assert.ok(cpu.usageCoreNanoSeconds > 0 && cpu.usageCoreNanoSeconds <= cpuUsed(box, path));
    assert.ok("psi" in cpu, "pressure is shown, as zeros on version 1");
    assert.equal(containers.length, podRef.uid === "b" ? 2 : 1);
    assert.equal(network?.name, "eth0");
    assert.ok(process_stats.process_count >= containers.length + 1);
  }
}

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

/** Best effort has 5 GiB; a burstable pod leaves it 64 MiB while it uses more. */
async function lowered(box: Box, agent: BoxedAgent): Promise<void> {
  const limit = () => Number(groupValue(box, "/kubepods/besteffort", MEMORY_LIMIT));
  const usage = () => Number(groupValue(box, "/kubepods/besteffort", MEMORY_USAGE));
  // Longer than a busy machine takes until the limit has come down.
  const eater = "eat-memory 100 25 & wait; sleep 600";
  agent.apply("hog.yaml", pod("hog", ["sh", "-c", eater], undefined));
  await agent.until("the hog holds 100 MiB", () => usage() > 100 * MI);
  const most = { requests: { memory: `${5 * 1024 - 64}Mi` }, limits: {} };
  agent.apply("most.yaml", pod("most", QUIET, most));
  await agent.until("the limit has come down", () => limit() < 5 * GI);
  // What is in use goes up and down a little between our reading and the agent's.
  assert.ok(limit() >= 98 * MI, `${limit()} is below what is in use`);
  await agent.until("the hog has let go", () => usage() < 50 * MI);
  agent.apply("other.yaml", pod("other", QUIET, undefined));
  await agent.until("the limit is what was planned", () => limit() === 64 * MI);
  await agent.untilReady(6);
  const restarts = [...agent.statuses().values()].flatMap(
    (status) => status.containerStatuses?.map(({ restartCount }) => restartCount) ?? [],
  );
  assert.deepEqual(new Set(restarts), new Set([0]));
}

async function killed(box: Box, agent: BoxedAgent): Promise<void> {
  const command = ["sh", "-c", "head -c 100m /dev/zero | tail -c 100m"];
  const limits = { memory: "32Mi" };
  agent.apply("eater.yaml", pod("eater", command, { requests: limits, limits }, "Never"));
  const status = () => agent.statuses().get("eater");
  await agent.until("it has ended", () => status()?.phase === "Failed");
  const [container] = status()?.containerStatuses ?? [];
  assert.equal(container?.state?.terminated?.reason, "OOMKilled");
  const text =
    /Process tail \(pid \d+\) holding \d+ MiB was killed: the memory limit of the (container|pod)/;
  await agent.until("the event names process and limit", () => text.test(agent.log()));
  await agent.until("its group is gone", () => !burstableGroups(box).includes("podeater"));
}

function burstableGroups(box: Box): readonly string[] {
  try {
    return readdirSync(box.cgroupPath("/kubepods/burstable"));
  } catch {
    return [];
  }
}
