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
