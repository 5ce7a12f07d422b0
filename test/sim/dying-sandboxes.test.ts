// Sandboxes that die again and again, and containers that end before they are observed: what is dead stays bounded.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deadOf, surplusOf } from "./dead-checks.ts";
import { commandOf, type Program } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

const DEATHS = 12;
const AT_ONCE: Program = { kind: "exit", code: 0, afterMs: 0 };

const container = (name: string, program: Program) => ({
  name,
  image: "nodelet.test/nodelet-test:1",
  command: commandOf(program),
});

async function started(spec: object): Promise<{ world: World; uid: () => string }> {
  const world = new World(3, { latencyMs: 500 });
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec };
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  await world.host.files.writeAtomic(`${MANIFESTS}/web.json`, JSON.stringify(pod), 0o644);
  world.startAgent();
  await world.advance(30_000);
  const uid = () => String(world.agent?.pipeline.statuses.list()[0]?.uid ?? "");
  return { world, uid };
}

function killSandboxes({ runtime }: World): void {
  for (const { id, ready } of [...runtime.sandboxes.values()]) if (ready) runtime.killSandbox(id);
}

for (const afterMs of [0, 700])
  test(`init containers that end after ${afterMs} ms: one dead attempt of each is left, however often the sandbox dies`, async () => {
    const init: Program = { ...AT_ONCE, afterMs };
    const { world, uid } = await started({
      initContainers: [container("first", init), container("second", init)],
      containers: [container("main", { kind: "sleep" })],
    });
    for (let i = 0; i < DEATHS; i += 1) {
      killSandboxes(world);
      await world.advance(120_000);
    }
    const status = world.agent?.pipeline.statuses.list()[0]?.status;
    assert.equal(status?.phase, "Running");
    assert.equal(surplusOf(world, uid()), undefined);
    assert.deepEqual(Object.fromEntries(deadOf(world, uid()).attempts), {
      first: 1,
      second: 1,
      main: 1,
    });
    assert.equal(deadOf(world, uid()).sandboxes, 1);
    world.killAgent();
  });

test("a sandbox that dies before it is seen leaves a few of the last ones only", async () => {
  const { world, uid } = await started({
    initContainers: [container("first", AT_ONCE)],
    containers: [container("main", { kind: "sleep" })],
  });
  let dies = true;
  // What was made is gone before the runtime is asked about it.
  world.runtime.onChange = () => {
    if (dies) setImmediate(() => killSandboxes(world));
  };
  killSandboxes(world);
  await world.advance(3 * 60_000);
  const made = world.runtime.actions.filter(({ op }) => op === "runSandbox").length;
  assert.ok(made > DEATHS, `only ${made} sandboxes were made`);
  const { sandboxes, attempts } = deadOf(world, uid());
  assert.ok(sandboxes <= 4, `${sandboxes} dead sandboxes`);
  assert.ok((attempts.get("first") ?? 0) <= 2, `${attempts.get("first")} dead attempts`);
  dies = false;
  await world.advance(10 * 60_000);
  assert.equal(surplusOf(world, uid()), undefined);
  world.killAgent();
});

test("a pod that has ended keeps one dead attempt of each container", async () => {
  const { world, uid } = await started({
    restartPolicy: "OnFailure",
    containers: [container("main", { kind: "sleep" })],
  });
  const [first] = world.runtime.containers.values();
  world.runtime.exitContainer(first?.id ?? "", 1);
  // The next one ends well before it is seen running.
  world.runtime.onChange = () => {
    for (const { id, state } of world.runtime.containers.values())
      if (state === "running") setImmediate(() => world.runtime.exitContainer(id, 0));
  };
  await world.advance(120_000);
  assert.equal(world.agent?.pipeline.statuses.list()[0]?.status.phase, "Succeeded");
  assert.equal(deadOf(world, uid()).attempts.get("main"), 1);
  world.killAgent();
});
