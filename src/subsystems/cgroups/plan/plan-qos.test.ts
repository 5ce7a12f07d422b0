import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  BURSTABLE,
  container,
  demand,
  filesOf,
  GI,
  pod,
  settings,
} from "../../../../test/support/cgroup-pods.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { CgroupOptions } from "../options.ts";
import { readDemand } from "./demand.ts";
import { planQos, planQosStart, reservedLimits, sumTiers } from "./plan-qos.ts";
import { planTree } from "./plan-tree.ts";

test("reservedLimits by the Go kubelet's example, and with more requested than there is", () => {
  const sums = (guaranteedMemoryBytes: number, burstableMemoryBytes: number) => ({
    burstableCpuMilli: 0,
    guaranteedMemoryBytes,
    burstableMemoryBytes,
  });
  for (const [percent, g, b, burstable, bestEffort] of [
    [100, 1 * GI, 0, 7 * GI, 7 * GI],
    [100, 1 * GI, 2 * GI, 7 * GI, 5 * GI],
    [50, 1 * GI, 2 * GI, 8_053_063_680, 6_979_321_856],
    [0, 1 * GI, 2 * GI, 8 * GI, 8 * GI],
    [33, 1001, 101, 8 * GI - 330, 8 * GI - 330 - 33],
    [100, 6 * GI, 6 * GI, 2 * GI, 0],
    [100, 9 * GI, 0, 0, 0],
  ] as const) {
    assert.deepEqual(reservedLimits(8 * GI, percent, sums(g, b)), {
      burstableBytes: burstable,
      bestEffortBytes: bestEffort,
    });
  }
  assert.equal(reservedLimits(0, 100, sums(1, 1)), undefined);
});

test("planQos writes a limit of nothing as a limit, lifts limits when off, skips what it cannot know", () => {
  const files = (options: Partial<CgroupOptions>, pods: readonly IdentifiedPod[]) =>
    planQos(settings(2, options), pods.map(demand))
      .filter(({ kind }) => kind === "tier")
      .map(filesOf);
  const big = pod([container("a", { memory: "9Gi" }, { memory: "9Gi", cpu: "1" })]);
  const [full] = files({ qosReservedMemoryPercent: 100 }, [
    { ...big, status: { qosClass: "Guaranteed" } },
  ]);
  assert.equal(full?.["memory.max"], "1");
  const [burstable, bestEffort] = files({}, [BURSTABLE]);
  assert.deepEqual(burstable, {
    "cpu.weight": "79",
    "memory.max": "max",
    "hugetlb.2MB.max": "4611686018427387904",
    "hugetlb.2MB.rsvd.max": "4611686018427387904",
  });
  assert.equal(bestEffort?.["cpu.weight"], "1");
  const [unknown] = files({ qosReservedMemoryPercent: 100, kubeReserved: { memory: "8Gi" } }, []);
  assert.equal(unknown?.["memory.max"], undefined);
});

test("planQosStart leaves alone what depends on pods", () => {
  const [burstable, bestEffort] = planQosStart(settings(1)).map(filesOf);
  assert.deepEqual(Object.keys(burstable ?? {}), [
    "hugetlb.2MB.limit_in_bytes",
    "hugetlb.2MB.rsvd.limit_in_bytes",
  ]);
  assert.equal(bestEffort?.["cpu.shares"], "2");
});

const amount = fc.integer({ min: 0, max: 4000 });
const anyPods = fc.array(
  fc
    .array(fc.tuple(amount, amount, amount, amount), { minLength: 1, maxLength: 3 })
    .map((list) =>
      pod(
        list.map(([cpu, memory, cpuLimit, memoryLimit], i) =>
          container(
            `c${i}`,
            { cpu: `${cpu}m`, memory: `${memory}Mi` },
            { cpu: `${cpu + cpuLimit}m`, memory: `${memory + memoryLimit}Mi` },
          ),
        ),
      ),
    ),
  { maxLength: 8 },
);

test("the classes' sums are those of their pods, in whatever order", () => {
  fc.assert(
    fc.property(anyPods, (pods) => {
      const demands = pods.map(demand);
      const sums = sumTiers(demands);
      const of = (qos: string) => demands.filter((one) => one.qos === qos);
      const memory = (qos: string) =>
        of(qos).reduce((sum, one) => sum + one.total.requests.memoryBytes, 0);
      assert.equal(sums.guaranteedMemoryBytes, memory("Guaranteed"));
      assert.equal(sums.burstableMemoryBytes, memory("Burstable"));
      assert.equal(
        sums.burstableCpuMilli,
        of("Burstable").reduce((sum, one) => sum + one.total.requests.cpuMilli, 0),
      );
      assert.deepEqual(sumTiers(demands.toReversed()), sums);
    }),
  );
});

test("planTree names each group once, parents first, and only files of the version", () => {
  fc.assert(
    fc.property(anyPods, fc.constantFrom(1, 2), (pods, version) => {
      const demands = pods.map((one, i) => readDemand(one, `uid-${i}`));
      const plans = planTree(
        settings(version as 1 | 2, { qosReservedMemoryPercent: 100 }),
        demands,
      );
      const paths = plans.map((plan) => plan.path);
      assert.equal(new Set(paths).size, paths.length);
      assert.equal(plans.length, 3 + pods.length);
      for (const [index, path] of paths.entries()) {
        const parent = path.slice(0, path.lastIndexOf("/"));
        assert.ok(parent === "" || paths.slice(0, index).includes(parent), `${path} too early`);
      }
      const foreign =
        version === 1 ? /\.weight|\.max$|memory\.(min|low|high)/ : /shares|cfs|_in_bytes/;
      for (const { writes } of plans) {
        for (const { file, value } of writes) {
          assert.ok(file === "pids.max" || !foreign.test(file), file);
          assert.match(value, /^(max|-1|\d+)( \d+)?$/);
        }
      }
    }),
  );
});
