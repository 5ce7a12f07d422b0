// What the node's status says of the machine.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FAKE_FACTS } from "../../../test/sim/fake-host.ts";
import type { WallMs } from "../../kit/clock.ts";
import { nodeCapacity } from "../capacity.ts";
import {
  comparableStatus,
  deriveNodeStatus,
  type NodeIdentity,
  type NodeSnapshot,
} from "./derive-status.ts";

const IDENTITY: NodeIdentity = {
  nodeName: "node-1",
  facts: FAKE_FACTS,
  kubeletVersion: "v1.37.2+nodelet.0.1.0",
  runtimeVersion: "containerd://2.1.4",
  port: 10250,
  addressing: { kind: "machine" },
};

function snapshotOf(storageBytes: number, declaredFeatures?: readonly string[]): NodeSnapshot {
  return {
    amounts: nodeCapacity(FAKE_FACTS, storageBytes, {
      maxPods: 110,
      podsPerCore: 0,
      systemReserved: {},
      kubeReserved: {},
      evictionHard: { "nodefs.available": "10%" },
    }),
    ips: [],
    images: [],
    runtimeHandlers: [],
    features: undefined,
    declaredFeatures,
    problems: [],
    warnings: [],
    pressure: { memory: false, disk: false, pid: false },
    volumesInUse: [],
    now: Date.UTC(2026, 0, 1) as WallMs,
  };
}

/** Bytes of the node's file system, and how capacity and allocatable (a tenth less) show them. */
const STORAGE: readonly (readonly [number, string, string])[] = [
  [62_725_623_808, "62725623808", "56453061428"],
  [64_000_000_000, "64G", "57600M"],
  [64_000_512_000, "64000512k", "57600460800"],
  [2 ** 40, "1099511627776", "989560464999"],
];
for (const [bytes, capacity, allocatable] of STORAGE)
  test(`deriveNodeStatus: ephemeral storage of ${bytes} bytes is ${capacity}, in decimal form`, () => {
    const status = deriveNodeStatus(undefined, IDENTITY, snapshotOf(bytes));
    assert.equal(status.capacity?.["ephemeral-storage"], capacity);
    assert.equal(status.allocatable?.["ephemeral-storage"], allocatable);
  });

test("deriveNodeStatus shows whether the agent runs in a user namespace, unless it is not to say so", () => {
  for (const runningInUserNamespace of [true, false, undefined]) {
    const identity = {
      ...IDENTITY,
      ...(runningInUserNamespace === undefined ? {} : { runningInUserNamespace }),
    };
    const { nodeInfo } = deriveNodeStatus(undefined, identity, snapshotOf(1000));
    assert.equal(nodeInfo?.runningInUserNamespace, runningInUserNamespace);
    assert.equal(
      nodeInfo !== undefined && "runningInUserNamespace" in nodeInfo,
      runningInUserNamespace !== undefined,
    );
  }
});

test("comparableStatus: what an older API server does not give back is no change", () => {
  const identity = { ...IDENTITY, runningInUserNamespace: false };
  const sent = deriveNodeStatus(undefined, identity, snapshotOf(1000, ["A"]));
  const { declaredFeatures: _, ...rest } = sent;
  assert.ok(rest.nodeInfo);
  const { runningInUserNamespace: __, ...nodeInfo } = rest.nodeInfo;
  const kept = { ...rest, nodeInfo };
  assert.deepEqual(comparableStatus(sent), comparableStatus(kept));
  const other = { ...kept, nodeInfo: { ...nodeInfo, kernelVersion: "6.2.0" } };
  assert.notDeepEqual(comparableStatus(sent), comparableStatus(other));
});
