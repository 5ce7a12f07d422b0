// Objects that the node owns, in an API that has not got the node yet, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectMeta } from "../../src/api/generated/types.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { podOf } from "./cluster-world.ts";
import type { Program } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

const SLEEP: Program = { kind: "sleep" };

test("what the node owns in the API is created once it is known there, and names it from the beginning", async () => {
  const world = new World(7, {}, { cluster: true });
  const { api, host } = world;
  assert.ok(api);
  let accepts = false;
  const created: string[] = [];
  const request = api.request.bind(api);
  api.request = async (sent, signal) => {
    if (!accepts && sent.path.endsWith("/nodes")) throw new OutsideError("unavailable", "not yet");
    const { kind, metadata } = JSON.parse(sent.body ?? "{}") as {
      readonly kind?: string;
      readonly metadata?: ObjectMeta;
    };
    const isLease = sent.path.includes("/leases");
    if (sent.method !== "GET" && (isLease || (sent.method === "POST" && kind === "Pod")))
      created.push(...(metadata?.ownerReferences ?? [{ uid: "nobody" }]).map(({ uid }) => uid));
    return await request(sent, signal);
  };
  await host.files.makeDirectory(MANIFESTS, 0o755);
  const manifest = JSON.stringify({
    ...podOf("fixed", SLEEP, "Always"),
    metadata: { name: "fixed" },
  });
  await host.files.writeAtomic(`${MANIFESTS}/fixed.yaml`, manifest, 0o644);
  world.startAgent();
  await world.advance(30_000);
  assert.deepEqual(created, []);
  accepts = true;
  await world.advance(30_000);
  const uid = api.objects.find({ collection: "nodes", namespace: undefined, name: "sim" })?.metadata
    .uid;
  assert.ok(uid);
  assert.ok(created.length >= 3, "the lease, its renewal and a mirror pod");
  assert.deepEqual(
    created,
    created.map(() => uid),
  );
});
