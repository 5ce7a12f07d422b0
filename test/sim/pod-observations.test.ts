// One pod that cannot be read, or not soon, holds up no other.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FoundPod } from "../../src/api/observation.ts";
import type { PodNews } from "../../src/api/pod-news.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import type { Publisher } from "../../src/kit/topic.ts";
import { Container, ContainerState, ContainerStatus } from "../../src/outside/cri/generated/api.ts";
import { CONTAINER_NAME, POD_UID } from "../../src/subsystems/runtime/labels.ts";
import { Observer } from "../../src/subsystems/runtime/observe.ts";
import { RuntimeWatch } from "../../src/subsystems/runtime/watch-runtime.ts";
import { NO_FACTS } from "../support/pod-facts.ts";
import { FakeRuntime } from "./fake-runtime.ts";
import { SimClock } from "./sim-clock.ts";

/** How the status of a pod's container is answered; a pod that is gone has none. */
type Answer = "well" | "fails" | "hangs" | "gone";

function worldOf(answers: Record<string, Answer>) {
  const clock = new SimClock();
  const { runtime, images } = new FakeRuntime(clock, createSeededRandom(1), { events: false });
  const pods = () => Object.keys(answers).filter((uid) => answers[uid] !== "gone");
  const broken = {
    ...runtime,
    listSandboxes: async () => [],
    listContainers: async ({ labelSelector = {} }: { labelSelector?: object }) => {
      const only = (labelSelector as Record<string, string>)[POD_UID];
      return pods()
        .filter((uid) => only === undefined || uid === only)
        .map((uid) =>
          Container.fromPartial({
            id: `c-${uid}`,
            metadata: { name: "main" },
            labels: { [POD_UID]: uid, [CONTAINER_NAME]: "main" },
            state: ContainerState.CONTAINER_RUNNING,
          }),
        );
    },
    containerStatus: async (id: string) => {
      const answer = answers[id.slice(2)];
      if (answer === "fails") throw new OutsideError("io", "broken for ever");
      if (answer === "hangs") await new Promise<never>(() => {});
      return ContainerStatus.fromPartial({ id, state: ContainerState.CONTAINER_RUNNING });
    },
  };
  const reported: string[] = [];
  const take = (found: readonly FoundPod[]) => {
    for (const pod of found)
      reported.push(
        pod.kind === "observed"
          ? `${pod.uid} observed ${pod.observed.containers.length}`
          : `${pod.uid} unobserved ${pod.problem ?? ""}`.trim(),
      );
  };
  const news: Publisher<PodNews> = {
    publish: (item) => item.kind === "found" && take([item.found]),
  };
  const metrics = new MetricsRegistry();
  const deps = { runtime: broken, images, clock, log: silentLog, metrics };
  const observer = new Observer({ ...deps, readTail: async () => undefined });
  const watch = new RuntimeWatch({ ...deps, observer, news, pods: NO_FACTS });
  const leave = new AbortController();
  const work: Promise<void>[] = [];
  return {
    clock,
    watch,
    reported,
    take,
    leave,
    follow: () => work.push(watch.followPods(leave.signal)),
    end: async () => {
      leave.abort();
      await clock.advance(60_000);
      await Promise.all(work);
    },
  };
}

test("a listing reports all pods but the broken ones, and those as broken", async () => {
  const answers: Record<string, Answer> = { a: "hangs", b: "fails", c: "well" };
  for (let i = 0; i < 20; i += 1) answers[`hung-${i}`] = "hangs";
  answers["z"] = "well";
  const { clock, watch, leave, take, reported } = worldOf(answers);
  const listed = watch.listOnce(leave.signal).then(take);
  await clock.advance(9_000);
  await listed;
  assert.ok(reported.includes("c observed 1"));
  assert.ok(reported.includes("z observed 1"), "those behind the hung ones have their turn");
  assert.ok(reported.includes("a unobserved"));
  assert.ok(reported.includes("b unobserved"));
  assert.equal(reported.length, 24);
});

test("a pod that heals is reported, one that stays broken is tried again", async () => {
  const answers: Record<string, Answer> = { a: "hangs", b: "fails", c: "well" };
  const { clock, follow, reported, end } = worldOf(answers);
  follow();
  await clock.advance(60_000);
  assert.ok(reported.includes("b unobserved container main (c-b): broken for ever"));
  assert.ok(
    reported.includes("a unobserved container main (c-a): the runtime did not answer within 10 s"),
  );
  answers["a"] = "well";
  answers["b"] = "well";
  await clock.advance(45_000);
  assert.ok(reported.includes("a observed 1"));
  assert.ok(reported.includes("b observed 1"));
  await end();
});

test("a pod that vanishes is reported, also while it cannot be read", async () => {
  const answers: Record<string, Answer> = { a: "well", b: "fails" };
  const { clock, follow, reported, end } = worldOf(answers);
  follow();
  await clock.advance(5_000);
  answers["a"] = "gone";
  answers["b"] = "gone";
  await clock.advance(40_000);
  assert.ok(reported.includes("a observed 0"));
  assert.ok(reported.includes("b observed 0"));
  await end();
});
