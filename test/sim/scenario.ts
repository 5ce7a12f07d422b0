import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { surplusOf } from "./dead-checks.ts";
import { cpuWorldOptions, ExclusiveCpuFaults, hasExclusiveCpus } from "./exclusive-cpus.ts";
import { CALM } from "./fake-runtime-objects.ts";
import { type Fate, manifest, TEMPLATES } from "./pod-templates.ts";
import { faultOfMounts } from "./pod-volumes.ts";
import { Shortages } from "./shortages.ts";
import { damageState } from "./state-damage.ts";
import { MANIFESTS, SimFailure, World } from "./world.ts";

/** What a manifest of the simulation asks for, and what is to become of it once everything is calm. */
export interface DesiredPod {
  readonly name: string;
  readonly text: string;
  readonly becomes: Fate;
}

/** Time of fault injection, and time in which everything must settle afterwards. */
const FAULT_PHASE_MS = 180_000;
const STEPS = 30;
const SETTLE_MS = 900_000;

/** Plays one seed to its end; throws `SimFailure` with the trace of what happened. */
export async function playScenario(seed: number): Promise<void> {
  const world = new World(seed, {}, cpuWorldOptions(seed));
  const desiredPods = new Map<string, DesiredPod>();
  fillDisk(world, createSeededRandom(seed + 3));
  const cpuFaults = hasExclusiveCpus(seed)
    ? new ExclusiveCpuFaults(world, createSeededRandom(seed + 17))
    : undefined;
  try {
    const shortages = new Shortages(world, createSeededRandom(seed + 13));
    const random = createSeededRandom(seed + 2);
    await injectFaults(world, desiredPods, { random, shortages, cpuFaults });
    shortages.end();
    await settle(world, cpuFaults);
    checkConverged(world, desiredPods);
    await cpuFaults?.settled();
    await checkQuiet(world, desiredPods);
    await checkRestartChangesNothing(world, desiredPods);
    await cpuFaults?.settled();
    await checkDamageTouchesNothing(world, desiredPods, createSeededRandom(seed + 11));
    await cpuFaults?.settled();
    await checkCleanEnd(world, desiredPods);
    await cpuFaults?.settled();
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimFailure(`seed ${seed}: ${error.message}\n${world.trace.slice(-80).join("\n")}`);
  }
}

/** On some nodes the disk is nearly full all the time, and the images that nobody needs go. */
function fillDisk(world: World, random: Random): void {
  if (random.next() > 0.4) return;
  const { disk } = world.host;
  world.host.disk = { ...disk, availableBytes: Math.floor(disk.capacityBytes / 50) };
}

/** What goes wrong, and when. */
interface Faults {
  readonly random: Random;
  readonly shortages: Shortages;
  readonly cpuFaults: ExclusiveCpuFaults | undefined;
}

async function injectFaults(
  world: World,
  desiredPods: Map<string, DesiredPod>,
  { random, shortages, cpuFaults }: Faults,
): Promise<void> {
  const { options } = world.runtime;
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  options.latencyMs = pick(random, [0, 50, 500, 3_000]);
  options.faults = pick(random, [0, 0.05, 0.2]);
  options.lateFaults = pick(random, [0, 0.05]);
  options.eventLoss = pick(random, [0, 0.2]);
  options.events = random.next() < 0.7;
  world.startAgent();
  for (let step = 0; step < STEPS; step += 1) {
    await disturb(world, desiredPods, { random, shortages, cpuFaults });
    shortages.step();
    await cpuFaults?.step();
    await world.advance(Math.floor((random.next() * 2 * FAULT_PHASE_MS) / STEPS));
  }
}

