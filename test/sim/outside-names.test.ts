// Names that would lead out of the agent's folders, from a manifest and from another client of the runtime: nothing is made,
// ended or removed for their sake.
import assert from "node:assert/strict";
import { test } from "node:test";
import { manifest, TEMPLATES } from "./pod-templates.ts";
import { MANIFESTS, World } from "./world.ts";

const UP = "../../../../victim";
const SAFE = { uid: "0123", namespace: "default", name: "foreign" };

const [SLEEP] = TEMPLATES;
assert.ok(SLEEP);
const MANIFEST = manifest("web", SLEEP, { graceSeconds: 1, revision: 0, probed: false });

test("a manifest whose UID leads out of the folder of pods is refused", async () => {
  const world = new World(3);
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  await world.host.files.makeDirectory("/victim", 0o755);
  await world.host.files.writeAtomic("/victim/precious", "kept", 0o644);
  const hostile = MANIFEST.replace('"metadata":{', `"metadata":{"uid":"${UP}",`);
  await world.host.files.writeAtomic(`${MANIFESTS}/web.json`, hostile, 0o644);
  world.startAgent();
  await world.advance(60_000);
  const { pipeline } = world.agent ?? assert.fail("the agent is not up");
  assert.equal(pipeline.pods.list().length, 0);
  assert.match(pipeline.sources.problems.get()[0]?.message ?? "", /^metadata\.uid: Invalid value/);
  await world.host.files.remove(`${MANIFESTS}/web.json`);
  await world.advance(120_000);
  assert.equal(pipeline.sources.problems.get().length, 0);
  const below = world.host.files.paths.filter((path) => path.startsWith("/victim"));
  assert.deepEqual(below, ["/victim", "/victim/precious"]);
  assert.deepEqual(world.runtime.actions, []);
});

for (const field of ["uid", "namespace", "name"] as const) {
  test(`a sandbox that another client labelled with a hostile ${field} is nobody's orphan`, async () => {
    const world = new World(4);
    await world.host.files.makeDirectory("/victim", 0o755);
    const pod = { ...SAFE, [field]: UP };
    const labels = Object.fromEntries(
      Object.entries(pod).map(([key, value]) => [`io.kubernetes.pod.${key}`, value]),
    );
    const config = {
      metadata: { ...pod, attempt: 0 },
      labels,
      annotations: {},
      linux: { cgroupParent: "/foreign" },
    };
    await world.host.cgroups.create("/foreign");
    const run = world.runtime.runtime.runSandbox(
      config as unknown as Parameters<typeof world.runtime.runtime.runSandbox>[0],
      "",
      new AbortController().signal,
    );
    await world.advance(10_000);
    await run;
    world.startAgent();
    await world.advance(300_000);
    assert.equal(world.agent?.pipeline.seen.get(), true);
    assert.equal(world.runtime.sandboxes.size, 1, "it is left as it is");
    assert.deepEqual(
      world.runtime.actions.map(({ op }) => op),
      ["runSandbox"],
    );
    assert.ok(world.host.files.paths.includes("/victim"));
  });
}
