// Resources of pods as a whole (KEP-2837), as the kernel and the status show them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { BoxedAgent, type Manifest } from "../support/agent.ts";
import { groupValue } from "../support/cgroup-box.ts";
import { QUIET } from "./pods.ts";

const MI = 2 ** 20;
const { version } = cgroupRoots();

const files = (milli: number, quotaUs: number, memoryBytes: number) =>
  version === 1
    ? {
        "cpu.shares": String(Math.floor((milli * 1024) / 1000)),
        "cpu.cfs_quota_us": String(quotaUs),
        "memory.limit_in_bytes": String(memoryBytes),
      }
    : { "cpu.max": `${quotaUs} 100000`, "memory.max": String(memoryBytes) };

const container = (name: string, resources: object = {}) => ({
  name,
  image: TEST_IMAGE,
  command: [...QUIET],
  resources,
});

/** A pod limited as a whole; one of its containers has limits of its own. */
const POD: Manifest = {
  metadata: { name: "whole", uid: "whole" },
  spec: {
    terminationGracePeriodSeconds: 2,
    resources: {
      requests: { cpu: "200m", memory: "64Mi" },
      limits: { cpu: "400m", memory: "128Mi" },
    },
    containers: [
      container("free"),
      container("own", {
        requests: { cpu: "50m", memory: "16Mi" },
        limits: { cpu: "100m", memory: "32Mi" },
      }),
    ],
  },
};

test("a pod limited as a whole: its group, a container without limits, one with its own", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("whole.yaml", POD);
    await agent.untilReady();
    assert.equal(agent.status()?.qosClass, "Burstable");
    const same = (path: string, wanted: Readonly<Record<string, string>>) => {
      for (const [file, value] of Object.entries(wanted))
        assert.equal(groupValue(box, path, file), value, `${path} ${file}`);
    };
    const path = "/kubepods/burstable/podwhole";
    same(path, files(200, 40_000, 128 * MI));
    const groupOf = (name: string) => {
      const status = agent.status()?.containerStatuses?.find((each) => each.name === name);
      return `${path}/${status?.containerID?.replace("containerd://", "")}`;
    };
    // Without a request of its own a container has shares by the limit that holds for it.
    same(groupOf("free"), files(400, 40_000, 128 * MI));
    same(groupOf("own"), files(50, 10_000, 32 * MI));
    // What nobody claims of the pod's request counts for both in equal parts.
    const scores = await box.run([
      "sh",
      "-c",
      "cat $(grep -l sleep /proc/[0-9]*/comm | sed s/comm/oom_score_adj/)",
    ]);
    assert.equal(scores.trim().split("\n").length, 2);
    for (const score of scores.trim().split("\n"))
      assert.ok(Number(score) > 900 && Number(score) < 1000, scores);
  }));