async function disturb(
  world: World,
  desiredPods: Map<string, DesiredPod>,
  { random, cpuFaults }: Faults,
): Promise<void> {
  const action = random.next();
  if (action < 0.3) await addDesired(world, desiredPods, { random, ownCpus: cpuFaults?.draws() });
  else if (action < 0.4) await removeDesired(world, desiredPods, random);
  else if (action < 0.55) crash(world, random);
  else if (action < 0.65) loseSandbox(world, random);
  else if (action < 0.72) {
    world.note("runtime goes down");
    world.runtime.goDown();
  } else if (action < 0.8) {
    world.note("runtime comes back");
    world.runtime.comeBack();
  } else if (action < 0.87) {
    world.killAgent();
  } else if (action < 0.9) await letFinish(world, world.stopAgent());
  else if (action < 0.97) world.startAgent();
  else world.runtime.options.networkReady = !world.runtime.options.networkReady;
}

async function addDesired(
  world: World,
  desiredPods: Map<string, DesiredPod>,
  { random, ownCpus = false }: { readonly random: Random; readonly ownCpus: boolean | undefined },
): Promise<void> {
  const name = `p${Math.floor(random.next() * 4)}`;
  const template = pick(random, TEMPLATES);
  const text = manifest(name, template, {
    graceSeconds: pick(random, [1, 5, 30]),
    revision: Math.floor(random.next() * 3),
    probed: random.next() < 0.5,
    ownCpus,
  });
  desiredPods.set(name, { name, text, becomes: template.becomes });
  world.note(`manifest ${name}: ${template.restartPolicy} -> ${template.becomes}`);
  await world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, text, 0o644);
}

async function removeDesired(
  world: World,
  desiredPods: Map<string, DesiredPod>,
  random: Random,
): Promise<void> {
  const names = [...desiredPods.keys()];
  if (names.length === 0) return;
  const name = pick(random, names);
  desiredPods.delete(name);
  world.note(`manifest ${name} removed`);
  await world.host.files.remove(`${MANIFESTS}/${name}.json`);
}

/** A container falls over. */
export function crash(world: World, random: Random): void {
  const running = [...world.runtime.containers.values()].filter(({ state }) => state === "running");
  if (running.length === 0) return;
  const { id } = pick(random, running);
  world.note(`container ${id} crashes`);
  world.runtime.exitContainer(id, 1);
}

/** A sandbox is lost. */
export function loseSandbox(world: World, random: Random): void {
  const ready = [...world.runtime.sandboxes.values()].filter((sandbox) => sandbox.ready);
  if (ready.length === 0) return;
  const { id } = pick(random, ready);
  world.note(`sandbox ${id} dies`);
  world.runtime.killSandbox(id);
}

/** Lets time pass until `work` is done. */
async function letFinish(world: World, work: Promise<void>): Promise<void> {
  let done = false;
  const finish = () => {
    done = true;
  };
  work.then(finish, finish);
  for (let i = 0; i < 600 && !done; i += 1) await world.advance(100);
  if (!done) world.fail("the agent does not leave");
  await work;
}

async function settle(world: World, cpuFaults: ExclusiveCpuFaults | undefined): Promise<void> {
  Object.assign(world.runtime.options, { ...CALM, events: world.runtime.options.events });
  world.runtime.comeBack();
  await cpuFaults?.end();
  world.startAgent();
  world.note("calm");
  await world.advance(SETTLE_MS);
}

/** Every desired pod has become what it must, and nothing else is there. */
function checkConverged(world: World, desiredPods: ReadonlyMap<string, DesiredPod>): void {
  const agent = world.agent ?? world.fail("the agent is not up");
  const wanted = new Set<string>();
  for (const desiredPod of desiredPods.values()) {
    const found = agent.pipeline.statuses
      .list()
      .filter(({ pod }) => pod.metadata?.name === `${desiredPod.name}-sim`);
    if (found.length !== 1) world.fail(`pod ${desiredPod.name} is there ${found.length} times`);
    const [pod] = found;
    if (pod) {
      wanted.add(pod.uid);
      checkBecame(world, desiredPod, pod.uid, pod.status.phase ?? "");
      const isReady = pod.status.conditions?.some(
        ({ type, status }) => type === "Ready" && status === "True",
      );
      if (desiredPod.becomes === "running" && !isReady)
        world.fail(`pod ${desiredPod.name} is not Ready`);
      const surplus = desiredPod.becomes === "looping" ? undefined : surplusOf(world, pod.uid);
      if (surplus !== undefined) world.fail(`pod ${desiredPod.name}: ${surplus}`);
    }
  }
  for (const { id, config } of world.runtime.sandboxes.values()) {
    if (!wanted.has(config.metadata?.uid ?? ""))
      world.fail(`sandbox ${id} is left of a pod that no source names`);
  }
  for (const { id, sandboxId } of world.runtime.containers.values()) {
    if (!world.runtime.sandboxes.has(sandboxId))
      world.fail(`container ${id} is left without a sandbox`);
  }
  checkPrerequisites(world, wanted);
}

