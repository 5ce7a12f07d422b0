// The agent is killed in every step of an eviction, on real containerd: the pod goes that was to go, no other one does, and
// why it went is reported afterwards. Four nodes side by side.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { PodSpec } from "../../src/api/generated/types.ts";
import { loopObstacle } from "../support/loop-device.ts";
import { STAY, WAIT_FOREVER } from "../support/stay.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { tenantSpec } from "./constellations.ts";
import { EvictionNode, isEvicted, nameOf, podSpec } from "./node.ts";
import { isDisrupted, startMemoryNode } from "./suffer.ts";

/** Longer than the time between two rounds, so that a second victim would be seen. */
const ROUND_MS = 12_000;
const POLL_MS = 2;
const STEP_WITHIN_MS = 60_000 * TIMEOUT_FACTOR;

/** What is short, who takes it, and who would be next. */
interface Scene {
  readonly start: () => Promise<EvictionNode>;
  readonly neighbours: Readonly<Record<string, PodSpec>>;
  /** Does not end when it is asked to, but says that it was. */
  readonly hog: PodSpec;
  readonly condition: string;
  readonly message: RegExp;
}

const hogging = (script: string) => `trap 'echo asked to end' TERM\n${script}\n${WAIT_FOREVER}`;
const DATA = { volumeMounts: [{ name: "data", mountPath: "/data" }] };
const volumes = [{ name: "data", emptyDir: {} }];
const writes = (script: string): PodSpec => ({ ...podSpec(script, DATA), volumes });

const MEMORY: Scene = {
  start: startMemoryNode,
  neighbours: {
    next: tenantSpec({ uses: 110 }),
    within: tenantSpec({ uses: 60, request: 80 }),
    small: tenantSpec({ uses: 20 }),
  },
  hog: podSpec(hogging("eat-memory 140 &")),
  condition: "MemoryPressure",
  message: /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: /,
};

const DISK: Scene = {
  start: () =>
    EvictionNode.start({
      config: "evictionHard: {nodefs.available: 120Mi}\nimageGCHighThresholdPercent: 100",
      disks: [{ mib: 320, folders: ["/var/lib/kubelet", "/var/log/pods", "/var/lib/containerd"] }],
    }),
  neighbours: {
    next: writes(`dd if=/dev/zero of=/data/some bs=1M count=30; ${STAY}`),
    small: podSpec(STAY),
  },
  hog: writes(
    hogging(
      "i=0; while [ $i -lt 400 ]; do dd if=/dev/zero of=/data/$i bs=400k count=1; i=$((i + 1)); done 2>/dev/null",
    ),
  ),
  condition: "DiskPressure",
  message:
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: 120Mi, available: /,
};

/** What is seen of an eviction from outside of the agent. */
class Progress {
  readonly #node: EvictionNode;
  readonly #name: string;
  readonly #uid: string;
  readonly #logFrom: number;
  #ran = false;

  constructor(node: EvictionNode, name: string, uid: string) {
    this.#node = node;
    this.#name = name;
    this.#uid = uid;
    this.#logFrom = node.agent.log().length;
  }

