// Ten thousand changes through one watch of a real API server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { CONFIG_MAPS, followObjects, KubeClient } from "../../src/outside/kube/kube.ts";
import { apiServerObstacle, startApiServer } from "./apiserver.ts";
import { connectAs } from "./connect-as.ts";

const OBJECTS = 50;
const CHANGES_OF_EACH = 200;
/** Makes each event some KiB, as a pod is. */
const PADDING = "x".repeat(4_000);
/** What is alive after a collection must not grow with the number of events. */
const MAX_GROWTH_BYTES = 16 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("10,000 changes come through a watch, each once, in order, in little memory", {
  skip: apiServerObstacle() ?? false,
}, async () => {
  await using server = await startApiServer();
  const clock = createSystemClock();
  const reading = connectAs(server);
  const writing = connectAs(server);
  using closing = new DisposableStack();
  closing.defer(() => reading.close());
  closing.defer(() => writing.close());
  const client = (transport: typeof reading) =>
    new KubeClient({}, { transport, clock, log: silentLog });
  const writer = client(writing);
  const leave = new AbortController();
  const name = (i: number) => `object-${i}`;
  for (let i = 0; i < OBJECTS; i += 1)
    await writer.create(
      CONFIG_MAPS,
      { namespace: "default" },
      { metadata: { name: name(i), labels: { of: "load" } }, data: { n: "0" } },
      leave.signal,
    );
  const write = async (i: number) => {
    for (let n = 1; n <= CHANGES_OF_EACH; n += 1)
      await writer.patch(
        CONFIG_MAPS,
        { namespace: "default", name: name(i) },
        { kind: "merge", body: { data: { n: `${n}`, padding: PADDING } } },
        leave.signal,
      );
  };
  const changes = followObjects(
    { resource: CONFIG_MAPS, namespace: "default", labelSelector: "of=load" },
    { client: client(reading), clock, random: createSeededRandom(1), log: silentLog },
    leave.signal,
  );
  assert.equal((await changes.next()).value.kind, "all");
  const before = alive();
  const began = performance.now();
  const written = Promise.all(Array.from({ length: OBJECTS }, (_, i) => write(i)));
  const seen = new Map<string, number>();
  let events = 0;
  let peak = before;
  let lastVersion = 0;
  while (events < OBJECTS * CHANGES_OF_EACH) {
    const { value: change } = await changes.next();
    assert.ok(change.kind === "set", `unexpected ${change.kind}`);
    const { metadata, data } = change.object;
    const n = Number(data?.["n"]);
    const key = metadata?.name ?? "";
    assert.equal(n, (seen.get(key) ?? 0) + 1, `${key} jumped`);
    seen.set(key, n);
    assert.ok(Number(metadata?.resourceVersion) > lastVersion, "out of order");
    lastVersion = Number(metadata?.resourceVersion);
    events += 1;
    if (events % 1000 === 0) peak = Math.max(peak, alive());
  }
  await written;
  const growth = peak - before;
  console.log(
    `${events} events in ${Math.round(performance.now() - began)} ms, alive ${mib(before)} -> at most ${mib(peak)} MiB`,
  );
  assert.ok(growth < MAX_GROWTH_BYTES, `memory grew by ${mib(growth)} MiB`);
  leave.abort(new Error("enough"));
  await changes.return(undefined as never).catch(() => {});
});

/** Bytes that are alive, on and off the heap. */
function alive(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function mib(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
