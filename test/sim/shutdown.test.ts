// The machine goes down, and waits for pods; on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import type { DurationMs } from "../../src/api/text/duration.ts";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { type ClusterWorld, conditionOf, inCluster, podOf } from "./cluster-world.ts";
import type { StoredObject } from "./fake-api-objects.ts";
import type { Program } from "./programs.ts";
import { MANIFESTS } from "./world.ts";

const CRITICAL = 2_000_000_000;
const MESSAGE = "Pod was terminated in response to imminent node shutdown.";
const STATE = "/var/lib/kubelet/graceful_node_shutdown_state";
const TWO_PERIODS: Partial<KubeletConfig> = {
  shutdownGracePeriod: 30_000 as DurationMs,
  shutdownGracePeriodCriticalPods: 10_000 as DurationMs,
};

const shutdownIn = (
  config: Partial<KubeletConfig>,
  use: (cluster: ClusterWorld) => Promise<void>,
  featureGates: Readonly<Record<string, boolean>> = {},
) => inCluster(use, featureGates, { config });

interface PodChoice {
  readonly program?: Program;
  readonly priority?: number;
  readonly graceSeconds?: number;
  readonly restartPolicy?: string;
}

function make({ api }: ClusterWorld, name: string, choice: PodChoice = {}): void {
  const { program = { kind: "sleep" }, priority = 0, graceSeconds = 5 } = choice;
  const pod = podOf(name, program, choice.restartPolicy ?? "Always") as unknown as Pod;
  const volumes = [{ name: "data", emptyDir: { medium: "Memory" } }];
  const spec = { ...pod.spec, priority, terminationGracePeriodSeconds: graceSeconds, volumes };
  api.objects.create({ collection: "pods", namespace: "default" }, {
    ...pod,
    spec,
  } as unknown as StoredObject);
}

async function addManifest({ world }: ClusterWorld, name: string): Promise<void> {
  const manifest = JSON.stringify(podOf(name, { kind: "sleep" }, "Always"));
  await world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, manifest, 0o644);
}

/** Texts of the journal about the node's shutdown. */
async function story({ world }: ClusterWorld) {
  const journal = world.agent?.subsystems.journal;
  assert.ok(journal);
  await journal.flush();
  const records = await journal.read({});
  return records.filter(({ kind }) => /shutdown/i.test(kind));
}

const nodeEvents = ({ api }: ClusterWorld) =>
  api.objects
    .list("events")
    .filter(({ reason }) => reason === "Shutdown")
    .map(({ type, message }) => `${String(type)} ${String(message)}`);

test("pods are ended by priority before the machine goes down, and their statuses say why", () =>
  shutdownIn(TWO_PERIODS, async (cluster) => {
    const { world, pod, node } = cluster;
    const { logind, files } = world.host;
    make(cluster, "web");
    make(cluster, "stubborn", { program: { kind: "stubborn" }, graceSeconds: 600 });
    make(cluster, "dns", { priority: CRITICAL + 1 });
    make(cluster, "job", {
      restartPolicy: "Never",
      program: { kind: "exit", code: 0, afterMs: 1 },
    });
    await addManifest(cluster, "fixed");
    await world.advance(30_000);
    assert.equal(pod("job")?.status?.phase, "Succeeded");
    assert.equal(logind.delayMs, 30_000);
    assert.deepEqual(
      [...logind.locks].map(({ who }) => who),
      ["kubelet"],
    );
    const began = world.clock.monotonic();
    logind.shutDown();
    await world.advance(2_000);
    const ready = node()?.status?.conditions?.find(({ type }) => type === "Ready");
    assert.deepEqual(
      [ready?.status, ready?.reason, ready?.message],
      ["False", "KubeletNotReady", "node is shutting down"],
    );
    make(cluster, "late");
    await world.advance(3_000);
    const late = pod("late")?.status;
    assert.deepEqual(
      [late?.phase, late?.reason, late?.message],
      [
        "Failed",
        "NodeShutdown",
        "Pod was rejected: Pod was rejected as the node is shutting down.",
      ],
    );
    assert.equal(pod("web")?.status?.phase, "Failed");
    assert.equal(pod("stubborn")?.status?.phase, "Running", "its grace is not over");
    assert.equal(pod("dns")?.status?.phase, "Running", "its turn has not come");
    await world.advance(40_000);
    assert.ok(logind.wentDownAt !== undefined && !logind.wasForced);
    assert.ok(logind.wentDownAt - began <= 30_000, `it took ${logind.wentDownAt - began} ms`);
    for (const name of ["web", "stubborn", "dns", "fixed-sim"]) {
      const { phase, reason, message, conditions } = pod(name)?.status ?? {};
      assert.deepEqual([name, phase, reason, message], [name, "Failed", "Terminated", MESSAGE]);
      const target = conditions?.find(({ type }) => type === "DisruptionTarget");
      assert.deepEqual(
        [target?.status, target?.reason, target?.message],
        ["True", "TerminationByKubelet", MESSAGE],
      );
    }
    assert.equal(pod("job")?.status?.reason, undefined, "it had ended before");
    assert.deepEqual(nodeEvents(cluster), ["Normal Shutdown manager detected shutdown event"]);
    const names = new Map(
      [...world.runtime.sandboxes.values()].map(({ config: { metadata } }) => [
        metadata?.uid,
        metadata?.name,
      ]),
    );
    const exits = world.runtime.actions
      .filter(({ op, atMs }) => op === "exit" && atMs >= began)
      .map(({ uid }) => names.get(uid));
    assert.deepEqual(exits.toSorted(), ["dns", "fixed-sim", "stubborn", "web"]);
    assert.deepEqual(exits.slice(-2), ["stubborn", "dns"], "the critical pod is the last");
    const kept = JSON.parse((await files.readText(STATE, { maxBytes: 1000 })) ?? "{}");
    assert.ok(kept.startTime < kept.endTime, JSON.stringify(kept));
    const decisions = await story(cluster);
    assert.deepEqual(
      decisions
        .filter(({ subject }) => subject.kind === "node")
        .map(({ kind, rule }) => `${kind}: ${rule}`),
      [
        "startShutdown: the machine shuts down",
        "endShutdownGroup: all have ended",
        "endShutdownGroup: all have ended",
        "endShutdown: all have ended",
      ],
    );
    const [group] = decisions.filter(({ kind }) => kind === "endShutdownGroup");
    assert.match(String(group?.inputs["ended"]), /default\/stubborn after 18\.\ds, main by force/);
  }));

