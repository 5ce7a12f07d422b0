import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "../../api/generated/types.ts";
import { type Candidate, choosePlacement } from "./choose-node.ts";

const node = (more: Partial<Candidate["node"]> = {}): Candidate["node"] => ({
  metadata: { name: "n1", labels: { disk: "ssd" } },
  status: {
    allocatable: {
      cpu: "1",
      memory: "1Gi",
      pods: "2",
      "ephemeral-storage": "10Gi",
      "hugepages-2Mi": "4Mi",
      "example.test/gpu": "1",
    },
  },
  ...more,
});
const pod = (spec: Partial<PodSpec> = {}, requests: Record<string, string> = {}): Pod => ({
  spec: { containers: [{ name: "a", image: "b", resources: { requests } }], ...spec },
});
const LARGE = pod({}, { "ephemeral-storage": "4Gi" });
const taint = { key: "own", value: "x", effect: "NoSchedule" };

const VECTORS: readonly (readonly [string, Pod, Candidate["node"], readonly Pod[], string])[] = [
  ["fits", pod({}, { cpu: "1" }), node(), [], "n1"],
  ["too much", pod({}, { cpu: "600m" }), node(), [pod({}, { cpu: "500m" })], "1 Insufficient cpu"],
  [
    "ended pods count for nothing",
    pod({}, { cpu: "600m" }),
    node(),
    [{ ...pod({}, { cpu: "500m" }), status: { phase: "Failed" } }],
    "n1",
  ],
  ["memory", pod({}, { memory: "2Gi" }), node(), [], "1 Insufficient memory"],
  ["local storage", pod({}, { "ephemeral-storage": "6Gi" }), node(), [LARGE], "n1"],
  [
    "local storage that others request",
    pod({}, { "ephemeral-storage": "7Gi" }),
    node(),
    [LARGE],
    "1 Insufficient ephemeral-storage",
  ],
  [
    "local storage of a node that does not account for it",
    pod({}, { "ephemeral-storage": "1" }),
    node({ status: { allocatable: { cpu: "1" } } }),
    [],
    "1 Insufficient ephemeral-storage",
  ],
  ["huge pages", pod({}, { "hugepages-2Mi": "6Mi" }), node(), [], "1 Insufficient hugepages-2Mi"],
  [
    "devices",
    pod({}, { "example.test/gpu": "1" }),
    node(),
    [pod({}, { "example.test/gpu": "1" })],
    "1 Insufficient example.test/gpu",
  ],
  ["too many", pod(), node(), [pod(), pod()], "1 Too many pods"],
  ["selected", pod({ nodeSelector: { disk: "ssd" } }), node(), [], "n1"],
  [
    "not selected",
    pod({ nodeSelector: { disk: "tape" } }),
    node(),
    [],
    "1 node(s) didn't match Pod's node affinity/selector",
  ],
  [
    "tainted",
    pod(),
    node({ spec: { taints: [taint] } }),
    [],
    "1 node(s) had untolerated taint {own: x}",
  ],
  [
    "tolerated",
    pod({ tolerations: [{ key: "own", operator: "Exists" }] }),
    node({ spec: { taints: [taint] } }),
    [],
    "n1",
  ],
  [
    "tolerated by value",
    pod({ tolerations: [{ key: "own", value: "x", effect: "NoSchedule" }] }),
    node({ spec: { taints: [taint] } }),
    [],
    "n1",
  ],
  [
    "preferred elsewhere",
    pod(),
    node({ spec: { taints: [{ ...taint, effect: "PreferNoSchedule" }] } }),
    [],
    "n1",
  ],
  ["cordoned", pod(), node({ spec: { unschedulable: true } }), [], "1 node(s) were unschedulable"],
  [
    "tolerates everything",
    pod({ tolerations: [{ operator: "Exists" }] }),
    node({ spec: { unschedulable: true, taints: [taint] } }),
    [],
    "n1",
  ],
];

test("`choosePlacement` finds the node, or the reason against it", () => {
  for (const [what, wanted, on, pods, expected] of VECTORS) {
    const found = choosePlacement(wanted, [{ node: on, pods }]);
    const reported = found.kind === "node" ? found.name : found.why;
    assert.equal(
      reported,
      expected === "n1" ? expected : `0/1 nodes are available: ${expected}.`,
      what,
    );
  }
  const nowhere = choosePlacement(pod(), []);
  assert.deepEqual(nowhere, { kind: "nowhere", why: "no nodes available to schedule pods" });
});

type Port = NonNullable<PodSpec["containers"][number]["ports"]>[number];

const withPort = (name: string, port: Port, phase = "Running"): Pod => ({
  metadata: { name, namespace: "default" },
  spec: { containers: [{ name: "a", image: "b", ports: [port] }] },
  status: { phase },
});
const HTTP: Port = { containerPort: 80, hostPort: 8080 };

for (const [what, port, other, expected] of [
  ["the same port", HTTP, withPort("web", HTTP), "(8080/TCP is held by pod default/web)"],
  ["another port", { ...HTTP, hostPort: 8081 }, withPort("web", HTTP), undefined],
  ["another protocol", { ...HTTP, protocol: "UDP" }, withPort("web", HTTP), undefined],
  ["no port of the node", { containerPort: 8080 }, withPort("web", HTTP), undefined],
  ["a pod that has ended", HTTP, withPort("web", HTTP, "Succeeded"), undefined],
  [
    "two addresses",
    { ...HTTP, hostIP: "127.0.0.1" },
    withPort("web", { ...HTTP, hostIP: "127.0.0.2" }),
    undefined,
  ],
  [
    "one address and all",
    { ...HTTP, hostIP: "127.0.0.1" },
    withPort("web", { ...HTTP, hostIP: "0.0.0.0" }),
    "(8080/TCP is held by pod default/web)",
  ],
] as const)
  test(`\`choosePlacement\` with ports of the node: ${what}`, () => {
    const found = choosePlacement(withPort("new", port, "Pending"), [
      { node: node(), pods: [other] },
    ]);
    const why = found.kind === "node" ? undefined : found.why;
    const text =
      "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports";
    assert.equal(why, expected && `${text} ${expected}.`);
  });
