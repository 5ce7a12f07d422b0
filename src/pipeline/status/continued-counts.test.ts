import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { ContainerStatus, Pod } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import { CONFIG_SOURCE_ANNOTATION } from "../../api/pod/pod.ts";
import { ContinuedCounts } from "./continued-counts.ts";

const podFrom = (source: string): Pod => ({
  metadata: { name: "p", annotations: { [CONFIG_SOURCE_ANNOTATION]: source } },
});

const statusOf = (name: string, restartCount: number, containerID?: string): ContainerStatus => ({
  name,
  restartCount,
  image: "",
  imageID: "",
  ready: false,
  ...(containerID ? { containerID } : {}),
});

const ended = (uid: string, source = "file") => ({
  uid: uid as PodUid,
  pod: podFrom(source),
  status: {
    initContainerStatuses: [statusOf("init", 0, "containerd://i")],
    containerStatuses: [statusOf("web", 4, "containerd://w"), statusOf("never", 0)],
  },
});

test("a static pod that is put back within a minute is counted on, any other begins at 0", async () => {
  const clock = new SimClock();
  const counts = new ContinuedCounts(clock);
  const next = (uid: string) =>
    ["init", "web", "never", "other"].map((name) => counts.next(uid as PodUid, name));
  counts.released(ended("file"));
  counts.released(ended("url", "http"));
  counts.released(ended("api", "api"));
  await clock.advance(59_000);
  assert.deepEqual(next("file"), [1, 5, 0, 0]);
  assert.deepEqual(next("url"), [1, 5, 0, 0]);
  assert.deepEqual(next("api"), [0, 0, 0, 0]);
  assert.deepEqual(next("unknown"), [0, 0, 0, 0]);
  await clock.advance(1_000);
  assert.deepEqual(next("file"), [0, 0, 0, 0]);
});

test("of many pods that were removed the latest are kept", () => {
  const counts = new ContinuedCounts(new SimClock());
  for (let pod = 0; pod < 300; pod += 1) counts.released(ended(`u${pod}`));
  const kept = Array.from({ length: 300 }, (_, pod) => counts.next(`u${pod}` as PodUid, "web"));
  assert.equal(kept.filter((count) => count > 0).length, 256);
  assert.deepEqual([kept[0], kept[43], kept[44], kept[299]], [0, 0, 5, 5]);
});
