import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { planPreemption } from "./preemption.ts";
import type { Shortage } from "./shortages.ts";

interface Shape {
  readonly cpu?: string;
  readonly memory?: string;
  readonly limits?: boolean;
  readonly priority?: number;
}

function pod(name: string, { cpu, memory, limits = false, priority }: Shape = {}): Pod {
  const amounts = { ...(cpu ? { cpu } : {}), ...(memory ? { memory } : {}) };
  const resources = { requests: amounts, ...(limits ? { limits: amounts } : {}) };
  return {
    metadata: { name, uid: name },
    spec: {
      containers: [{ name: "c", image: "i", resources }],
      ...(priority === undefined ? {} : { priority }),
    },
  };
}

const CRITICAL = pod("critical", { priority: 2_000_000_000 });
const BEST_EFFORT = pod("best-effort");
const BURSTABLE = pod("burstable", { cpu: "100m", memory: "100" });
const BURSTABLE_LARGE = pod("burstable-large", { cpu: "300m", memory: "300" });
const GUARANTEED = pod("guaranteed", { cpu: "100m", memory: "100", limits: true });
const GUARANTEED_LARGE = pod("guaranteed-large", { cpu: "500m", memory: "500", limits: true });
const OTHER_CRITICAL = pod("other-critical", { cpu: "4", memory: "4000", priority: 2_000_000_000 });
const MORE_CRITICAL = pod("more-critical", { priority: 2_000_001_000 });

const cpu = (amount: number): Shortage => ({ name: "cpu", amount });
const memory = (amount: number): Shortage => ({ name: "memory", amount });
const pods = (amount: number): Shortage => ({ name: "pods", amount });

const CASES: readonly {
  readonly name: string;
  readonly candidate?: Pod;
  readonly running: readonly Pod[];
  readonly missing: readonly Shortage[];
  readonly victims: readonly string[] | "impossible";
}[] = [
  {
    name: "a place is taken from the worst class",
    running: [GUARANTEED, BURSTABLE, BEST_EFFORT],
    missing: [pods(1)],
    victims: ["best-effort"],
  },
  {
    name: "what best effort pods cannot give comes from burstable ones",
    running: [GUARANTEED, BURSTABLE, BEST_EFFORT],
    missing: [cpu(50)],
    victims: ["burstable"],
  },
  {
    name: "guaranteed pods only for what the others do not have",
    running: [GUARANTEED_LARGE, GUARANTEED, BURSTABLE, BEST_EFFORT],
    missing: [cpu(150)],
    victims: ["burstable", "guaranteed"],
  },
  {
    name: "the smallest pod that is enough",
    running: [BURSTABLE_LARGE, BURSTABLE],
    missing: [cpu(80), memory(90)],
    victims: ["burstable"],
  },
  {
    name: "one that is enough before two that are",
    running: [BURSTABLE, BURSTABLE_LARGE],
    missing: [cpu(250)],
    victims: ["burstable-large"],
  },
  {
    name: "several when one is not enough",
    running: [BURSTABLE, BURSTABLE_LARGE],
    missing: [memory(350)],
    victims: ["burstable-large", "burstable"],
  },
  {
    name: "nobody when all together are not enough",
    running: [BURSTABLE, BEST_EFFORT],
    missing: [cpu(200)],
    victims: "impossible",
  },
  {
    name: "no critical pod of the same priority",
    running: [OTHER_CRITICAL],
    missing: [cpu(10)],
    victims: "impossible",
  },
  {
    name: "a critical pod of lower priority",
    candidate: MORE_CRITICAL,
    running: [OTHER_CRITICAL],
    missing: [cpu(10)],
    victims: ["other-critical"],
  },
];

for (const { name, candidate = CRITICAL, running, missing, victims } of CASES)
  test(`planPreemption: ${name}`, () => {
    const plan = planPreemption(candidate, running, missing);
    const names =
      plan.kind === "evict" ? plan.victims.map(({ metadata }) => metadata?.name) : plan.kind;
    assert.deepEqual(names, victims);
  });
