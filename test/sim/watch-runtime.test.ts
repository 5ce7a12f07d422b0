// How often the runtime is listed, with and without a stream of events.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FoundPod, PodUid } from "../../src/api/observation.ts";
import { identifyPod } from "../../src/api/pod-identity.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { Container, ContainerState, ContainerStatus } from "../../src/outside/cri/generated/api.ts";
import { CONTAINER_NAME, POD_UID } from "../../src/subsystems/runtime/labels.ts";
import { type ObserveDeps, Observer } from "../../src/subsystems/runtime/observe.ts";
import { RuntimeWatch, type RuntimeWatchDeps } from "../../src/subsystems/runtime/watch-runtime.ts";
import { aFact, NO_FACTS } from "../support/pod-facts.ts";
import { FakeRuntime } from "./fake-runtime.ts";
import type { FakeRuntimeOptions } from "./fake-runtime-objects.ts";
import { SimClock } from "./sim-clock.ts";

const hasExited = (found: FoundPod): boolean =>
  found.kind === "observed" && found.observed.containers[0]?.state === "exited";

/** A watch over such a runtime, and its observer. */
function watchOver(
  deps: Pick<ObserveDeps, "runtime" | "images"> & { readonly clock: SimClock },
  publish: (found: FoundPod) => void = () => {},
  pods: RuntimeWatchDeps["pods"] = NO_FACTS,
) {
  const observer = new Observer({ ...deps, readTail: async () => undefined });
  const watch = new RuntimeWatch({
    ...deps,
    observer,
    log: silentLog,
    metrics: new MetricsRegistry(),
    news: {
      publish: (news) => {
        if (news.kind === "found") publish(news.found);
      },
    },
    pods,
  });
  return { observer, watch };
}

