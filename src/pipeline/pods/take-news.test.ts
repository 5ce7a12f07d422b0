import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid, UnobservedPod } from "../../api/observation.ts";
import { identifyPod } from "../../api/pod-identity.ts";
import { newsKey, type PodNews } from "../../api/pod-news.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { takeNews } from "./take-news.ts";

const uid = "p" as PodUid;
const found: UnobservedPod = {
  kind: "unobserved",
  uid,
  asOf: 1 as MonotonicMs,
  problem: "no answer",
  describe: () => identifyPod({}),
};
const probed = { container: "c", containerId: "c1", probe: "liveness", result: "failure" } as const;
const evicted = { reason: "Preempting", message: "m", disruption: "d" } as const;

const ROWS: readonly (readonly [PodNews, unknown, string | undefined])[] = [
  [{ kind: "found", found }, ["found", [found]], undefined],
  [
    { kind: "probed", uid, ...probed },
    ["post", uid, { kind: "probed", ...probed }],
    "probed p c liveness",
  ],
  [
    { kind: "progress", uid, container: "c", message: undefined },
    ["post", uid, { kind: "progress", container: "c", message: undefined }],
    "progress p c",
  ],
  [{ kind: "devices", uid, what: "health" }, ["post", uid, { kind: "tick" }], "devices p health"],
  [{ kind: "devices", uid, what: "admission" }, ["reconsider", uid], "devices p admission"],
  [
    { kind: "evicted", uid, ...evicted },
    ["terminate", uid, { kind: "evicted", ...evicted }, undefined],
    "evicted p",
  ],
  [
    { kind: "evicted", uid, ...evicted, graceSeconds: 1 },
    ["terminate", uid, { kind: "evicted", ...evicted }, 1],
    "evicted p",
  ],
  [{ kind: "clear", uid }, ["post", uid, { kind: "clear" }], "clear p"],
];

for (const [news, expected, key] of ROWS)
  test(`takeNews: ${news.kind}${"what" in news ? ` (${news.what})` : ""} reaches the pod as what it is`, () => {
    const done: unknown[] = [];
    takeNews(
      {
        post: (...all) => done.push(["post", ...all]),
        reconsider: (...all) => done.push(["reconsider", ...all]),
        terminate: (...all) => done.push(["terminate", ...all]),
      },
      { take: (...all) => done.push(["found", ...all]) },
      news,
    );
    assert.deepEqual(done, [expected]);
    assert.equal(newsKey(news), key);
  });
