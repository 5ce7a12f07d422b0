import assert from "node:assert/strict";
import { test } from "node:test";
import { BURSTABLE, demand, GUARANTEED, pod, settings } from "../../../test/support/cgroup-pods.ts";
import { planNode } from "./plan/plan-node.ts";
import { planPodGroup } from "./plan/plan-pod.ts";
import { planQos } from "./plan/plan-qos.ts";
import type { CgroupPlan } from "./writes.ts";

const foundOf = ({ writes }: CgroupPlan) =>
  writes.flatMap(({ file, value, asFound }) => (asFound ? [`${file}=${value}`] : []));

test("plans say what they expect of limits that nobody sets", () => {
  const v1 = settings(1);
  const cpu = ["cpu.cfs_period_us=100000", "cpu.cfs_quota_us=-1"];
  assert.deepEqual(foundOf(planNode(v1)), cpu);
  for (const plan of planQos(v1, [])) assert.deepEqual(foundOf(plan), cpu);
  const bestEffort = planPodGroup(v1, demand(pod([{ name: "a" }])));
  assert.deepEqual(foundOf(bestEffort), [...cpu, "memory.limit_in_bytes=-1", "pids.max=max"]);
  assert.deepEqual(foundOf(planPodGroup(v1, demand(GUARANTEED))), ["pids.max=max"]);
  const v2 = settings(2, { podPidsLimit: 5 });
  assert.deepEqual(foundOf(planNode(v2)), ["cpu.max=max 100000"]);
  assert.deepEqual(foundOf(planPodGroup(v2, demand(BURSTABLE))), []);
});