/** The pod has become what it must. */
export function checkBecame(
  world: World,
  desiredPod: DesiredPod,
  uid: string,
  phase: string,
): void {
  const { becomes, name } = desiredPod;
  const expected = {
    running: "Running",
    looping: "Running",
    succeeded: "Succeeded",
    failed: "Failed",
  }[becomes];
  if (phase !== expected) {
    world.fail(`pod ${name} is ${phase} instead of ${expected}: ${recordInShort(world, uid)}`);
  }
  const spec = JSON.parse(desiredPod.text) as { spec: { containers: { name: string }[] } };
  const sandboxes = new Set(
    [...world.runtime.sandboxes.values()]
      .filter(({ config }) => config.metadata?.uid === uid)
      .map(({ id }) => id),
  );
  const running = [...world.runtime.containers.values()].filter(
    ({ sandboxId, state }) => state === "running" && sandboxes.has(sandboxId),
  );
  const ended = becomes === "succeeded" || becomes === "failed";
  if (ended && running.length > 0)
    world.fail(`pod ${name} has ended, yet ${running.map(({ id }) => id).join()} run`);
  if (becomes === "running" && running.length < spec.spec.containers.length)
    world.fail(`pod ${name} runs ${running.length} containers only`);
}

/** What the agent knows of a pod, for a reader of a failing seed. */
function recordInShort(world: World, uid: string): string {
  const record = world.agent?.pipeline.pods.list().find((known) => known.uid === uid);
  if (!record) return "no record";
  const { life, admission, sync, observed, retries, lastPlan, prerequisites } = record;
  const containers = observed.containers.map(({ id, state, name }) => `${name}=${id} ${state}`);
  return JSON.stringify({
    life: life.kind,
    admission,
    sync,
    sandboxes: observed.sandboxes,
    containers,
    failures: retries.failures,
    waits: lastPlan.waits,
    prerequisites,
  });
}

/** Folders, logs, mounts and cgroups: of the pods that are wanted, and of no others. */
function checkPrerequisites(world: World, wanted: ReadonlySet<string>): void {
  for (const { id, ready, networkHeld } of world.runtime.sandboxes.values())
    if (!ready && networkHeld) world.fail(`sandbox ${id} is dead and keeps its network`);
  for (const path of world.host.files.paths) {
    const uid =
      /^\/var\/lib\/kubelet\/pods\/([^/]+)/.exec(path)?.[1] ??
      /^\/var\/log\/pods\/[^/]*_([^/_]+)$/.exec(path)?.[1];
    if (uid !== undefined && !wanted.has(uid))
      world.fail(`${path} is left of a pod that no source names`);
  }
  const mountFault = faultOfMounts(world.host.volumes.mounted, wanted);
  if (mountFault !== undefined) world.fail(mountFault);
  for (const path of world.host.cgroups.paths) {
    const uid = /\/pod([^/]+)/.exec(path)?.[1];
    if (uid !== undefined && !wanted.has(uid))
      world.fail(`cgroup ${path} is left of a pod that no source names`);
  }
}

/** Pods that do not restart for ever cause no more calls that change anything. */
async function checkQuiet(
  world: World,
  desiredPods: ReadonlyMap<string, DesiredPod>,
): Promise<void> {
  const before = actionsOfSteady(world, desiredPods);
  await world.advance(600_000);
  const now = actionsOfSteady(world, desiredPods);
  if (now.length !== before.length)
    world.fail(`not quiet: ${JSON.stringify(now.slice(before.length))}`);
}

