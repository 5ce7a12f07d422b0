// A cluster node under fault injection: API server, runtime and agent fail in turn; then everything must be in order.

import { isSame } from "../../src/api/decode/strategic-diff.ts";
import type { Node, Pod } from "../../src/api/generated/types.ts";
import { isMirrorPod, isTerminalPhase } from "../../src/api/pod/pod.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { ownPart } from "../../src/pipeline/cluster/merge-status.ts";
import type { StoredObject } from "./fake-api-objects.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { CALM_API } from "./fake-apiserver.ts";
import { CALM } from "./fake-runtime-objects.ts";
import { manifest, REPLACED_TEMPLATES, TEMPLATES, type Template } from "./pod-templates.ts";
import { crash, loseSandbox, pick } from "./scenario.ts";
import { Shortages } from "./shortages.ts";
import { MANIFESTS, SimFailure, World } from "./world.ts";

const FAULT_PHASE_MS = 240_000;
const STEPS = 40;
const SETTLE_MS = 900_000;
const NAMESPACE = "default";

/** Pods by name, as the user of the cluster has created them. */
interface DesiredPods {
  readonly pods: Map<string, Template>;
  readonly statics: Map<string, Template>;
  /** Pods of the API may be evicted once something has run short. */
  readonly shortages: Shortages;
}

/** Plays one seed to its end; throws `SimFailure` with the trace of what happened. */
export async function playClusterScenario(seed: number): Promise<void> {
  const world = new World(seed, {}, { cluster: true });
  const api = world.api as FakeApiServer;
  const shortages = new Shortages(world, createSeededRandom(seed + 13));
  const desiredPods: DesiredPods = { pods: new Map(), statics: new Map(), shortages };
  try {
    watchPhases(world, api);
    await injectFaults(world, api, desiredPods, createSeededRandom(seed + 5));
    shortages.end();
    await settle(world, api);
    checkPods(world, api, desiredPods);
    checkNode(world, api);
    await checkRestartChangesNothing(world, api, desiredPods);
    await checkCleanEnd(world, api, desiredPods);
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimFailure(`seed ${seed}: ${error.message}\n${world.trace.slice(-80).join("\n")}`);
  }
}

/** A terminal phase in the API is for ever, whoever restarts. */
function watchPhases(world: World, api: FakeApiServer): void {
  const notify = api.objects.onChange;
  api.objects.onChange = (entry) => {
    const before = (entry.before as Pod | undefined)?.status?.phase;
    const now = (entry.now as Pod | undefined)?.status?.phase;
    if (entry.collection === "pods" && entry.now && isTerminalPhase(before) && now !== before)
      world.blame(`pod ${entry.now.metadata.name} left ${before} for ${now} in the API`);
    notify(entry);
  };
}

async function injectFaults(
  world: World,
  api: FakeApiServer,
  desiredPods: DesiredPods,
  random: Random,
): Promise<void> {
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  world.runtime.options.latencyMs = pick(random, [0, 50, 500]);
  world.runtime.options.faults = pick(random, [0, 0.1]);
  world.runtime.options.events = random.next() < 0.7;
  api.options.latencyMs = pick(random, [2, 50, 1_000]);
  api.options.faults = pick(random, [0, 0.05, 0.3]);
  api.options.lateFaults = pick(random, [0, 0.1]);
  api.options.conflicts = pick(random, [0, 0.1]);
  api.options.duplicates = pick(random, [0, 0.1]);
  world.startAgent();
  for (let step = 0; step < STEPS; step += 1) {
    await disturb(world, api, desiredPods, random);
    desiredPods.shortages.step();
    await world.advance(Math.floor((random.next() * 2 * FAULT_PHASE_MS) / STEPS));
  }
}

async function disturb(
  world: World,
  api: FakeApiServer,
  desiredPods: DesiredPods,
  random: Random,
): Promise<void> {
  const action = random.next();
  if (action < 0.23) addDesired(world, api, desiredPods, random);
  else if (action < 0.33) drop(world, api, desiredPods, random);
  else if (action < 0.37) await addDesiredStatic(world, desiredPods, random);
  else if (action < 0.4) await dropStatic(world, desiredPods, random);
  else if (action < 0.5) changeImage(world, api, desiredPods, random);
  else if (action < 0.56) perform(world, "API goes down", () => api.goDown());
  else if (action < 0.64) perform(world, "API comes back", () => api.comeBack());
  else if (action < 0.68) perform(world, "watches are cut", () => api.cutWatches());
  else if (action < 0.72) perform(world, "API forgets", () => api.objects.forget());
  else if (action < 0.76) crash(world, random);
  else if (action < 0.79) loseSandbox(world, random);
  else if (action < 0.83) perform(world, "runtime goes down", () => world.runtime.goDown());
  else if (action < 0.88) perform(world, "runtime comes back", () => world.runtime.comeBack());
  else if (action < 0.92) world.killAgent();
  else if (action < 0.98) world.startAgent();
  else perform(world, "node is deleted", () => forgetNode(api));
}

