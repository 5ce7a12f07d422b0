import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { Hints } from "../../src/api/ports/hint-provider.ts";
import type { TopologySettings } from "../../src/config/topology.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { placeContainers } from "../../src/pipeline/admission/topology/place.ts";
import { Topology } from "../../src/pipeline/admission/topology/topology.ts";
import {
  DeviceDraft,
  type GrantPlan,
  type PlanInputs,
  planGrants,
} from "../../src/subsystems/devices/allocate.ts";
import {
  GPU,
  held,
  inputs,
  ledgerOf,
  listed,
  podOf,
  shown,
} from "../../src/subsystems/devices/allocate.vectors.ts";
import { EMPTY_INVENTORY } from "../../src/subsystems/devices/inventory.ts";
import { EMPTY_LEDGER } from "../../src/subsystems/devices/ledger/ledger.ts";
import { SimClock } from "../sim/sim-clock.ts";

/** What the pod gets with the policy: its devices, or the refusal. */
async function placed(
  pod: Pod,
  settings: TopologySettings,
  more: Partial<PlanInputs>,
): Promise<GrantPlan | string> {
  const given = inputs(pod, { inventory: listed(EMPTY_INVENTORY, GPU, PLACED), ...more });
  const all = { ...given, numaNodes: settings.nodes };
  let plan: GrantPlan | undefined;
  const devices = {
    draft: () => new DeviceDraft(all),
    grant: async (_: IdentifiedPod, placement: PlanInputs["placement"]) => {
      plan = planGrants({ ...all, placement });
      return { kind: "granted" } as const;
    },
  };
  const metrics = new MetricsRegistry();
  const topology = new Topology(settings, {
    providers: [devices],
    metrics,
    clock: new SimClock(),
  });
  const grant = await topology.grant(pod as IdentifiedPod);
  if (grant.kind === "refused") return `${grant.reason}: ${grant.message}`;
  assert.ok(plan);
  return plan;
}

const PLACED = "a@0 b@0 c@1 d@1 e f";
const TOPOLOGY_ROWS: readonly (readonly [
  policy: string,
  scope: "container" | "pod",
  pod: string,
  taken: string,
  expect: string,
])[] = [
  ["best-effort", "container", "c=2", "a", "c=cd"],
  ["best-effort", "container", "c=3", "", "c=abc"],
  ["best-effort", "container", "c=2", "ac", "c=bd"],
  [
    "restricted",
    "container",
    "c=2",
    "ac",
    "TopologyAffinityError: Resources cannot be allocated with Topology locality",
  ],
  ["single-numa-node", "container", "c=2", "a", "c=cd"],
  [
    "single-numa-node",
    "container",
    "c=3",
    "",
    "TopologyAffinityError: Resources cannot be allocated with Topology locality",
  ],
  ["single-numa-node", "container", "c=1 d=1", "ad", "c=b d=c"],
  ["single-numa-node", "pod", "c=1 d=1", "a", "c=c d=d"],
  [
    "single-numa-node",
    "pod",
    "c=1 d=1",
    "ac",
    "TopologyAffinityError: Resources cannot be allocated with Topology locality",
  ],
  ["single-numa-node", "pod", "i=2;c=1 d=1", "a", "i=cd c=c d=d"],
  ["none", "container", "c=2", "a", "c=bc"],
];

for (const [policy, scope, pod, taken, expect] of TOPOLOGY_ROWS) {
  test(`devices placed ${policy} by ${scope}: ${pod} without "${taken}"`, async () => {
    const plan = await placed(
      podOf(pod),
      { policy: policy as "none", scope, nodes: [0, 1] },
      { ledger: taken === "" ? EMPTY_LEDGER : ledgerOf(held("x", taken, "other")) },
    );
    assert.equal(typeof plan === "string" ? plan : shown(plan), expect);
  });
}

test("the plugin is asked within the aligned devices when they suffice, else about all", async () => {
  const ask = async (pod: string) => {
    const settings = { policy: "best-effort", scope: "container", nodes: [0, 1] } as const;
    const plan = await placed(podOf(pod), settings, {});
    return typeof plan !== "string" && plan.kind === "plan" ? plan.steps[0]?.question : undefined;
  };
  assert.deepEqual(await ask("c=1"), { available: ["a", "b"], mustInclude: [], amount: 1 });
  assert.equal(await ask("c=2"), undefined);
  assert.deepEqual(await ask("c=5"), {
    available: ["a", "b", "c", "d", "e", "f"],
    mustInclude: ["a", "b", "c", "d"],
    amount: 5,
  });
});

/** A second provider, as a CPU manager would be: exclusive CPUs, some on each node, one resource of the pod. */
class FakeCpus {
  readonly containers: ReadonlySet<string>;
  readonly taken: string[] = [];
  readonly #requests: Readonly<Record<string, number>>;
  readonly #free: number[];

  constructor(requests: Readonly<Record<string, number>>, free: readonly number[]) {
    this.#requests = requests;
    this.#free = [...free];
    this.containers = new Set(Object.keys(requests));
  }

  hints(container: string): readonly Hints[] {
    return this.#hintsOf(this.#requests[container] ?? 0);
  }

