// A tenth of all sandboxes, containers and logs cannot be read for ever or hangs for ever: all other pods meet
// their specs.
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { BrokenObjects } from "./broken-objects.ts";
import { CALM } from "./fake-runtime-objects.ts";
import { manifest, TEMPLATES } from "./pod-templates.ts";
import { checkBecame, crash, type DesiredPod, loseSandbox, pick } from "./scenario.ts";
import { MANIFESTS, SimFailure, World } from "./world.ts";

/** What the seeds held together, so that a run with nothing in it does not pass for one. */
export interface IsolationTally {
  [name: string]: number;
  /** Pods that nothing broken was in. */
  healthy: number;
  /** Pods that had something broken in them. */
  degraded: number;
  fails: number;
  hangs: number;
}

export const NO_ISOLATION: IsolationTally = { healthy: 0, degraded: 0, fails: 0, hangs: 0 };

const PODS = 12;
const STEPS = 30;
const STEP_MS = 6_000;
const SETTLE_MS = 900_000;
/** An agent is up well within this, whatever it finds. */
const UP_WITHIN_MS = 15_000;
/** An end that no event reports is seen with the next full listing. */
const SEEN_WITHIN_MS = 35_000;
/** Two tries that each run out of time, and the pause between them. */
const SAID_WITHIN_MS = 30_000;
/** The runtime counts as observed for so long (PLEG relist threshold). */
const LISTING_LIMIT_MS = 180_000;

/** Plays one seed to its end; throws `SimFailure` with the trace of what happened. */
export async function playIsolation(
  seed: number,
  tally: IsolationTally = { ...NO_ISOLATION },
): Promise<void> {
  const world = new World(seed);
  const broken = new BrokenObjects(seed + 11, world.runtime);
  world.around = (cri) => broken.around(cri);
  world.host.files.readTail = broken.readTail;
  const desiredPods = new Map<string, DesiredPod>();
  try {
    await injectFaults(world, desiredPods, createSeededRandom(seed + 2));
    await settle(world);
    checkHealthy(world, desiredPods, broken);
    const before = new Set(broken.pods);
    await world.advance(SAID_WITHIN_MS);
    checkDegraded(world, broken, before);
    await checkEndIsSeen(world, broken);
    count(world, broken, tally);
    await checkCleanEnd(world, desiredPods, broken);
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimFailure(`seed ${seed}: ${error.message}\n${world.trace.slice(-80).join("\n")}`);
  }
}

async function injectFaults(
  world: World,
  desiredPods: Map<string, DesiredPod>,
  random: Random,
): Promise<void> {
  const { options } = world.runtime;
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  options.latencyMs = pick(random, [0, 50, 500]);
  options.eventLoss = pick(random, [0, 0.2]);
  options.events = random.next() < 0.7;
  world.startAgent();
  for (let step = 0; step < STEPS; step += 1) {
    if (step < PODS) await addDesired(world, desiredPods, `p${step}`, random);
    await disturb(world, desiredPods, random);
    await world.advance(Math.floor(random.next() * 2 * STEP_MS));
  }
}

async function disturb(
  world: World,
  desiredPods: Map<string, DesiredPod>,
  random: Random,
): Promise<void> {
  const action = random.next();
  if (action < 0.3) crash(world, random);
  else if (action < 0.4) loseSandbox(world, random);
  else if (action < 0.5) await drop(world, desiredPods, random);
  else if (action < 0.6) {
    world.killAgent();
    world.startAgent();
    await checkComesUp(world);
  }
}

async function addDesired(
  world: World,
  desiredPods: Map<string, DesiredPod>,
  name: string,
  random: Random,
): Promise<void> {
  const template = pick(random, TEMPLATES);
  const details = { graceSeconds: pick(random, [1, 5]), revision: 0, probed: random.next() < 0.3 };
  const text = manifest(name, template, details).replaceAll(
    '"image":',
    '"terminationMessagePolicy":"FallbackToLogsOnError","image":',
  );
  desiredPods.set(name, { name, text, becomes: template.becomes });
  world.note(`manifest ${name}: ${template.restartPolicy} -> ${template.becomes}`);
  await world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, text, 0o644);
}

async function drop(
  world: World,
  desiredPods: Map<string, DesiredPod>,
  random: Random,
): Promise<void> {
  if (desiredPods.size === 0) return;
  const name = pick(random, [...desiredPods.keys()]);
  desiredPods.delete(name);
  world.note(`manifest ${name} removed`);
  await world.host.files.remove(`${MANIFESTS}/${name}.json`);
}

/** The start does not wait for the last pod. */
async function checkComesUp(world: World): Promise<void> {
  const until = world.clock.monotonic() + UP_WITHIN_MS;
  while (!world.agent && world.clock.monotonic() < until) await world.advance(100);
  if (!world.agent) world.fail(`the agent does not come up within ${UP_WITHIN_MS} ms`);
}