function perform(world: World, what: string, act: () => void): void {
  world.note(what);
  act();
}

function forgetNode(api: FakeApiServer): void {
  const place = { collection: "nodes", namespace: undefined, name: "sim" };
  if (api.objects.find(place)) api.objects.delete(place, {});
}

function addDesired(
  world: World,
  api: FakeApiServer,
  desiredPods: DesiredPods,
  random: Random,
): void {
  const name = `p${Math.floor(random.next() * 6)}`;
  if (api.objects.find({ collection: "pods", namespace: NAMESPACE, name })) return;
  const template = pick(random, random.next() < 0.3 ? REPLACED_TEMPLATES : TEMPLATES);
  const pod = JSON.parse(
    manifest(name, template, {
      graceSeconds: pick(random, [1, 5, 30]),
      revision: 0,
      probed: random.next() < 0.5,
    }),
  ) as Pod;
  desiredPods.pods.set(name, template);
  world.note(`pod ${name}: ${template.restartPolicy} -> ${template.becomes}`);
  api.objects.create(
    { collection: "pods", namespace: NAMESPACE },
    { ...pod, spec: { ...pod.spec, nodeName: "sim" } },
  );
}

function changeImage(
  world: World,
  api: FakeApiServer,
  desiredPods: DesiredPods,
  random: Random,
): void {
  const names = [...desiredPods.pods.keys()];
  if (names.length === 0) return;
  const name = pick(random, names);
  const place = { collection: "pods", namespace: NAMESPACE, name };
  const found = api.objects.find(place) as unknown as Pod | undefined;
  if (!found?.spec || found.metadata?.deletionTimestamp !== undefined) return;
  const image = pick(random, ["nodelet.test/nodelet-test:1", "nodelet.test/nodelet-test:2"]);
  world.note(`pod ${name} is to have ${image}`);
  const containers = found.spec.containers.map((container) => ({ ...container, image }));
  const generation = (found.metadata?.generation ?? 1) + 1;
  const metadata = { ...found.metadata, generation };
  const changed = { ...found, metadata, spec: { ...found.spec, containers } };
  api.objects.update(place, false, changed as unknown as StoredObject);
}

function drop(world: World, api: FakeApiServer, desiredPods: DesiredPods, random: Random): void {
  const names = [...desiredPods.pods.keys()];
  if (names.length === 0) return;
  const name = pick(random, names);
  const force = random.next() < 0.2;
  desiredPods.pods.delete(name);
  world.note(`pod ${name} is deleted${force ? " by force" : ""}`);
  api.objects.delete(
    { collection: "pods", namespace: NAMESPACE, name },
    force ? { gracePeriodSeconds: 0 } : {},
  );
}

async function addDesiredStatic(
  world: World,
  desiredPods: DesiredPods,
  random: Random,
): Promise<void> {
  const name = `s${Math.floor(random.next() * 2)}`;
  const template = TEMPLATES[Math.floor(random.next() * 3)] as Template;
  desiredPods.statics.set(name, template);
  world.note(`manifest ${name}`);
  const text = manifest(name, template, {
    graceSeconds: 5,
    revision: Math.floor(random.next() * 3),
    probed: random.next() < 0.5,
  });
  await world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, text, 0o644);
}

async function dropStatic(world: World, desiredPods: DesiredPods, random: Random): Promise<void> {
  const names = [...desiredPods.statics.keys()];
  if (names.length === 0) return;
  const name = pick(random, names);
  desiredPods.statics.delete(name);
  world.note(`manifest ${name} removed`);
  await world.host.files.remove(`${MANIFESTS}/${name}.json`);
}

async function settle(world: World, api: FakeApiServer): Promise<void> {
  Object.assign(world.runtime.options, { ...CALM, events: world.runtime.options.events });
  Object.assign(api.options, CALM_API);
  world.runtime.comeBack();
  api.comeBack();
  world.startAgent();
  world.note("calm");
  await world.advance(SETTLE_MS);
}

function podsOf(api: FakeApiServer): readonly Pod[] {
  return api.objects.list("pods") as unknown as readonly Pod[];
}