test("after the boot static pods run again, pods of the API stay ended, and the times are known", () =>
  shutdownIn(TWO_PERIODS, async (cluster) => {
    const { world, pod, node } = cluster;
    make(cluster, "web");
    await addManifest(cluster, "fixed");
    await world.advance(30_000);
    world.host.logind.shutDown();
    await world.advance(30_000);
    assert.equal(pod("fixed-sim")?.status?.reason, "Terminated");
    await world.stopAgent();
    world.host.logind.boot();
    world.startAgent();
    await world.advance(60_000);
    assert.equal(conditionOf(node(), "Ready"), "True");
    assert.deepEqual(
      [pod("fixed-sim")?.status?.phase, pod("fixed-sim")?.status?.reason],
      ["Running", undefined],
    );
    assert.equal(conditionOf(pod("fixed-sim"), "Ready"), "True");
    assert.equal(conditionOf(pod("fixed-sim"), "DisruptionTarget"), undefined);
    assert.deepEqual(
      [pod("web")?.status?.phase, pod("web")?.status?.reason],
      ["Failed", "Terminated"],
    );
    assert.equal(conditionOf(pod("web"), "DisruptionTarget"), "True");
    const page = world.agent?.metrics.expose() ?? "";
    const seconds = (name: string) =>
      Number(
        new RegExp(`^kubelet_graceful_shutdown_${name}_time_seconds (\\d+)$`, "m").exec(page)?.[1],
      );
    assert.ok(seconds("start") > 0 && seconds("end") >= seconds("start"), page.slice(0, 500));
  }));

test("a shutdown that is cancelled: no more pods are ended, new ones come, the next one is waited for", () =>
  shutdownIn(TWO_PERIODS, async (cluster) => {
    const { world, pod, node } = cluster;
    const { logind } = world.host;
    make(cluster, "web");
    make(cluster, "slow", { program: { kind: "stubborn" }, graceSeconds: 600 });
    make(cluster, "dns", { priority: CRITICAL });
    await world.advance(30_000);
    logind.shutDown();
    await world.advance(5_000);
    logind.cancel();
    await world.advance(10_000);
    assert.equal(conditionOf(node(), "Ready"), "True");
    assert.equal(pod("dns")?.status?.phase, "Running");
    assert.equal(pod("web")?.status?.reason, "Terminated");
    make(cluster, "new");
    await world.advance(10_000);
    assert.equal(pod("new")?.status?.phase, "Running");
    assert.equal(logind.locks.size, 1, "the lock is held for the next one");
    assert.deepEqual(nodeEvents(cluster).toSorted(), [
      "Normal Shutdown manager detected shutdown cancellation",
      "Normal Shutdown manager detected shutdown event",
    ]);
    logind.shutDown();
    await world.advance(30_000);
    assert.ok(logind.wentDownAt !== undefined && !logind.wasForced);
    assert.equal(pod("dns")?.status?.reason, "Terminated");
    assert.equal(pod("new")?.status?.reason, "Terminated");
    logind.cancel();
    await world.advance(5_000);
    assert.equal(logind.locks.size, 1, "taken again after it was released");
    const rules = (await story(cluster)).filter(({ kind }) => kind === "endShutdown");
    assert.deepEqual(
      rules.map(({ rule }) => rule),
      ["cancelled", "all have ended"],
    );
  }));

