// How often the runtime is listed, with and without a stream of events.
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../src/kit/log.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { Observer } from "../../src/subsystems/runtime/observe.ts";
import { RuntimeWatch } from "../../src/subsystems/runtime/watch-runtime.ts";
import { FakeRuntime } from "./fake-runtime.ts";
import type { FakeRuntimeOptions } from "./fake-runtime-objects.ts";
import { SimClock } from "./sim-clock.ts";

/** Listings of all sandboxes within ten minutes in which nothing happens. */
async function listingsInTenMinutes(options: Partial<FakeRuntimeOptions>): Promise<number> {
  const clock = new SimClock();
  const { runtime } = new FakeRuntime(clock, createSeededRandom(1), options);
  let listings = 0;
  const counted = {
    ...runtime,
    listSandboxes: (...request: Parameters<typeof runtime.listSandboxes>) => {
      listings += 1;
      return runtime.listSandboxes(...request);
    },
  };
  const observer = new Observer({ runtime: counted, clock, readTail: async () => undefined });
  const watch = new RuntimeWatch({
    runtime: counted,
    clock,
    log: silentLog,
    observer,
    onFound: () => {},
    isBusy: () => false,
  });
  const leave = new AbortController();
  const work = [watch.followEvents(leave.signal), watch.followPods(leave.signal)];
  await clock.advance(600_000);
  leave.abort();
  await clock.advance(60_000);
  await Promise.all(work);
  return listings;
}

test("an open stream that is silent spares listings", async () => {
  const listings = await listingsInTenMinutes({ events: true });
  assert.ok(listings >= 20 && listings <= 25, `${listings} listings`);
});

test("without a stream all is listed every second", async () => {
  const listings = await listingsInTenMinutes({ events: false });
  assert.ok(listings >= 590 && listings <= 602, `${listings} listings`);
});