async function settle(world: World): Promise<void> {
  Object.assign(world.runtime.options, { ...CALM, events: world.runtime.options.events });
  await checkComesUp(world);
  world.note("calm");
  const began = world.clock.monotonic();
  world.watch = () => {
    const listedAt = world.agent?.subsystems.runtime.watch.lastListing.get() ?? began;
    const silentMs = world.clock.monotonic() - Math.max(listedAt, began);
    if (silentMs > LISTING_LIMIT_MS) world.fail("the runtime is not listed any more");
  };
  await world.advance(SETTLE_MS);
}

/** Pods with nothing broken in them have become what they must; of those that went nothing is left. */
function checkHealthy(
  world: World,
  desiredPods: ReadonlyMap<string, DesiredPod>,
  { pods: broken }: BrokenObjects,
): void {
  const statuses = world.agent?.pipeline.statuses.list() ?? [];
  for (const desiredPod of desiredPods.values()) {
    const fullName = `${desiredPod.name}-sim`;
    if (broken.has(fullName)) continue;
    const [found, ...more] = statuses.filter(({ pod }) => pod.metadata?.name === fullName);
    if (!found || more.length > 0) {
      world.fail(`pod ${fullName} is not there once`);
      return;
    }
    checkBecame(world, desiredPod, found.uid, found.status.phase ?? "");
    if (found.status.reason === "ObservationFailed")
      world.fail(`pod ${fullName} is shown as one that cannot be observed`);
  }
  for (const { id, config } of world.runtime.sandboxes.values()) {
    const name = config.metadata?.name ?? "";
    if (!broken.has(name) && !desiredPods.has(name.replace(/-sim$/, "")))
      world.fail(`sandbox ${id} is left of pod ${name}, which no source names`);
  }
}

/** A pod that cannot be observed says so. */
function checkDegraded(world: World, broken: BrokenObjects, before: ReadonlySet<string>): void {
  let degraded = 0;
  for (const { uid, pod, status } of world.agent?.pipeline.statuses.list() ?? []) {
    const isTerminal = status.phase === "Succeeded" || status.phase === "Failed";
    // What has only just turned out to be broken may pass by itself as far as is known.
    if (isTerminal || !before.has(uid) || !broken.isBroken(uid)) continue;
    if (status.reason !== "ObservationFailed")
      world.fail(`pod ${pod.metadata?.name} cannot be observed and does not say so`);
    degraded += 1;
  }
  const metrics = world.agent?.metrics.expose() ?? "";
  const counted = Number(/^nodelet_degraded_pods (\d+)$/m.exec(metrics)?.[1] ?? 0);
  if (counted < degraded) world.fail(`${degraded} pods are degraded, ${counted} are counted`);
}

/** A container of a healthy pod ends, and no event reports it. */
async function checkEndIsSeen(world: World, { pods: broken }: BrokenObjects): Promise<void> {
  const podOf = (sandboxId: string) =>
    world.runtime.sandboxes.get(sandboxId)?.config.metadata?.uid ?? "";
  const found = [...world.runtime.containers.values()].find(
    ({ sandboxId, state }) => state === "running" && !broken.has(podOf(sandboxId)),
  );
  if (!found) return;
  const uid = podOf(found.sandboxId);
  world.runtime.options.eventLoss = 1;
  world.runtime.exitContainer(found.id, 1);
  world.runtime.options.eventLoss = 0;
  await world.advance(SEEN_WITHIN_MS);
  // What was started in its place may be broken: then nothing more is seen of the pod.
  if (broken.has(uid)) return;
  for (const { observed } of world.agent?.pipeline.pods.list() ?? [])
    if (observed.containers.some(({ id, state }) => id === found.id && state === "running"))
      world.fail(`the end of container ${found.id} is not seen`);
}

async function checkCleanEnd(
  world: World,
  desiredPods: Map<string, DesiredPod>,
  broken: BrokenObjects,
): Promise<void> {
  for (const name of desiredPods.keys()) await world.host.files.remove(`${MANIFESTS}/${name}.json`);
  desiredPods.clear();
  world.note("all manifests removed");
  await world.advance(180_000);
  checkHealthy(world, desiredPods, broken);
}

function count(world: World, broken: BrokenObjects, tally: IsolationTally): void {
  const uids = (world.agent?.pipeline.statuses.list() ?? []).map(({ uid }) => uid);
  const degraded = uids.filter((uid) => broken.pods.has(uid)).length;
  tally.degraded += degraded;
  tally.healthy += uids.length - degraded;
  tally.fails += broken.counts.fails;
  tally.hangs += broken.counts.hangs;
}