/** Another agent process finds everything as it should be and touches nothing. */
async function checkRestartChangesNothing(
  world: World,
  desiredPods: ReadonlyMap<string, DesiredPod>,
): Promise<void> {
  const statuses = () => statusLines(world, desiredPods);
  const before = { actions: actionsOfSteady(world, desiredPods).length, statuses: statuses() };
  world.killAgent();
  await world.advance(1_000);
  world.startAgent();
  await world.advance(60_000);
  const actions = actionsOfSteady(world, desiredPods);
  if (actions.length !== before.actions) {
    world.fail(`a restart changed something: ${JSON.stringify(actions.slice(before.actions))}`);
  }
  const after = statuses();
  const lost = before.statuses.filter((line) => !after.includes(line));
  const come = after.filter((line) => !before.statuses.includes(line));
  if (lost.length + come.length > 0) {
    world.fail(
      `a restart changed statuses: ${lost.slice(0, 5).join("; ")} became ${come.slice(0, 5).join("; ")}`,
    );
  }
}

/** An agent that finds its own files damaged starts all the same, and touches no pod. */
async function checkDamageTouchesNothing(
  world: World,
  desiredPods: ReadonlyMap<string, DesiredPod>,
  random: Random,
): Promise<void> {
  const actions = actionsOfSteady(world, desiredPods).length;
  world.killAgent();
  const damage = await damageState(world, random, pick(random, [0.1, 0.5, 1]));
  world.startAgent();
  await world.advance(60_000);
  const now = actionsOfSteady(world, desiredPods);
  if (now.length !== actions) {
    world.fail(
      `damaged state files changed something: ${JSON.stringify(now.slice(actions))} after ${damage.join(", ")}`,
    );
  }
  checkConverged(world, desiredPods);
  world.unreadable.clear();
}

/** Every leaf of every steady pod's status as `uid.path=value`. */
function statusLines(
  world: World,
  desiredPods: ReadonlyMap<string, DesiredPod>,
): readonly string[] {
  const leaves = (value: unknown, path: string): string[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, below]) => leaves(below, `${path}.${key}`))
      : [`${path}=${String(value)}`];
  return (world.agent?.pipeline.statuses.list() ?? [])
    .filter(({ pod }) => isSteady(pod.metadata?.name ?? "", desiredPods))
    .flatMap(({ uid, status }) => leaves(status, uid));
}

/** When no pod is desired any more nothing is left. */
async function checkCleanEnd(world: World, desiredPods: Map<string, DesiredPod>): Promise<void> {
  for (const name of desiredPods.keys()) await world.host.files.remove(`${MANIFESTS}/${name}.json`);
  desiredPods.clear();
  world.note("all manifests removed");
  await world.advance(120_000);
  checkConverged(world, desiredPods);
  const left = world.agent?.pipeline.pods.list() ?? [];
  if (left.length > 0)
    world.fail(`pods are left: ${left.map(({ uid, life }) => `${uid} ${life.kind}`).join()}`);
}

function isSteady(podName: string, desiredPods: ReadonlyMap<string, DesiredPod>): boolean {
  return desiredPods.get(podName.replace(/-sim$/, ""))?.becomes !== "looping";
}

function actionsOfSteady(
  world: World,
  desiredPods: ReadonlyMap<string, DesiredPod>,
): readonly unknown[] {
  const nameOf = new Map(
    (world.agent?.pipeline.pods.list() ?? []).map(({ uid, pod }) => [
      String(uid),
      pod.metadata?.name ?? "",
    ]),
  );
  return world.runtime.actions.filter(
    // An agent that has just started cannot know on which CPUs containers run.
    ({ uid, op }) =>
      op !== "exit" && op !== "updateContainer" && isSteady(nameOf.get(uid) ?? "", desiredPods),
  );
}

/** Any of `items`. */
export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random.next() * items.length)];
  if (item === undefined) throw new RangeError("nothing to pick from");
  return item;
}
