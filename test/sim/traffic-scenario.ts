// A container of one pod is the matter of an event every second, for ten minutes: the node is Ready throughout,
// and an event that is lost is made good with the next full listing.
import type { Node } from "../../src/api/generated/types.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import type { ContainerRuntime, RuntimeEvent } from "../../src/outside/cri/cri.ts";
import { healthChecks } from "../../src/server/routes/health.ts";
import { EventSubscriber } from "./event-subscriber.ts";
import { manifest } from "./pod-templates.ts";
import { pick } from "./scenario.ts";
import { MANIFESTS, SimFailure, World } from "./world.ts";

const MINUTES = 10;
const EVENT_EVERY_MS = 1_000;
/** Period of full listings, and the time for one. */
const MADE_GOOD_WITHIN_MS = 31_000;
const STEADY = [
  { restartPolicy: "Always", init: [], containers: [{ kind: "sleep" }], becomes: "running" },
] as const;

/** Plays one seed to its end; throws `SimFailure` with the trace of what happened. */
export async function playTraffic(seed: number): Promise<void> {
  const world = new World(seed, { events: true }, { cluster: true });
  const random = createSeededRandom(seed + 2);
  world.runtime.options.latencyMs = pick(random, [0, 50, 200]);
  world.around = (cri) => withTraffic(cri, world);
  try {
    await world.host.files.makeDirectory(MANIFESTS, 0o755);
    for (const name of ["busy", "quiet"]) {
      const text = manifest(name, STEADY[0], { graceSeconds: 1, revision: 0, probed: false });
      await world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, text, 0o644);
    }
    world.startAgent();
    await world.advance(20_000);
    for (let minute = 0; minute < MINUTES; minute += 1) {
      await stay(world, Math.floor(random.next() * 25_000));
      await loseEnd(world);
    }
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimFailure(`seed ${seed}: ${error.message}\n${world.trace.slice(-80).join("\n")}`);
  }
}

/** The runtime with one event a second on the first container of the busy pod. */
function withTraffic({ runtime, images }: ContainerRuntime, world: World): ContainerRuntime {
  async function* events(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    const all = new EventSubscriber(signal);
    const pass = async () => {
      for await (const event of runtime.events(signal)) all.push(event);
    };
    pass().catch((error: Error) => all.end(error));
    const tick = () => {
      if (signal.aborted) return;
      const [containerId] = containersOf(world, "busy");
      if (containerId !== undefined) all.push({ kind: "started", containerId, podUid: undefined });
      world.clock.alarm(EVENT_EVERY_MS, tick);
    };
    tick();
    yield* all.read();
  }
  return { images, runtime: { ...runtime, events } };
}

function containersOf(world: World, pod: string): readonly string[] {
  return [...world.runtime.containers.values()].flatMap(({ id, sandboxId, state }) => {
    const name = world.runtime.sandboxes.get(sandboxId)?.config.metadata?.name;
    return name === `${pod}-sim` && state === "running" ? [id] : [];
  });
}

/** A container of the quiet pod ends and no event reports it. */
async function loseEnd(world: World): Promise<void> {
  const [id] = containersOf(world, "quiet");
  if (id === undefined) return;
  world.runtime.options.eventLoss = 1;
  world.runtime.exitContainer(id, 0);
  world.runtime.options.eventLoss = 0;
  world.note(`container ${id} ended, and no event reported it`);
  await stay(world, MADE_GOOD_WITHIN_MS);
  for (const { observed } of world.agent?.pipeline.pods.list() ?? [])
    if (observed.containers.some((each) => each.id === id && each.state === "running"))
      world.fail(`the end of container ${id} was not made good`);
}

/** Lets time pass; node and agent are well at every second of it. */
async function stay(world: World, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    await world.advance(Math.min(left, 1_000));
    const node = world.api?.objects.find({
      collection: "nodes",
      namespace: undefined,
      name: "sim",
    }) as Node | undefined;
    const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status !== "True") world.fail(`the node is not Ready: ${ready?.message}`);
    const agent = world.agent ?? world.fail("the agent is not up");
    const checks = healthChecks({
      clock: world.clock,
      lastListing: agent.subsystems.runtime.watch.lastListing,
      startedAt: world.clock.monotonic(),
      devicePlugins: undefined,
      registry: agent.health,
    });
    for (const { name, check } of checks()) {
      const problem = check();
      if (problem !== undefined) world.fail(`check ${name} fails: ${problem}`);
    }
  }
}