/** Listings of all sandboxes within ten minutes in which nothing happens. */
async function listingsInTenMinutes(options: Partial<FakeRuntimeOptions>): Promise<number> {
  const clock = new SimClock();
  const { runtime, images } = new FakeRuntime(clock, createSeededRandom(1), options);
  let listings = 0;
  const counted = {
    ...runtime,
    listSandboxes: (...request: Parameters<typeof runtime.listSandboxes>) => {
      listings += 1;
      return runtime.listSandboxes(...request);
    },
  };
  const { watch } = watchOver({ runtime: counted, images, clock });
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

test("the end of a container that ended before it was ever observed is seen soon", async () => {
  const clock = new SimClock();
  const { runtime, images } = new FakeRuntime(clock, createSeededRandom(1), { events: true });
  const uid = "pod-1" as PodUid;
  const labels = { [POD_UID]: uid, [CONTAINER_NAME]: "main" };
  // The runtime's own books are behind its events by 2 s, and the pod's actor is busy for one.
  const state = () =>
    clock.monotonic() < 7_000 ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_EXITED;
  let made = false;
  const late = {
    ...runtime,
    async *events(signal: AbortSignal) {
      await clock.sleep(5_000, signal);
      made = true;
      observer.learn("c", uid);
      yield { kind: "stopped" as const, containerId: "c", podUid: uid };
      await clock.sleep(1_000_000, signal);
    },
    listSandboxes: async () => [],
    listContainers: async () =>
      made ? [Container.fromPartial({ id: "c", labels, state: state() })] : [],
    containerStatus: async () => ContainerStatus.fromPartial({ id: "c", labels, state: state() }),
  };
  let seenAt: number | undefined;
  const leave = new AbortController();
  const { observer, watch } = watchOver(
    { runtime: late, images, clock },
    (found) => {
      if (hasExited(found)) seenAt ??= clock.monotonic();
    },
    { get: () => aFact(identifyPod({}), { busy: clock.monotonic() < 6_000 }) },
  );
  await watch.listOnce(leave.signal);
  const work = [watch.followEvents(leave.signal), watch.followPods(leave.signal)];
  await clock.advance(6_000);
  await observer.observePod(uid, leave.signal);
  await clock.advance(10_000);
  leave.abort();
  await clock.advance(60_000);
  await Promise.allSettled(work);
  assert.ok(seenAt !== undefined && seenAt < 16_000, `seen at ${seenAt}`);
});

test("an end that is announced while its pod is being observed is read once", async () => {
  const clock = new SimClock();
  const { runtime, images } = new FakeRuntime(clock, createSeededRandom(1), { events: true });
  const uid = "pod-1" as PodUid;
  const labels = { [POD_UID]: uid, [CONTAINER_NAME]: "main" };
  const state = () =>
    clock.monotonic() < 5_000 ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_EXITED;
  const readAt: number[] = [];
  const slow = {
    ...runtime,
    async *events(signal: AbortSignal) {
      await clock.sleep(4_010, signal);
      yield { kind: "stopped" as const, containerId: "c", podUid: uid };
      await clock.sleep(1_000_000, signal);
    },
    listSandboxes: async () => [],
    listContainers: async () => [Container.fromPartial({ id: "c", labels, state: state() })],
    containerStatus: async (_: string, signal: AbortSignal) => {
      const status = ContainerStatus.fromPartial({ id: "c", labels, state: state() });
      readAt.push(clock.monotonic());
      await clock.sleep(200, signal);
      return status;
    },
  };
  const leave = new AbortController();
  const { watch } = watchOver({ runtime: slow, images, clock });
  const listed = watch.listOnce(leave.signal);
  await clock.advance(1_000);
  await listed;
  const work = [watch.followEvents(leave.signal), watch.followPods(leave.signal)];
  await clock.advance(4_000);
  const observing = watch.observe(uid, leave.signal);
  await clock.advance(2_000);
  const found = await observing;
  assert.equal(found.kind === "observed" && found.observed.containers[0]?.state, "exited");
  assert.deepEqual(readAt, [0, 5_000]);
  leave.abort();
  await clock.advance(60_000);
  await Promise.allSettled(work);
});

test("a pod that is observed before the first listing ends is not listed as unobserved", async () => {
  const clock = new SimClock();
  const { runtime, images } = new FakeRuntime(clock, createSeededRandom(1), {});
  const uids = Array.from({ length: 9 }, (_, i) => `pod-${i}` as PodUid);
  const containers = uids.map((uid) =>
    Container.fromPartial({ id: `c-${uid}`, labels: { [POD_UID]: uid, [CONTAINER_NAME]: "main" } }),
  );
  // Each observation is late, and eight are made at once: those end before the ninth is late too.
  const slow = {
    ...runtime,
    listSandboxes: async () => [],
    listContainers: async () => containers,
    containerStatus: async (id: string, signal: AbortSignal) => {
      await clock.sleep(1_500, signal);
      const labels = containers.find((container) => container.id === id)?.labels ?? {};
      return ContainerStatus.fromPartial({ id, labels });
    },
  };
  const last = new Map<PodUid, string>();
  const { watch } = watchOver({ runtime: slow, images, clock }, ({ uid, kind }) =>
    last.set(uid, kind),
  );
  const listing = watch.listOnce(new AbortController().signal);
  await clock.advance(2_000);
  const found = await listing;
  assert.deepEqual(
    found.map(({ uid, kind }) => `${uid} ${kind}`).sort(),
    uids.map((uid) => `${uid} ${uid === "pod-8" ? "unobserved" : "observed"}`),
  );
  for (const { uid, kind } of found) last.set(uid, kind);
  await clock.advance(1_000);
  assert.deepEqual([...last.values()], Array(9).fill("observed"));
});

test("a slow observation does not override a faster one", async () => {
  const clock = new SimClock();
  const { runtime, images } = new FakeRuntime(clock, createSeededRandom(1), {});
  const uid = "pod-1" as PodUid;
  const labels = { [POD_UID]: uid, [CONTAINER_NAME]: "main" };
  const state = () =>
    clock.monotonic() < 1_000 ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_EXITED;
  let calls = 0;
  const signal = new AbortController().signal;
  const observer = new Observer({
    images,
    runtime: {
      ...runtime,
      listSandboxes: async () => [],
      // The first observation gets what holds when it asks, and gets it late.
      listContainers: async () => {
        const found = [Container.fromPartial({ id: "c", labels, state: state() })];
        calls += 1;
        if (calls === 1) await clock.sleep(5_000, signal);
        return found;
      },
      containerStatus: async () => ContainerStatus.fromPartial({ id: "c", labels, state: state() }),
    },
    clock,
    readTail: async () => undefined,
  });
  const reported: string[] = [];
  const observe = async (name: string) => {
    const found = await observer.observePod(uid, signal);
    assert.equal(found.kind, "observed");
    const { observed } = found;
    reported.push(`${name} at ${clock.monotonic()}: ${observed.containers[0]?.state}`);
    return observed.asOf;
  };
  const slow = observe("slow");
  await clock.advance(2_000);
  const fastAsOf = await observe("fast");
  await clock.advance(10_000);
  assert.ok((await slow) >= fastAsOf, "the slow one has observed again");
  assert.deepEqual(reported, ["fast at 2000: exited", "slow at 5000: exited"]);
});

test("events in a row do not put the full listing off", async () => {
  const clock = new SimClock();
  const { runtime, images } = new FakeRuntime(clock, createSeededRandom(1), { events: true });
  const busy = "pod-busy" as PodUid;
  const quiet = "pod-quiet" as PodUid;
  const started = 100_000;
  const labelled = (uid: PodUid) => ({ [POD_UID]: uid, [CONTAINER_NAME]: "main" });
  // Of the quiet pod no event is ever delivered.
  const containers = () =>
    [busy, quiet]
      .filter((uid) => uid === busy || clock.monotonic() >= started)
      .map((uid) => ({ id: `c-${uid}`, uid, labels: labelled(uid) }));
  const listedAt: number[] = [];
  const traffic = {
    ...runtime,
    async *events(signal: AbortSignal) {
      for (;;) {
        await clock.sleep(1_000, signal);
        yield { kind: "started" as const, containerId: "c-pod-busy", podUid: busy };
      }
    },
    listSandboxes: async () => [],
    listContainers: async ({ labelSelector = {} }: { labelSelector?: object }) => {
      const only = (labelSelector as Record<string, string>)[POD_UID];
      if (only === undefined) listedAt.push(clock.monotonic());
      return containers()
        .filter(({ uid }) => only === undefined || uid === only)
        .map(({ id, labels }) =>
          Container.fromPartial({ id, labels, state: ContainerState.CONTAINER_RUNNING }),
        );
    },
    containerStatus: async (id: string) =>
      ContainerStatus.fromPartial({ id, state: ContainerState.CONTAINER_RUNNING }),
  };
  let quietSeenAt: number | undefined;
  const { watch } = watchOver({ runtime: traffic, images, clock }, ({ uid }) => {
    if (uid === quiet) quietSeenAt ??= clock.monotonic();
  });
  const leave = new AbortController();
  const work = [watch.followEvents(leave.signal), watch.followPods(leave.signal)];
  await clock.advance(600_000);
  leave.abort();
  await clock.advance(60_000);
  await Promise.allSettled(work);
  assert.ok(listedAt.length >= 19 && listedAt.length <= 25, `${listedAt.length} listings`);
  const seenAfterMs = (quietSeenAt ?? Number.POSITIVE_INFINITY) - started;
  assert.ok(seenAfterMs <= 31_000, `an event that was lost was made good after ${seenAfterMs} ms`);
});

test("a pod that takes long to be read does not delay what events report of others", async () => {
  const clock = new SimClock();
  const { runtime, images } = new FakeRuntime(clock, createSeededRandom(1), { events: true });
  const [slow, quick] = ["pod-slow" as PodUid, "pod-quick" as PodUid];
  const state = () =>
    clock.monotonic() < 5_000 ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_EXITED;
  const answers = {
    ...runtime,
    async *events(signal: AbortSignal) {
      await clock.sleep(5_000, signal);
      yield { kind: "stopped" as const, containerId: "c-pod-slow", podUid: slow };
      await clock.sleep(50, signal);
      yield { kind: "stopped" as const, containerId: "c-pod-quick", podUid: quick };
      await clock.sleep(1_000_000, signal);
    },
    listSandboxes: async () => [],
    listContainers: async ({ labelSelector = {} }: { labelSelector?: object }) => {
      const only = (labelSelector as Record<string, string>)[POD_UID];
      return [slow, quick]
        .filter((uid) => only === undefined || uid === only)
        .map((uid) =>
          Container.fromPartial({
            id: `c-${uid}`,
            labels: { [POD_UID]: uid, [CONTAINER_NAME]: "main" },
            state: state(),
          }),
        );
    },
    containerStatus: async (id: string, signal: AbortSignal) => {
      if (id === "c-pod-slow" && clock.monotonic() >= 5_000) await clock.sleep(800, signal);
      return ContainerStatus.fromPartial({ id, state: state() });
    },
  };
  const endedAt = new Map<PodUid, number>();
  const { watch } = watchOver({ runtime: answers, images, clock }, (found) => {
    if (hasExited(found)) endedAt.set(found.uid, endedAt.get(found.uid) ?? clock.monotonic());
  });
  const leave = new AbortController();
  const work = [watch.followEvents(leave.signal), watch.followPods(leave.signal)];
  await clock.advance(10_000);
  leave.abort();
  await clock.advance(60_000);
  await Promise.allSettled(work);
  assert.deepEqual(Object.fromEntries(endedAt), { [slow]: 5_800, [quick]: 5_050 });
});

/** When the status was asked for, in milliseconds after the runtime was given a network that is ready after `loadedMs`. */
async function statusChecks(loadedMs: number): Promise<readonly number[]> {
  const clock = new SimClock();
  const fake = new FakeRuntime(clock, createSeededRandom(1), { networkReady: false });
  const checks: number[] = [];
  const runtime = {
    ...fake.runtime,
    status: (signal: AbortSignal) => {
      checks.push(clock.monotonic());
      return fake.runtime.status(signal);
    },
  };
  const { watch } = watchOver({ runtime, images: fake.images, clock });
  const leave = new AbortController();
  const work = watch.followHealth(leave.signal);
  await clock.advance(6_000);
  const given = clock.monotonic();
  watch.expectNetwork();
  await clock.advance(loadedMs);
  fake.options.networkReady = true;
  await clock.advance(12_000 - loadedMs);
  assert.equal(watch.health.get().networkReady, true);
  leave.abort();
  await clock.advance(1);
  await work;
  return checks.filter((at) => at >= given).map((at) => at - given);
}

for (const [loadedMs, soon] of [
  [1, [0, 100]],
  [650, [0, 100, 300, 700]],
  [8_000, [0, 100, 300, 700, 1_500, 3_100]],
] as const)
  test(`a network that is ready ${loadedMs} ms after the runtime was given one is seen soon, and asked for in the usual period after that`, async () => {
    const checks = await statusChecks(loadedMs);
    assert.deepEqual(checks.slice(0, soon.length), soon);
    const later = checks.slice(soon.length);
    assert.ok(later.length >= 1 && later.length <= 3, checks.join(" "));
  });
