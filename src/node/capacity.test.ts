import assert from "node:assert/strict";
import { test } from "node:test";
import { reservationProblem } from "./capacity.ts";

const FACTS = { cpuCount: 2, memoryBytes: 4 * 2 ** 30, pidMax: 32_768 };
const STORAGE_BYTES = 100 * 2 ** 30;
const NONE = { maxPods: 110, podsPerCore: 0, systemReserved: {}, kubeReserved: {} };

type Reserved = Readonly<Record<"systemReserved" | "kubeReserved", Record<string, string>>>;

/** Reservations, hard thresholds, and the problem with the two together. */
const RESERVATIONS: readonly (readonly [
  Partial<Reserved>,
  Readonly<Record<string, string>>,
  string,
])[] = [
  [{}, { "memory.available": "100Mi", "nodefs.available": "10%" }, ""],
  [
    { systemReserved: { cpu: "1", memory: "2Gi" }, kubeReserved: { cpu: "1", memory: "2Gi" } },
    {},
    "",
  ],
  [
    { systemReserved: { cpu: "1500m" }, kubeReserved: { cpu: "501m" } },
    {},
    'Resource "cpu" has a reservation of 2001m but capacity of 2. Expected capacity >= reservation.',
  ],
  [
    { systemReserved: { memory: "2Gi" }, kubeReserved: { memory: "2Gi" } },
    { "memory.available": "1Gi" },
    'Resource "memory" has a reservation of 5Gi but capacity of 4Gi. Expected capacity >= reservation.',
  ],
  [
    { kubeReserved: { "ephemeral-storage": "95Gi" } },
    { "nodefs.available": "10%" },
    'Resource "ephemeral-storage" has a reservation of 105Gi but capacity of 100Gi. Expected capacity >= reservation.',
  ],
  [
    { kubeReserved: { pid: "40k" } },
    {},
    'Resource "pid" has a reservation of 40k but capacity of 32768. Expected capacity >= reservation.',
  ],
];
for (const [reserved, evictionHard, expected] of RESERVATIONS)
  test(`reservationProblem: ${expected || JSON.stringify(reserved)}`, () => {
    const options = { ...NONE, ...reserved, evictionHard };
    const problem = reservationProblem(FACTS, STORAGE_BYTES, options);
    const words = expected && `invalid Node Allocatable configuration. ${expected}`;
    assert.equal(problem ?? "", words);
  });
