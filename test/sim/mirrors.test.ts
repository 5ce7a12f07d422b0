// Mirror pods in an API that is slow for one of them, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { MANIFESTS, World } from "./world.ts";

const manifestOf = (name: string) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "main", image: "nodelet.test/nodelet-test:1" }] },
  });

test("a mirror pod that the API does not answer holds up no other", async () => {
  const world = new World(7, {}, { cluster: true });
  const { api, host, clock } = world;
  assert.ok(api);
  const request = api.request.bind(api);
  api.request = async (sent, signal) => {
    const isStuck = sent.method === "POST" && sent.body?.includes('"a-stuck-sim"');
    if (!isStuck || !sent.path.endsWith("/pods")) return await request(sent, signal);
    await clock.sleep(sent.timeoutMs, signal);
    throw new OutsideError("deadline", "the server did not answer");
  };
  await host.files.makeDirectory(MANIFESTS, 0o755);
  for (const name of ["a-stuck", "fixed"])
    await host.files.writeAtomic(`${MANIFESTS}/${name}.yaml`, manifestOf(name), 0o644);
  world.startAgent();
  await world.advance(20_000);
  const mirrorOf = (name: string) =>
    api.objects.find({ collection: "pods", namespace: "default", name });
  assert.equal(mirrorOf("a-stuck-sim"), undefined);
  assert.ok(mirrorOf("fixed-sim"));
});

test("a static pod whose manifest was put back while the agent was away is not reported to have ended", async () => {
  const world = new World(11, {}, { cluster: true });
  const { api, host } = world;
  assert.ok(api);
  const request = api.request.bind(api);
  const key = { collection: "pods", namespace: "default", name: "fixed-sim" };
  const mirror = () => api.objects.find(key) as Pod | undefined;
  let keepsMirrors = false;
  api.request = async (sent, signal) => {
    if (keepsMirrors && sent.method === "DELETE")
      throw new OutsideError("unavailable", "pods cannot be deleted now");
    return await request(sent, signal);
  };
  await host.files.makeDirectory(MANIFESTS, 0o755);
  const manifest = `${MANIFESTS}/fixed.yaml`;
  await host.files.writeAtomic(manifest, manifestOf("fixed"), 0o644);
  world.startAgent();
  await world.advance(20_000);
  assert.equal(mirror()?.status?.phase, "Running");
  // The pod's end is reported, but its mirror is still there when the agent is killed.
  keepsMirrors = true;
  await host.files.remove(manifest);
  await world.advance(60_000);
  assert.match(mirror()?.status?.phase ?? "", /^(Succeeded|Failed)$/);
  world.killAgent();
  keepsMirrors = false;
  await host.files.writeAtomic(manifest, manifestOf("fixed"), 0o644);
  world.startAgent();
  await world.advance(20_000);
  assert.equal(mirror()?.status?.phase, "Running");
});
