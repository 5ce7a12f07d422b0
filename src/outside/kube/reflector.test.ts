import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeApiServer } from "../../../test/sim/fake-apiserver.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { silentLog } from "../../kit/log.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { CONFIG_MAPS, followObjects, KubeClient } from "./kube.ts";

/** How soon after the server is back changes must be seen. */
const RESUME_MS = 5_000;

function world(seed: number) {
  const clock = new SimClock();
  const random = createSeededRandom(seed);
  const server = new FakeApiServer(clock, random);
  const client = new KubeClient({}, { transport: server, clock, log: silentLog });
  const seen: string[] = [];
  const leave = new AbortController();
  const follow = async () => {
    const deps = { client, clock, random, log: silentLog };
    for await (const change of followObjects({ resource: CONFIG_MAPS }, deps, leave.signal))
      seen.push(
        change.kind === "all"
          ? `all ${change.objects.map(({ metadata }) => metadata?.name).join(" ")}`
          : `${change.kind} ${change.object.metadata?.name}`,
      );
  };
  const ended = follow().catch(() => {});
  const create = (name: string) =>
    server.objects.create({ collection: "configmaps", namespace: "a" }, { metadata: { name } });
  const end = async () => {
    leave.abort(new Error("enough"));
    await clock.advance(1);
    await ended;
  };
  return { clock, server, seen, create, end };
}

for (const [awayMs, seeds] of [
  [3_000, 20],
  [20_000, 20],
  [3_600_000, 2],
] as const)
  test(`followObjects goes on within 5 s after a server was away for ${awayMs} ms and has forgotten`, async () => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const { clock, server, seen, create, end } = world(seed);
      create("one");
      await clock.advance(1_000);
      assert.deepEqual(seen, ["all one"]);
      server.goDown();
      await clock.advance(awayMs);
      create("two");
      server.objects.forget();
      server.comeBack();
      await clock.advance(RESUME_MS);
      assert.deepEqual(seen, ["all one", "all one two"], `seed ${seed}`);
      await end();
    }
  });

test("followObjects goes on soon though a server that has come back refuses at first", async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { clock, server, seen, create, end } = world(seed);
    create("one");
    await clock.advance(1_000);
    server.goDown();
    await clock.advance(30_000);
    create("two");
    server.comeBack();
    server.options.faults = 1;
    await clock.advance(20_000);
    server.options.faults = 0;
    await clock.advance(RESUME_MS);
    assert.deepEqual(seen, ["all one", "set two"], `seed ${seed}`);
    await end();
  }
});
