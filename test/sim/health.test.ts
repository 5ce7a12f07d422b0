// What the agent says of itself when it is not well, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "../../src/api/generated/types.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { World } from "./world.ts";

interface HealthWorld {
  readonly world: World;
  readonly api: FakeApiServer;
  node(): Node | undefined;
}

/** `prepare` changes the world before the agent starts in it. */
async function inCluster(
  use: (cluster: HealthWorld) => Promise<void>,
  prepare: (world: World) => void = () => {},
): Promise<void> {
  const world = new World(7, {}, { cluster: true });
  const { api } = world;
  assert.ok(api);
  prepare(world);
  world.startAgent();
  const place = { collection: "nodes", namespace: undefined, name: "sim" };
  await use({ world, api, node: () => api.objects.find(place) as Node | undefined });
}

const readyOf = (node: Node | undefined) =>
  node?.status?.conditions?.find(({ type }) => type === "Ready");
const readyMessageOf = (node: Node | undefined) => readyOf(node)?.message ?? "";

test("the Ready condition says what is wrong with the agent, before the node is not Ready and without flapping", () =>
  inCluster(async ({ world, node }) => {
    await world.advance(3_000);
    const well = readyMessageOf(node());
    assert.equal(well, "kubelet is posting ready status");
    world.runtime.refused.add("listSandboxes");
    await world.advance(80_000);
    assert.equal(readyMessageOf(node()), well, "a listing that is missed is no news yet");
    await world.advance(60_000);
    assert.equal(readyOf(node())?.status, "True");
    assert.equal(
      readyMessageOf(node()),
      `${well}. WARNING: runtime-listing: the runtime has not been listed for more than 90s`,
    );
    await world.advance(70_000);
    assert.equal(readyOf(node())?.status, "False");
    assert.match(readyMessageOf(node()), /^PLEG is not healthy: /);
    world.runtime.refused.clear();
    await world.advance(15_000);
    assert.equal(readyOf(node())?.status, "True");
    assert.match(readyMessageOf(node()), /WARNING: runtime-listing/, "once is not believed");
    await world.advance(40_000);
    assert.equal(readyMessageOf(node()), well);
  }));

test("a runtime that does not answer makes the node NotReady after 30 s, and no sooner", () =>
  inCluster(async ({ world, node }) => {
    await world.advance(3_000);
    const handlers = node()?.status?.runtimeHandlers;
    assert.equal(handlers?.length, 2);
    world.runtime.refused.add("status");
    await world.advance(24_000);
    assert.equal(readyMessageOf(node()), "kubelet is posting ready status");
    assert.deepEqual(node()?.status?.runtimeHandlers, handlers, "they are known from before");
    await world.advance(20_000);
    assert.equal(readyOf(node())?.status, "False");
    assert.equal(readyMessageOf(node()), "container runtime is down");
    world.runtime.refused.clear();
    await world.advance(15_000);
    assert.equal(readyMessageOf(node()), "kubelet is posting ready status");
  }));

test("a runtime that says that it is not ready makes the node NotReady at once", () =>
  inCluster(async ({ world, node }) => {
    await world.advance(3_000);
    world.runtime.options.runtimeReady = false;
    await world.advance(6_000);
    assert.equal(
      readyMessageOf(node()),
      "container runtime not ready: RuntimeReady=false reason:Broken message:no shim",
    );
    world.runtime.options.runtimeReady = true;
    await world.advance(6_000);
    assert.equal(readyMessageOf(node()), "kubelet is posting ready status");
  }));

for (const [runtime, answersAfterMs] of [
  ["answers", 0],
  ["answers only after 4 s", 4_000],
] as const)
  test(`the node stays Ready over a restart of the agent when the runtime ${runtime}`, () =>
    inCluster(async ({ world, node }) => {
      await world.advance(20_000);
      const before = readyOf(node());
      assert.equal(before?.status, "True");
      for (let restart = 0; restart < 5; restart += 1) {
        world.killAgent();
        await world.advance(1_000);
        if (answersAfterMs > 0) world.runtime.refused.add("status");
        world.startAgent();
        await world.advance(answersAfterMs);
        world.runtime.refused.clear();
        await world.advance(30_000);
        assert.equal(readyOf(node())?.lastTransitionTime, before?.lastTransitionTime);
      }
    }));

test("an agent that starts beside a runtime that does not answer makes the node NotReady after ten seconds", () =>
  inCluster(
    async ({ world, node }) => {
      await world.advance(8_000);
      assert.equal(node(), undefined);
      await world.advance(8_000);
      assert.match(
        readyMessageOf(node()),
        /container runtime status check may not have completed yet/,
      );
    },
    ({ runtime }) => runtime.refused.add("status"),
  ));

test("an API server that is away is notified as soon as it is back, and makes no node NotReady", () =>
  inCluster(async ({ world, api, node }) => {
    await world.advance(3_000);
    const checks = () =>
      world.agent?.health.problems.get().map(({ name, severity }) => `${name} ${severity}`);
    api.goDown();
    await world.advance(45_000);
    assert.deepEqual(checks(), [], "the lease has not run out for long enough");
    await world.advance(60_000);
    assert.deepEqual(checks(), ["lease warning", "source-api warning"]);
    api.comeBack();
    await world.advance(60_000);
    assert.deepEqual(checks(), []);
    assert.equal(readyOf(node())?.status, "True");
    assert.equal(readyMessageOf(node()), "kubelet is posting ready status");
  }));

test("a thread pool that does no file work makes the node NotReady after three minutes", () => {
  const held = Promise.withResolvers<undefined>();
  let stuck = false;
  const holdRootFolder = ({ host: { files } }: World) => {
    const facts = files.facts.bind(files);
    files.facts = (path, options) =>
      stuck && path === "/var/lib/kubelet" ? held.promise : facts(path, options);
  };
  return inCluster(async ({ world, node }) => {
    await world.advance(3_000);
    stuck = true;
    await world.advance(60_000);
    assert.equal(readyOf(node())?.status, "True");
    assert.match(
      readyMessageOf(node()),
      /WARNING: thread-pool: file operations take more than 10s/,
    );
    assert.equal(world.agent?.health.problems.get()[0]?.severity, "unhealthy");
    await world.advance(180_000);
    assert.equal(readyOf(node())?.status, "False");
    assert.match(readyMessageOf(node()), /^thread-pool: file operations take more than 10s/);
    stuck = false;
    held.resolve(undefined);
    await world.advance(60_000);
    assert.equal(readyOf(node())?.status, "True");
    assert.equal(readyMessageOf(node()), "kubelet is posting ready status");
  }, holdRootFolder);
});