  logged(pattern: RegExp): boolean {
    return pattern.test(this.#node.agent.log().slice(this.#logFrom));
  }

  /** The status that the agent keeps says that the pod has ended, and why. */
  isKept(): boolean {
    const status = this.#node.agent.statuses().get(this.#uid);
    return status?.reason === "Evicted" && status.phase === "Failed";
  }

  wasAsked(): boolean {
    const folder = this.#node.box.path(`/var/log/pods/default_${this.#name}_${this.#uid}/main`);
    return listed(folder).some((name) =>
      readFileSync(join(folder, name), "utf8").includes("asked to end"),
    );
  }

  /** Its container ran, and nothing but its sandbox runs any more. */
  isDead(): boolean {
    const processes = listed(this.#group).flatMap((name) => textOf(join(this.#group, name)));
    this.#ran ||= processes.length > 1;
    return this.#ran && processes.length <= 1;
  }

  isGroupGone(): boolean {
    return !existsSync(this.#group);
  }

  get #group(): string {
    return this.#node.box.cgroupPath(`/kubepods/besteffort/pod${this.#uid}`, "memory");
  }
}

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The processes in a group below the pod's. */
function textOf(group: string): readonly string[] {
  try {
    return readFileSync(join(group, "cgroup.procs"), "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

interface Step {
  readonly name: string;
  readonly isReached: (progress: Progress) => boolean;
  /** How long after that. */
  readonly laterMs?: number;
}

const isChosen = (progress: Progress) => progress.logged(/pod is evicted/);
const NOTICED: Step = {
  name: "the shortage is noticed",
  isReached: (progress) => progress.logged(/a resource is short on the node/),
};
const CHOSEN: Step = { name: "the pod is chosen", isReached: isChosen };
const CHOSEN_BEFORE: Step = {
  name: "the pod was chosen 50 ms before",
  isReached: isChosen,
  laterMs: 50,
};
const ASKED: Step = {
  name: "the container was asked to end",
  isReached: (progress) => progress.wasAsked(),
};
const ASKED_BEFORE: Step = {
  name: "the container was asked half a second before",
  isReached: (progress) => progress.wasAsked(),
  laterMs: 500,
};
const DEAD: Step = { name: "the container is dead", isReached: (progress) => progress.isDead() };
const KEPT: Step = { name: "the status is kept", isReached: (progress) => progress.isKept() };
const GONE: Step = {
  name: "the pod's group is gone",
  isReached: (progress) => progress.isGroupGone(),
};

async function killAt(
  node: EvictionNode,
  scene: Scene,
  { step, name }: { step: Step; name: string },
) {
  const lives = await node.lives();
  assert.deepEqual(Object.keys(lives).sort(), Object.keys(scene.neighbours).sort());
  const progress = new Progress(node, name, await node.create(name, scene.hog));
  await node.until(
    "the hog runs",
    () => node.lives(),
    (all) => name in all || isChosen(progress),
  );
  const deadline = performance.now() + STEP_WITHIN_MS;
  while (!step.isReached(progress)) {
    const isLate = performance.now() > deadline;
    assert.ok(!isLate, `not reached: ${step.name}\n${node.agent.log().slice(-5000)}`);
    await sleep(POLL_MS);
  }
  await sleep(step.laterMs ?? 0);
  await node.agent.kill();
  await node.agent.start();
  const pod = await node.untilEvicted(name);
  assert.match(pod.status?.message ?? "", scene.message);
  assert.ok(isDisrupted(pod), "DisruptionTarget");
  await node.until("its group is gone", () => progress.isGroupGone(), Boolean);
  await sleep(ROUND_MS);
  await node.untilCondition(scene.condition, "False");
  const evicted = (await node.pods()).filter(isEvicted);
  const reasons = evicted.map(({ status }) => status?.message);
  assert.deepEqual(
    evicted.map(nameOf),
    [name],
    `one pod goes, and no second one: ${reasons.join()}`,
  );
  assert.deepEqual(reasons, [pod.status?.message], "the reason stays");
  assert.deepEqual(await node.lives(), lives, "the others run on");
  await node.remove(name);
}

function killSeries(where: string, scene: Scene, steps: readonly Step[]): void {
  describe(where, { concurrency: 1 }, () => {
    let node: EvictionNode;
    before(async () => {
      node = await scene.start();
      for (const [name, spec] of Object.entries(scene.neighbours)) await node.create(name, spec);
      await node.untilReady(...Object.keys(scene.neighbours));
    });
    after(() => node?.[Symbol.asyncDispose]());
    for (const [i, step] of steps.entries())
      test(`killed when ${step.name}`, () => killAt(node, scene, { step, name: `hog-${i}` }));
  });
}

const skip = loopObstacle() ?? false;

describe("the agent is killed as it evicts a pod", { skip, concurrency: 4 }, () => {
  killSeries("short of memory", MEMORY, [NOTICED, CHOSEN_BEFORE, DEAD]);
  killSeries("short of memory, another node", MEMORY, [CHOSEN, ASKED, GONE]);
  killSeries("short of disk", DISK, [CHOSEN, DEAD]);
  killSeries("short of disk, another node", DISK, [ASKED_BEFORE, KEPT]);
});
