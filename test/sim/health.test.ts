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

test("the Ready condition tells what is wrong with the agent, before the node is not Ready and without flapping", () =>
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

test("an API server that is away is told as soon as it is back, and makes no node NotReady", () =>
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
