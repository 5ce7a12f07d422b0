import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  NodeSelectorRequirement,
  Pod,
  PodSpec,
  Toleration,
} from "../../api/generated/types.ts";
import { matchesNode, type NodeAttributes, untoleratedTaint } from "./node-match.ts";

const NODE: NodeAttributes = {
  name: "node-1",
  labels: { zone: "a", cores: "8" },
  taints: [
    { key: "soft", effect: "NoSchedule" },
    { key: "hard", value: "yes", effect: "NoExecute" },
  ],
};

const podOf = (spec: Partial<PodSpec>): Pod => ({ spec: { containers: [], ...spec } });
const wanting = (...matchExpressions: readonly NodeSelectorRequirement[]): Pod =>
  podOf({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions }],
        },
      },
    },
  });

const PODS: readonly (readonly [name: string, pod: Pod, matches: boolean])[] = [
  ["that requires nothing", podOf({}), true],
  ["with the node's label", podOf({ nodeSelector: { zone: "a" } }), true],
  ["with another label", podOf({ nodeSelector: { zone: "b" } }), false],
  ["with a label more", podOf({ nodeSelector: { zone: "a", disk: "ssd" } }), false],
  ["In", wanting({ key: "zone", operator: "In", values: ["a", "b"] }), true],
  ["NotIn", wanting({ key: "zone", operator: "NotIn", values: ["a"] }), false],
  ["Exists", wanting({ key: "zone", operator: "Exists" }), true],
  ["DoesNotExist", wanting({ key: "zone", operator: "DoesNotExist" }), false],
  ["Gt", wanting({ key: "cores", operator: "Gt", values: ["4"] }), true],
  ["Lt", wanting({ key: "cores", operator: "Lt", values: ["4"] }), false],
  ["an operator nobody knows", wanting({ key: "zone", operator: "Like", values: ["a"] }), false],
  ["a term without conditions", wanting(), false],
  [
    "another node by name",
    podOf({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchFields: [{ key: "metadata.name", operator: "In", values: ["node-2"] }] },
            ],
          },
        },
      },
    }),
    false,
  ],
];

for (const [name, pod, matches] of PODS)
  test(`matchesNode: a pod ${name}`, () => assert.equal(matchesNode(pod, NODE), matches));

const TOLERATIONS: readonly (readonly [
  name: string,
  tolerations: readonly Toleration[],
  taint?: string,
])[] = [
  ["none", [], "hard"],
  ["all", [{ operator: "Exists" }]],
  ["the key", [{ key: "hard", operator: "Exists" }]],
  ["the value", [{ key: "hard", value: "yes" }]],
  ["another value", [{ key: "hard", value: "no" }], "hard"],
  ["another effect", [{ key: "hard", operator: "Exists", effect: "NoSchedule" }], "hard"],
];

for (const [name, tolerations, taint] of TOLERATIONS)
  test(`untoleratedTaint: a pod that tolerates ${name}`, () => {
    assert.equal(untoleratedTaint(podOf({ tolerations }), NODE)?.key, taint);
  });

test("untoleratedTaint: a static pod puts up with everything", () => {
  const pod = {
    ...podOf({}),
    metadata: { annotations: { "kubernetes.io/config.source": "file" } },
  };
  assert.equal(untoleratedTaint(pod, NODE), undefined);
});