test("an agent that is killed during a shutdown goes on with it, and says that it was interrupted", () =>
  shutdownIn(TWO_PERIODS, async (cluster) => {
    const { world, pod } = cluster;
    const { logind } = world.host;
    make(cluster, "slow", { program: { kind: "stubborn" }, graceSeconds: 600 });
    make(cluster, "dns", { priority: CRITICAL });
    await world.advance(30_000);
    logind.shutDown();
    await world.advance(5_000);
    world.killAgent();
    // Another program delays the shutdown for longer.
    const other = { who: "backup", gone: new Promise<void>(() => {}), release: () => {} };
    logind.locks.add(other);
    for (const lock of [...logind.locks]) if (lock.who === "kubelet") lock.release();
    world.startAgent();
    await world.advance(25_000);
    assert.equal(pod("dns")?.status?.reason, "Terminated");
    const rules = (await story(cluster)).filter(({ kind }) => kind === "endShutdown");
    assert.deepEqual(
      rules.map(({ rule }) => rule),
      ["not finished", "all have ended"],
    );
  }));

test("pods that have not ended when their time is over do not hold up the others, and are named", () =>
  shutdownIn(
    {
      shutdownGracePeriodByPodPriority: [
        { priority: 0, shutdownGracePeriodSeconds: 3 },
        { priority: 1000, shutdownGracePeriodSeconds: 6 },
      ],
    },
    async (cluster) => {
      const { world, pod } = cluster;
      const { logind } = world.host;
      make(cluster, "stuck");
      make(cluster, "db", { priority: 1000 });
      await world.advance(30_000);
      world.runtime.refused.add("stopContainer");
      logind.shutDown();
      await world.advance(2_900);
      world.runtime.refused.delete("stopContainer");
      await world.advance(10_000);
      assert.ok(logind.wentDownAt !== undefined && !logind.wasForced);
      assert.equal(pod("db")?.status?.reason, "Terminated");
      const groups = (await story(cluster)).filter(({ kind }) => kind === "endShutdownGroup");
      assert.deepEqual(
        groups.map(({ rule, inputs }) => `${rule}: ${String(inputs["cutOff"])}`),
        ["its time is over: default/stuck", "all have ended: "],
      );
    },
  ));

test("logind is away at first, and its connection is lost later: the lock is held again", () =>
  shutdownIn(TWO_PERIODS, async ({ world, node }) => {
    const { logind } = world.host;
    logind.isAway = true;
    await world.advance(60_000);
    const ready = () => node()?.status?.conditions?.find(({ type }) => type === "Ready");
    assert.equal(ready()?.status, "True");
    assert.match(ready()?.message ?? "", /WARNING: node-shutdown: .*ECONNREFUSED/);
    logind.isAway = false;
    await world.advance(120_000);
    assert.equal(logind.locks.size, 1);
    assert.equal(ready()?.message, "kubelet is posting ready status");
    logind.loseConnections();
    await world.advance(10_000);
    assert.equal(logind.locks.size, 1);
    logind.shutDown();
    await world.advance(30_000);
    assert.ok(logind.wentDownAt !== undefined && !logind.wasForced);
  }));

test("a delay that logind does not take is reported in the Go kubelet's words", () =>
  shutdownIn(TWO_PERIODS, async ({ world, node }) => {
    world.host.logind.ignoresFiles = true;
    await world.advance(60_000);
    assert.match(
      node()?.status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "",
      /unable to update logind InhibitDelayMaxSec to 30s \(ShutdownGracePeriod\), current value of InhibitDelayMaxSec \(5s\) is less than requested ShutdownGracePeriod/,
    );
    assert.equal(world.host.logind.locks.size, 0);
  }));

for (const [what, config, gates] of [
  ["no period", {}, {}],
  [
    "without the gate",
    TWO_PERIODS,
    {
      GracefulNodeShutdown: false,
      GracefulNodeShutdownBasedOnPodPriority: false,
      WindowsGracefulNodeShutdown: false,
    },
  ],
] as const satisfies readonly (readonly [string, Partial<KubeletConfig>, object])[])
  test(`${what}: the machine goes down at once`, () =>
    shutdownIn(
      config,
      async (cluster) => {
        const { world, pod } = cluster;
        make(cluster, "web");
        await world.advance(10_000);
        world.host.logind.shutDown();
        assert.equal(world.host.logind.wentDownAt, world.clock.monotonic());
        await world.advance(5_000);
        assert.equal(pod("web")?.status?.phase, "Running");
      },
      gates,
    ));
