// A node that runs short, in seeded histories: the agent is killed at any moment of an eviction, the runtime fails and
// is late. Whatever happens, the right pod goes, no second one does, and the reason is reported to all.
import type { Pod } from "../../src/api/generated/types.ts";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { conditionOf } from "./cluster-world.ts";
import {
  DISK_THRESHOLD,
  type Holdings,
  MEMORY_THRESHOLD_MI,
  MI,
  ShortNode,
} from "./eviction-world.ts";
import { CALM } from "./fake-runtime-objects.ts";
import type { Tally } from "./play-seeds.ts";
import { pick } from "./scenario.ts";
import { MANIFESTS, SimFailure } from "./world.ts";

/** `evictionPressureTransitionPeriod`. */
export const TRANSITION_MS = 300_000;
/** Images that were seen for less long are kept. */
const IMAGE_AGE_MS = 130_000;
/** Between two rounds of the agent, and what a slow runtime adds to one. */
const ROUND_MS = 20_000;
/** Between two rounds when an evicted pod is not cleaned up. */
const CLEANUP_MS = 30_000;
/** A start while the runtime fails and is late takes at most this long. */
const START_MS = 20_000;
const SETTLE_MS = 180_000;

/** One way in which a node runs short. */
interface Story {
  readonly condition: "MemoryPressure" | "DiskPressure";
  readonly resource: "memory" | "ephemeral-storage";
  readonly pods: Holdings;
  /** An image that nothing uses. */
  readonly unusedImageMi?: number;
  /** Who goes; nobody where the node's own reserves suffice. */
  readonly victim?: string;
  readonly config?: Partial<KubeletConfig>;
  /** Whether the runtime may fail: an image that cannot be removed would cost a pod. */
  readonly faults: boolean;
}

const WITHIN: Holdings = {
  within: { memoryMi: 500, requests: { memory: "1Gi" } },
  other: { memoryMi: 200, requests: { memory: "300Mi" } },
};
const WRITERS: Holdings = {
  small: { diskMi: 100 },
  within: { diskMi: 9_000, requests: { "ephemeral-storage": "20Gi" } },
  hog: { diskMi: 8_000 },
};

/** Every kind of shortage, by name. */
const STORIES: Readonly<Record<string, Story>> = {
  memory: {
    condition: "MemoryPressure",
    resource: "memory",
    victim: "hog",
    faults: true,
    pods: { ...WITHIN, small: { memoryMi: 10 }, hog: { memoryMi: 600 } },
  },
  slow: {
    condition: "MemoryPressure",
    resource: "memory",
    victim: "hog",
    faults: true,
    pods: { ...WITHIN, small: { memoryMi: 10 }, hog: { memoryMi: 600, isStubborn: true } },
    config: {
      evictionHard: {},
      evictionSoft: { "memory.available": `${MEMORY_THRESHOLD_MI}Mi` },
      evictionSoftGracePeriod: { "memory.available": "5s" },
      evictionMaxPodGracePeriod: 45,
    },
  },
  critical: {
    condition: "MemoryPressure",
    resource: "memory",
    victim: "other",
    faults: true,
    pods: { ...WITHIN, hog: { memoryMi: 600, isStatic: true } },
  },
  disk: {
    condition: "DiskPressure",
    resource: "ephemeral-storage",
    victim: "hog",
    faults: true,
    pods: WRITERS,
  },
  images: {
    condition: "DiskPressure",
    resource: "ephemeral-storage",
    faults: false,
    pods: WRITERS,
    unusedImageMi: 8_000,
  },
};

/** How often each kind of shortage was played. */
export const NO_SHORTAGE: Tally = Object.fromEntries(Object.keys(STORIES).map((name) => [name, 0]));

/** Plays one seed to its end; throws `SimFailure` with the trace of what happened. */
export async function playEviction(seed: number, tally: Tally = { ...NO_SHORTAGE }): Promise<void> {
  const names = Object.keys(STORIES);
  const name = names[seed % names.length] ?? "";
  const story = STORIES[name] as Story;
  const node = new ShortNode(seed, story.pods, story.config);
  try {
    await runShort(node, story, createSeededRandom(seed + 9));
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    const { trace } = node.world;
    throw new SimFailure(`seed ${seed}: ${name}: ${error.message}\n${trace.slice(-80).join("\n")}`);
  }
  tally[name] = (tally[name] ?? 0) + 1;
}

