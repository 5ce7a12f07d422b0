import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { judge, type NodeInfo } from "./rules.ts";

const NOTHING = { cpuMilli: 0, memoryBytes: 0, ephemeralStorageBytes: 0 };
const NODE_INFO: NodeInfo = {
  allocatable: { ...NOTHING, hugepagesBytes: new Map(), extended: new Map() },
  pods: 110,
  runtimeClasses: false,
  allowedUnsafeSysctls: [],
};

function podFor(label: string | undefined, os: string | undefined): Pod {
  const labels = label === undefined ? {} : { "kubernetes.io/os": label };
  return {
    metadata: { name: "p", namespace: "ns", uid: "u", labels },
    spec: { containers: [{ name: "c", image: "i" }], ...(os ? { os: { name: os } } : {}) },
  };
}

const LABEL = "PodOSSelectorNodeLabelDoesNotMatch";
const FIELD = "PodOSNotSupported";

test("judge: the label and the field of the operating system are compared, the label first", () => {
  const rows: readonly (readonly [string | undefined, string | undefined, string | undefined])[] = [
    [undefined, undefined, undefined],
    ["linux", "linux", undefined],
    ["windows", undefined, LABEL],
    ["", undefined, LABEL],
    ["Linux", "linux", LABEL],
    ["windows", "windows", LABEL],
    ["linux", "windows", FIELD],
    [undefined, "windows", FIELD],
  ];
  for (const [label, os, reason] of rows) {
    const refusal = judge({ candidate: podFor(label, os), others: [], nodeInfo: NODE_INFO });
    assert.equal(refusal?.reason, reason, `label ${label}, field ${os}`);
  }
  assert.equal(
    judge({ candidate: podFor("windows", undefined), others: [], nodeInfo: NODE_INFO })?.message,
    "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
  );
});

test("judge: a size of huge pages that the node does not have is one of which it has none", () => {
  const rows = [
    ["hugepages-2Mi", "64Mi", undefined],
    ["hugepages-2Mi", "128Mi", ["OutOfhugepages-2Mi", "134217728", "67108864"]],
    ["hugepages-1Gi", "1Gi", ["OutOfhugepages-1Gi", "1073741824", "0"]],
    ["hugepages-1Gi", "0", undefined],
    ["example.com/of-another-component", "1", undefined],
  ] as const;
  const nodeInfo: NodeInfo = {
    ...NODE_INFO,
    allocatable: {
      ...NODE_INFO.allocatable,
      hugepagesBytes: new Map([["hugepages-2Mi", 2 ** 26]]),
    },
  };
  for (const [name, amount, expected] of rows)
    for (const isOfPod of [false, true]) {
      const resources = { requests: { [name]: amount } };
      const pod = podFor(undefined, undefined);
      const spec = isOfPod
        ? { containers: [{ name: "c", image: "i" }], resources }
        : { containers: [{ name: "c", image: "i", resources }] };
      if (isOfPod && !name.startsWith("hugepages-")) continue;
      const found = judge({ candidate: { ...pod, spec }, others: [], nodeInfo });
      const [reason, requested, capacity] = expected ?? [];
      assert.equal(found?.reason, reason, `${name} ${amount}`);
      if (reason !== undefined)
        assert.equal(
          found?.message,
          `Node didn't have enough resource: ${name}, requested: ${requested}, used: 0, capacity: ${capacity}`,
        );
    }
});
