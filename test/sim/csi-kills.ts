/** Agent, driver or both are killed at each step of the lives of a volume: all that one of them does to the host, and each call. */
import { keptDriverDisk, WRITTEN, writtenTo } from "../support/csi-disk.ts";
import type { DriverCall, DriverFault } from "../support/csi-driver.ts";
import { CsiWorld } from "../support/csi-world.ts";
import { CSI_LIVES, type CsiLife, podOfLife } from "./csi-lives.ts";
import { CsiStage } from "./csi-stage.ts";

const VICTIMS = ["agent", "driver", "both"] as const;
/** How long who was killed is away. */
const AWAY_MS = 700;
/** Within this time the pods of a life have what they need, once everything runs. */
const RECOVERY_MS = 130_000;

interface Kill {
  readonly victim: (typeof VICTIMS)[number];
  /** Counted from 0. */
  readonly atStep: number;
}

interface Played {
  readonly steps: number;
  readonly violations: readonly string[];
}

/** Plays a life, interrupted once or not at all. */
async function playLife(life: CsiLife, kill?: Kill): Promise<Played> {
  const faults = new Map<DriverCall, DriverFault>();
  let steps = 0;
  let stage: CsiStage | undefined;
  const step = () => {
    const at = steps;
    if (!stage || stage.isCalm) return;
    steps += 1;
    if (at === kill?.atStep) strike(stage, kill.victim);
  };
  const { driver, ...options } = life.options ?? {};
  const removals: string[] = [];
  const world = await CsiWorld.start({
    ...options,
    onStep: (operation, path) => {
      // What of a volume is removed through a mount is the pod's.
      if (/^remove/.test(operation) && isBeneathMount(world, path)) removals.push(path);
      step();
    },
    reportMs: 20,
    disk: (host) => keptDriverDisk(host, (text) => removals.push(text)),
    driver: {
      ...driver,
      forgetful: true,
      fault: (call) => (stage?.isCalm ? undefined : faults.get(call)),
      onCall: step,
      onDone: step,
    },
  });
  world.addVolume("v");
  life.prepare?.(world);
  stage = new CsiStage(world);
  const played = stage;
  await life.play({
    stage: played,
    world,
    faults,
    begin: (id, more) => played.begin(id, podOfLife(id, more)),
    end: (id) => played.end(id),
    wait: (ms) => world.clock.advance(ms),
  });
  await played.finish(RECOVERY_MS);
  const violations = [...played.violations, ...removals.map((path) => `removed: ${path}`)];
  for (const id of world.driver.known) {
    const kept = await world.host.files.readText(writtenTo(id), { maxBytes: 1_000 });
    if (kept !== undefined && kept !== WRITTEN) violations.push(`${id} has lost what was written`);
  }
  return { steps, violations };
}

function strike(stage: CsiStage, victim: Kill["victim"]): void {
  if (victim !== "agent") stage.killDriver();
  if (victim !== "driver") stage.killAgent();
  stage.world.clock.alarm(AWAY_MS, () => void stage.revive());
}

function isBeneathMount({ host }: CsiWorld, path: string): boolean {
  return host.volumes.mounted.some((mount) => path.startsWith(`${mount}/`));
}

/** How often lives were interrupted, by who was killed. */
export type KillTally = Record<(typeof VICTIMS)[number], number>;

/** Steps of each life, by its place in the list. */
const stepsOf = new Map<number, Promise<Played>>();

function undisturbed(place: number): Promise<Played> {
  const known = stepsOf.get(place) ?? playLife(lifeAt(place));
  stepsOf.set(place, known);
  return known;
}

function lifeAt(place: number): CsiLife {
  const life = CSI_LIVES[place];
  if (!life) throw new Error(`there is no life ${place}`);
  return life;
}

/** How many seeds it takes until each step of each life has had each kill, and how many different kills these are. */
export async function countCsiKills(): Promise<{ seeds: number; different: number }> {
  const steps = await Promise.all(CSI_LIVES.map((_, place) => undisturbed(place)));
  const kills = steps.map((played) => played.steps * VICTIMS.length);
  return {
    seeds: Math.max(...kills) * CSI_LIVES.length,
    different: kills.reduce((sum, count) => sum + count, 0),
  };
}

/** A prime: seeds that follow each other are of steps far from each other. */
const STRIDE = 7919;

/** The kill of a seed; seeds that follow each other are of different lives. Throws when what must never be has been. */
export async function playCsiKill(seed: number, tally: KillTally): Promise<void> {
  const place = seed % CSI_LIVES.length;
  const life = lifeAt(place);
  const { steps, violations } = await undisturbed(place);
  if (violations.length > 0)
    throw new Error(failureText(seed, "nobody killed in", life, violations));
  const number = (Math.floor(seed / CSI_LIVES.length) * STRIDE) % (steps * VICTIMS.length);
  const victim = VICTIMS[number % VICTIMS.length] ?? "agent";
  const atStep = Math.floor(number / VICTIMS.length);
  const { violations: found } = await playLife(life, { victim, atStep });
  tally[victim] += 1;
  if (found.length > 0)
    throw new Error(failureText(seed, `${victim} killed at step ${atStep} of`, life, found));
}

function failureText(seed: number, what: string, life: CsiLife, found: readonly string[]): string {
  return `seed ${seed}: ${what} life ${life.name}: ${found.slice(0, 5).join("; ")}`;
}
