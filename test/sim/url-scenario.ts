// Pods of a URL over restarts of the agent while the URL does not answer: they run on, untouched. Once it answers its
// word counts again, and when it names no pods there are none.
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import type { HttpAnswer } from "../../src/outside/net/net.ts";
import { manifest, TEMPLATES } from "./pod-templates.ts";
import { checkBecame, type DesiredPod, pick } from "./scenario.ts";
import { MANIFESTS, SimFailure, World } from "./world.ts";

const URL = "http://manifests.test/pods";
const SETTLE_MS = 120_000;
/** Longer than the URL goes unasked, and than orphans are given to end. */
const SILENCE_MS = 90_000;
const RESTARTS = 3;

const RUNNING = TEMPLATES.filter(({ becomes }) => becomes === "running");

const response = (status: number, body: string): HttpAnswer => ({
  kind: "response",
  status,
  body,
  redirectedAway: false,
});

/** Answers that say nothing of pods. */
const NO_ANSWERS: readonly HttpAnswer[] = [
  { kind: "failure", message: `Get "${URL}": connect: connection refused` },
  { kind: "timeout", message: `Get "${URL}": context deadline exceeded` },
  response(404, "404 page not found"),
  response(503, ""),
  response(200, "<html>maintenance</html>"),
  response(200, '{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{}}]}'),
  response(200, "x".repeat(2 ** 20 + 1)),
];

/** Answers that name no pods. */
const NO_PODS: readonly HttpAnswer[] = [
  response(200, ""),
  response(200, '{"apiVersion":"v1","kind":"PodList","items":[]}'),
  response(200, "apiVersion: v1\nkind: PodList\nitems: []\n"),
];

/** Plays one seed to its end; throws `SimFailure` with the trace of what happened. */
export async function playUrl(seed: number): Promise<void> {
  const world = new World(seed, {}, { config: { staticPodURL: URL } });
  const random = createSeededRandom(seed + 2);
  const served = { answer: pick(random, NO_PODS) };
  world.net.http = async ({ url }) => (url === URL ? served.answer : response(200, ""));
  try {
    await world.host.files.makeDirectory(MANIFESTS, 0o755);
    await addFile(world, "from-file", random);
    const desired = [0, 1, 2].map((i) => desiredPod(`url${i}`, random));
    served.answer = listOf(desired);
    world.startAgent();
    await world.advance(SETTLE_MS);
    checkAll(world, desired);
    for (let i = 0; i < RESTARTS; i += 1)
      await restartInSilence(world, desired, { random, served });
    served.answer = pick(random, NO_PODS);
    world.note("the URL names no pods");
    await world.advance(SETTLE_MS);
    checkAll(world, []);
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimFailure(`seed ${seed}: ${error.message}\n${world.trace.slice(-80).join("\n")}`);
  }
}

/** The agent is started again while the URL says nothing; sometimes the URL answers after that. */
async function restartInSilence(
  world: World,
  desired: readonly DesiredPod[],
  { random, served }: { readonly random: Random; readonly served: { answer: HttpAnswer } },
): Promise<void> {
  const uids = uidsOf(world, "url");
  const actionsOf = () => world.runtime.actions.filter(({ uid }) => uids.has(uid));
  const before = actionsOf().length;
  served.answer = pick(random, NO_ANSWERS);
  world.note(`the URL answers ${JSON.stringify(served.answer).slice(0, 120)}`);
  await world.advance(Math.floor(random.next() * SILENCE_MS));
  world.killAgent();
  world.startAgent();
  await world.advance(SILENCE_MS);
  if (random.next() < 0.5) await addFile(world, "from-file", random);
  await world.advance(SILENCE_MS);
  if (random.next() < 0.7) {
    world.note("the URL answers again");
    served.answer = listOf(desired);
    await world.advance(SETTLE_MS);
    checkAll(world, desired);
  }
  const touched = actionsOf().slice(before);
  if (touched.length > 0)
    world.fail(`pods of a URL that did not answer were touched: ${JSON.stringify(touched)}`);
}

function desiredPod(name: string, random: Random): DesiredPod {
  const template = pick(random, RUNNING);
  const details = { graceSeconds: pick(random, [1, 5, 30]), revision: 0, probed: false };
  return { name, text: manifest(name, template, details), becomes: template.becomes };
}

async function addFile(world: World, name: string, random: Random): Promise<void> {
  const { text } = desiredPod(name, random);
  await world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, text, 0o644);
}

const listOf = (pods: readonly DesiredPod[]): HttpAnswer =>
  response(
    200,
    JSON.stringify({
      apiVersion: "v1",
      kind: "PodList",
      items: pods.map(({ text }) => JSON.parse(text) as unknown),
    }),
  );

/** UIDs of the pods with sandboxes whose names begin so. */
function uidsOf(world: World, prefix: string): ReadonlySet<string> {
  const metadata = [...world.runtime.sandboxes.values()].map(({ config }) => config.metadata);
  return new Set(
    metadata.flatMap((each) => (each?.name?.startsWith(prefix) ? [each.uid ?? ""] : [])),
  );
}

/** Every pod of the URL has become what it must, and there is no other one. */
function checkAll(world: World, desired: readonly DesiredPod[]): void {
  const agent = world.agent ?? world.fail("the agent is not up");
  if (!agent.pipeline.seen.get()) world.fail("a source counts as not seen although it answered");
  const statuses = agent.pipeline.statuses.list();
  for (const each of desired) {
    const found = statuses.filter(({ pod }) => pod.metadata?.name === `${each.name}-sim`);
    if (found.length !== 1) world.fail(`pod ${each.name} is there ${found.length} times`);
    for (const { uid, status } of found) checkBecame(world, each, uid, status.phase ?? "");
  }
  const there = uidsOf(world, "url").size;
  if (there !== desired.length)
    world.fail(`${there} pods of the URL are there instead of ${desired.length}`);
}
