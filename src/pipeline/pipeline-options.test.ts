import assert from "node:assert/strict";
import { test } from "node:test";
import { durationMs } from "../api/text/duration.ts";
import { DEFAULT_CONFIG } from "../config/fields/defaults.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { pipelineOptionsOf, restartBackoffOf } from "./pipeline-options.ts";

const REDUCED = { ReduceDefaultCrashLoopBackOffDecay: true };
const NO_MAX = { KubeletCrashLoopBackOffMax: false };

const VECTORS: readonly {
  readonly name: string;
  readonly config: Partial<KubeletConfig>;
  readonly seconds: readonly [initial: number, max: number];
}[] = [
  { name: "as it is", config: {}, seconds: [10, 300] },
  {
    name: "reduced, with the longest as configured",
    config: { featureGates: REDUCED },
    seconds: [1, 300],
  },
  {
    name: "reduced, without the other gate",
    config: { featureGates: { ...REDUCED, ...NO_MAX }, crashLoopBackOff: {} },
    seconds: [1, 60],
  },
  {
    name: "the longest is shorter than the first",
    config: { crashLoopBackOff: { maxContainerRestartPeriod: durationMs(3_000) } },
    seconds: [3, 3],
  },
];

for (const { name, config, seconds } of VECTORS)
  test(`restartBackoffOf: ${name}`, () => {
    const found = restartBackoffOf({ ...DEFAULT_CONFIG, ...config });
    assert.deepEqual(
      [found.initialRestartBackoffMs, found.maxRestartBackoffMs],
      seconds.map((each) => each * 1_000),
    );
  });

test("pipelineOptionsOf: pod-level resources of manifests by the gates of the release", () => {
  const rulesOf = (config: Partial<KubeletConfig>) => {
    const { fillsPodResources, countsEmptyPodResources } =
      pipelineOptionsOf(
        {
          config: { ...DEFAULT_CONFIG, ...config },
          nodeName: "n",
          rootFolder: "/r",
          cgroupVersion: 2,
        },
        [],
      ).sources.rules ?? {};
    return [fillsPodResources, countsEmptyPodResources];
  };
  const off = { PodLevelResourcesFixDefaulting: false, PodLevelResourcesFixKubeletQOSClass: false };
  assert.deepEqual(rulesOf({}), [false, false]);
  assert.deepEqual(rulesOf({ compat: "1.36" }), [true, true]);
  assert.deepEqual(rulesOf({ featureGates: off }), [true, true]);
});