async function runShort(node: ShortNode, story: Story, random: Random): Promise<void> {
  const { world } = node;
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  if (story.unusedImageMi !== undefined)
    world.runtime.store.add("nodelet.test/unused:1", { sizeBytes: story.unusedImageMi * MI });
  world.startAgent();
  for (const name of Object.keys(story.pods)) await node.create(name);
  await world.advance(IMAGE_AGE_MS);
  checkReady(node, story, Object.keys(story.pods));
  expect(node, conditionOf(node.node(), story.condition) === "False", "no pressure before");
  const startedMs = await disturbed(node, story, random);
  Object.assign(world.runtime.options, CALM);
  await world.advance(SETTLE_MS);
  checkWho(node, story);
  const { lastShortMs } = node;
  const isReported = () => conditionOf(node.node(), story.condition) === "True";
  // What an agent observed is lost with it: only a shortage that the last one met has to be reported.
  const mustLast = isReported() || lastShortMs > startedMs + START_MS + ROUND_MS;
  if (mustLast) {
    await world.advance(
      Math.max(0, lastShortMs + TRANSITION_MS - ROUND_MS - CLEANUP_MS - world.clock.monotonic()),
    );
    expect(node, isReported(), `${story.condition} stays for the transition period`);
  }
  await world.advance(TRANSITION_MS);
  expect(node, !isReported(), `${story.condition} ends`);
  expect(node, !node.isShort, "there is enough again");
  checkWho(node, story);
}

function expect({ world }: ShortNode, holds: boolean, what: string): void {
  if (!holds) world.fail(`does not hold: ${what}`);
}

const isEvicted = (pod: Pod | undefined) =>
  pod?.status?.phase === "Failed" && pod.status.reason === "Evicted";

function checkReady(node: ShortNode, _story: Story, names: readonly string[]): void {
  for (const name of names)
    expect(node, conditionOf(node.pod(name), "Ready") === "True", `${name} is Ready`);
}

/** The right pod, nobody else, and the others are as before. */
function checkWho(node: ShortNode, story: Story): void {
  const names = Object.keys(story.pods);
  const evicted = names.filter((name) => isEvicted(node.pod(name)));
  const { victim } = story;
  if (evicted.join() !== (victim ?? ""))
    node.world.fail(`evicted: ${evicted.join() || "nobody"} instead of ${victim ?? "nobody"}`);
  checkReady(
    node,
    story,
    names.filter((name) => name !== victim),
  );
  if (victim === undefined) return;
  const { status } = node.pod(victim) ?? {};
  const opening = `The node was low on resource: ${story.resource}. Threshold quantity: `;
  const message = status?.message ?? "";
  expect(node, message.startsWith(opening), `message of ${victim}: ${message}`);
  expect(node, conditionOf(node.pod(victim), "DisruptionTarget") === "True", "DisruptionTarget");
}

/**
 * The node runs short, and the agent is killed several times while something is done about it. Resolves with when it was
 * started last.
 */
async function disturbed(node: ShortNode, story: Story, random: Random): Promise<number> {
  const { world } = node;
  let startedMs = 0;
  const slow = pick(random, [0, 50, 500, 3_000]);
  const faults = pick(random, [0, 0, 0.2]);
  Object.assign(world.runtime.options, { latencyMs: slow, faults: story.faults ? faults : 0 });
  world.note(`${story.resource} runs out`);
  const shortMi = pick(random, [1, 50, 99]);
  if (story.resource === "memory") {
    node.machine.memoryMi += node.memoryLeftMi - MEMORY_THRESHOLD_MI + shortMi;
  } else {
    const { availableBytes, capacityBytes } = world.host.disk;
    const spare = (availableBytes - capacityBytes * DISK_THRESHOLD) / MI;
    node.machine.diskMi += Math.floor(spare) + shortMi * 10;
  }
  for (let times = pick(random, [0, 1, 2, 4]); times > 0; times -= 1) {
    await world.advance(Math.floor(random.next() * 14_000));
    world.killAgent();
    await world.advance(Math.floor(random.next() * 3_000));
    startedMs = world.clock.monotonic();
    await startWatched(node);
  }
  return startedMs;
}

/** Starts the agent and lets it set its first alarms: time then passes from one to the next, and what is held is counted at each. */
async function startWatched({ world }: ShortNode): Promise<void> {
  world.startAgent();
  await world.advance(1);
}