  podHints(): readonly Hints[] {
    return this.#hintsOf(Object.values(this.#requests).reduce((sum, amount) => sum + amount, 0));
  }

  place(container: string, mask: number | undefined): "refused" | undefined {
    const amount = this.#requests[container] ?? 0;
    if (amount === 0) return undefined;
    const node = this.#free.findIndex((n, i) => n >= amount && ((mask ?? 3) & (1 << i)) !== 0);
    if (node < 0) return "refused";
    this.#free[node] = (this.#free[node] ?? 0) - amount;
    this.taken.push(`${container}@${node}`);
    return undefined;
  }

  #hintsOf(amount: number): readonly Hints[] {
    if (amount === 0) return [];
    const single = this.#free.flatMap((n, i) =>
      n >= amount ? [{ mask: 1 << i, preferred: true }] : [],
    );
    return [[...single, { mask: 3, preferred: false }]];
  }
}

const TWO_PROVIDERS: readonly (readonly [
  name: string,
  scope: "container" | "pod",
  cpus: Readonly<Record<string, number>>,
  free: readonly number[],
  outcome: string,
  taken: readonly string[],
])[] = [
  ["CPUs are free on node 1 only: devices follow", "container", { c: 2 }, [0, 4], "c=2", ["c@1"]],
  ["CPUs are free on both nodes: the lower", "container", { c: 2 }, [4, 4], "c=1", ["c@0"]],
  ["CPUs suffice on no node: refused", "container", { c: 2 }, [1, 1], "misaligned", []],
  [
    "what the first container takes is not hinted at for the second",
    "container",
    { c: 3, d: 3 },
    [4, 4],
    "c=1 d=2",
    ["c@0", "d@1"],
  ],
  ["as a pod both containers fit on no node", "pod", { c: 3, d: 3 }, [4, 4], "misaligned", []],
  ["as a pod they fit on one", "pod", { c: 1, d: 3 }, [0, 4], "c=2 d=2", ["c@1", "d@1"]],
];

for (const [name, scope, requests, free, expect, taken] of TWO_PROVIDERS) {
  test(`hints of devices and CPUs are merged by ${scope}: ${name}`, () => {
    const given = inputs(podOf("c=1 d=1"), {
      inventory: listed(EMPTY_INVENTORY, GPU, PLACED),
      numaNodes: [0, 1],
    });
    const cpus = new FakeCpus(requests, free);
    const containers = Object.keys(requests);
    const { outcome, placement } = placeContainers(containers, [new DeviceDraft(given), cpus], {
      policy: "single-numa-node",
      scope,
      nodes: [0, 1],
    });
    const masks = [...placement].map(([container, mask]) => `${container}=${mask}`).join(" ");
    assert.equal(outcome === "placed" ? masks : outcome, expect);
    assert.deepEqual(cpus.taken, taken);
  });
}

const UNMET: readonly (readonly [name: string, more: Partial<PlanInputs>, outcome: string])[] = [
  ["devices are too few for good", {}, "refused"],
  ["the plugin may still come", { inventory: EMPTY_INVENTORY, expects: () => true }, "later"],
];

for (const [name, more, expect] of UNMET) {
  test(`what one provider cannot meet ends the placing before the next takes anything: ${name}`, () => {
    const inventory = listed(EMPTY_INVENTORY, GPU, PLACED);
    const given = inputs(podOf("c=9"), { inventory, numaNodes: [0, 1], ...more });
    const cpus = new FakeCpus({ c: 1 }, [4, 4]);
    const settings = { policy: "best-effort", scope: "container", nodes: [0, 1] } as const;
    const { outcome } = placeContainers(["c"], [new DeviceDraft(given), cpus], settings);
    assert.equal(outcome, expect);
    assert.deepEqual(cpus.taken, []);
  });
}

test("an admission is counted once, however often it is tried, and the start of a container is none", async () => {
  const settings = { policy: "single-numa-node", scope: "container", nodes: [0, 1] } as const;
  const inventory = listed(EMPTY_INVENTORY, GPU, PLACED);
  const missing = { inventory: EMPTY_INVENTORY, expects: () => true };
  let given = inputs(podOf("c=1"), { numaNodes: settings.nodes, ...missing });
  const metrics = new MetricsRegistry();
  const devices = {
    draft: () => new DeviceDraft(given),
    grant: async () => ({ kind: "granted" }) as const,
  };
  const topology = new Topology(settings, {
    providers: [devices],
    metrics,
    clock: new SimClock(),
  });
  const pod = podOf("c=1") as IdentifiedPod;
  const counted = () =>
    [
      ...metrics
        .expose()
        .matchAll(
          /^kubelet_(topology_manager_admission_requests_total|container_aligned_compute_resources_count\{boundary="numa_node",scope="container"\}) (\d+)$/gm,
        ),
    ].map(([, , count]) => count);
  await topology.grant(pod);
  await topology.grant(pod);
  assert.deepEqual(counted(), ["0", "1"]);
  given = { ...given, inventory };
  await topology.grant(pod);
  topology.placeAgain(pod, "c");
  assert.deepEqual(counted(), ["1", "1"]);
});