/** The API shows of every pod what became of it, and knows no others; so does the node. */
function checkPods(world: World, api: FakeApiServer, desiredPods: DesiredPods): void {
  const agent = world.agent ?? world.fail("the agent is not up");
  const expected = new Map<string, Template>([
    ...desiredPods.pods,
    ...[...desiredPods.statics].map(([name, template]) => [`${name}-sim`, template] as const),
  ]);
  const uids = new Set<string>();
  for (const pod of podsOf(api)) {
    const name = pod.metadata?.name ?? "";
    const template = expected.get(name) ?? world.fail(`pod ${name} is left in the API`);
    expected.delete(name);
    const isStatic = desiredPods.statics.has(name.replace(/-sim$/, ""));
    if (isMirrorPod(pod) !== isStatic) world.fail(`pod ${name} is no mirror, or one`);
    const uid = isStatic
      ? (pod.metadata?.annotations?.["kubernetes.io/config.mirror"] ?? "")
      : (pod.metadata?.uid ?? "");
    uids.add(uid);
    if (!mayBeEvicted(pod, desiredPods)) checkPhase(world, pod, template);
    const own = agent.pipeline.statuses.list().find((known) => known.uid === uid)?.status;
    if (!isSame(ownPart(own), ownPart(pod.status)))
      world.fail(`the API has another status of ${name}: ${JSON.stringify([own, pod.status])}`);
  }
  const [missing] = expected.keys();
  if (missing !== undefined) world.fail(`pod ${missing} is not in the API`);
  for (const { id, config } of world.runtime.sandboxes.values())
    if (!uids.has(config.metadata?.uid ?? "")) world.fail(`sandbox ${id} is left`);
}

/** Evicted, or refused for pressure: static pods never are. */
function mayBeEvicted(pod: Pod, { shortages }: DesiredPods): boolean {
  const isEvicted = pod.status?.phase === "Failed" && pod.status.reason === "Evicted";
  return isEvicted && !isMirrorPod(pod) && shortages.count > 0;
}

function checkPhase(world: World, { metadata, status }: Pod, { becomes, mayEnd }: Template): void {
  if (mayEnd) return;
  const phase = {
    running: "Running",
    looping: "Running",
    succeeded: "Succeeded",
    failed: "Failed",
  };
  // A job whose sandbox was lost for good may have ended either way.
  const mayFail = becomes === "succeeded" && status?.phase === "Failed";
  if (status?.phase !== phase[becomes] && !mayFail)
    world.fail(`pod ${metadata?.name} is ${status?.phase} instead of ${phase[becomes]}`);
}

function checkNode(world: World, api: FakeApiServer): void {
  const node = api.objects.find({ collection: "nodes", namespace: undefined, name: "sim" }) as
    | Node
    | undefined;
  const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") world.fail(`the node is not Ready: ${JSON.stringify(ready)}`);
  const pressure = node?.status?.conditions?.find(
    ({ type, status }) => type.endsWith("Pressure") && status !== "False",
  );
  if (pressure) world.fail(`pressure does not end: ${JSON.stringify(pressure)}`);
}

/** Another agent process finds everything as it should be: the API gets nothing new of pods at rest. */
async function checkRestartChangesNothing(
  world: World,
  api: FakeApiServer,
  desiredPods: DesiredPods,
): Promise<void> {
  if (
    [...desiredPods.pods.values(), ...desiredPods.statics.values()].some(
      ({ becomes, mayEnd }) => becomes === "looping" || mayEnd === true,
    )
  )
    return;
  await world.advance(600_000);
  const writes = () => api.effects.filter((effect) => effect.includes("/pods")).length;
  const before = writes();
  world.killAgent();
  await world.advance(1_000);
  world.startAgent();
  await world.advance(60_000);
  if (writes() !== before)
    world.fail(`a restart wrote of pods: ${api.effects.slice(-(writes() - before)).join("; ")}`);
}

async function checkCleanEnd(
  world: World,
  api: FakeApiServer,
  desiredPods: DesiredPods,
): Promise<void> {
  for (const name of desiredPods.pods.keys())
    api.objects.delete({ collection: "pods", namespace: NAMESPACE, name }, {});
  for (const name of desiredPods.statics.keys())
    await world.host.files.remove(`${MANIFESTS}/${name}.json`);
  desiredPods.pods.clear();
  desiredPods.statics.clear();
  world.note("all pods are deleted");
  await world.advance(180_000);
  checkPods(world, api, desiredPods);
  const left = world.agent?.pipeline.pods.list() ?? [];
  if (left.length > 0)
    world.fail(`pods are left: ${left.map(({ uid, life }) => `${uid} ${life.kind}`).join()}`);
}
