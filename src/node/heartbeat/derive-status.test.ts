import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeStatus } from "../../api/generated/types.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { HostFacts } from "../../outside/host/host.ts";
import { nodeCapacity, withDevices } from "../capacity.ts";
import {
  comparableStatus,
  conditionChanges,
  deriveNodeStatus,
  listedImages,
  type NodeIdentity,
  type NodeSnapshot,
  withoutExtended,
} from "./derive-status.ts";
import {
  initialNode,
  ownMetadataPatch,
  type RegistrationOptions,
  reconcilePatch,
} from "./initial-node.ts";

const FACTS: HostFacts = {
  hostname: "machine-1",
  cpuCount: 2,
  physicalCores: 2,
  cpuSockets: 1,
  memoryBytes: 8_341_180_416,
  swapBytes: 0,
  kernelVersion: "6.1.0",
  osImage: "Debian GNU/Linux 12 (bookworm)",
  architecture: "x64",
  bootId: "boot-1",
  machineId: "machine",
  systemUuid: "system",
  pidMax: 32768,
  pageBytes: 4096,
  hugepages: [{ sizeBytes: 2 * 1024 * 1024, pages: 0 }],
  thermalThrottleFolders: [],
  inUserNamespace: false,
};

const IDENTITY: NodeIdentity = {
  nodeName: "node-1",
  facts: FACTS,
  kubeletVersion: "v1.36.2+nodelet.0.1.0",
  runtimeVersion: "containerd://1.6.20",
  port: 10250,
  addressing: { kind: "machine" },
};

const SNAPSHOT: NodeSnapshot = {
  amounts: nodeCapacity(FACTS, 62_725_623_808, {
    maxPods: 110,
    podsPerCore: 0,
    systemReserved: {},
    kubeReserved: { cpu: "100m" },
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%" },
  }),
  ips: ["192.0.2.7", "2001:db8::7"],
  images: [],
  runtimeHandlers: [],
  features: undefined,
  declaredFeatures: undefined,
  problems: [],
  warnings: [],
  pressure: { memory: false, disk: false, pid: false },
  volumesInUse: [],
  now: Date.UTC(2026, 0, 1) as WallMs,
};

const later = (change: Partial<NodeSnapshot> = {}): NodeSnapshot => ({
  ...SNAPSHOT,
  now: (SNAPSHOT.now + 10_000) as WallMs,
  ...change,
});

const conditionsOf = (status: NodeStatus) =>
  Object.fromEntries(
    (status.conditions ?? []).map(({ type, status: value, reason, message }) => [
      type,
      `${value} ${reason}: ${message}`,
    ]),
  );

test("deriveNodeStatus describes the machine in Kubernetes' words", () => {
  const status = deriveNodeStatus(undefined, IDENTITY, SNAPSHOT);
  assert.deepEqual(status.capacity, {
    cpu: "2",
    memory: "8145684Ki",
    "ephemeral-storage": "62725623808",
    "hugepages-2Mi": "0",
    pods: "110",
  });
  assert.deepEqual(status.allocatable, {
    cpu: "1900m",
    memory: "8043284Ki",
    "ephemeral-storage": "56453061428",
    "hugepages-2Mi": "0",
    pods: "110",
  });
  assert.deepEqual(status.addresses, [
    { type: "InternalIP", address: "192.0.2.7" },
    { type: "InternalIP", address: "2001:db8::7" },
    { type: "Hostname", address: "machine-1" },
  ]);
  assert.deepEqual(status.daemonEndpoints, { kubeletEndpoint: { Port: 10250 } });
  assert.equal(status.nodeInfo?.architecture, "amd64");
  assert.deepEqual(conditionsOf(status), {
    MemoryPressure: "False KubeletHasSufficientMemory: kubelet has sufficient memory available",
    DiskPressure: "False KubeletHasNoDiskPressure: kubelet has no disk pressure",
    PIDPressure: "False KubeletHasSufficientPID: kubelet has sufficient PID available",
    Ready: "True KubeletReady: kubelet is posting ready status",
  });
});

test("deriveNodeStatus says what is wrong with the agent while the node is ready, and not beside why it is not", () => {
  const ready = (change: Partial<NodeSnapshot>) =>
    conditionsOf(deriveNodeStatus(undefined, IDENTITY, later(change)))["Ready"];
  const posting = "True KubeletReady: kubelet is posting ready status";
  assert.equal(ready({ warnings: ["lease: old"] }), `${posting}. WARNING: lease: old`);
  assert.equal(ready({ warnings: ["a", "b"] }), `${posting}. WARNING: [a, b]`);
  assert.equal(ready({ warnings: ["a"], problems: ["b"] }), "False KubeletNotReady: b");
});

test("deriveNodeStatus says why the node is not ready, and under which pressure it is", () => {
  const one = deriveNodeStatus(undefined, IDENTITY, later({ problems: ["no network"] }));
  assert.equal(conditionsOf(one)["Ready"], "False KubeletNotReady: no network");
  const two = deriveNodeStatus(
    undefined,
    IDENTITY,
    later({ problems: ["a", "b"], pressure: { memory: true, disk: true, pid: true } }),
  );
  assert.deepEqual(conditionsOf(two), {
    MemoryPressure: "True KubeletHasInsufficientMemory: kubelet has insufficient memory available",
    DiskPressure: "True KubeletHasDiskPressure: kubelet has disk pressure",
    PIDPressure: "True KubeletHasInsufficientPID: kubelet has insufficient PID available",
    Ready: "False KubeletNotReady: [a, b]",
  });
});

test("deriveNodeStatus moves transition times with the status only", () => {
  const first = deriveNodeStatus(undefined, IDENTITY, SNAPSHOT);
  const second = deriveNodeStatus(first, IDENTITY, later());
  const third = deriveNodeStatus(second, IDENTITY, later({ problems: ["a"] }));
  const times = (status: NodeStatus) => {
    const ready = status.conditions?.find(({ type }) => type === "Ready");
    return [ready?.lastHeartbeatTime?.slice(17), ready?.lastTransitionTime?.slice(17)];
  };
  assert.deepEqual(
    [times(first), times(second), times(third)],
    [
      ["00Z", "00Z"],
      ["10Z", "00Z"],
      ["10Z", "10Z"],
    ],
  );
  assert.deepEqual(comparableStatus(first), comparableStatus(second));
  assert.notDeepEqual(comparableStatus(second), comparableStatus(third));
});

test("deriveNodeStatus leaves to others what is theirs", () => {
  const theirs = {
    capacity: { "example.com/dongle": "2", cpu: "1" },
    conditions: [
      { type: "NetworkUnavailable", status: "False" },
      { type: "DrainInProgress", status: "True", reason: "Kubectl" },
    ],
    volumesAttached: [{ name: "a", devicePath: "b" }],
    addresses: [{ type: "ExternalIP", address: "198.51.100.1" }],
  };
  const cloud: NodeIdentity = {
    ...IDENTITY,
    addressing: { kind: "cloud", provided: ["192.0.2.7"] },
  };
  const status = deriveNodeStatus(theirs, cloud, SNAPSHOT);
  assert.equal(status.capacity?.["example.com/dongle"], "2");
  assert.equal(status.allocatable?.["example.com/dongle"], "2");
  assert.equal(status.capacity?.["cpu"], "2");
  const conditions = conditionsOf(status);
  assert.equal(conditions["NetworkUnavailable"], "False undefined: undefined");
  assert.equal(conditions["DrainInProgress"], "True Kubectl: undefined");
  assert.deepEqual(status.volumesAttached, theirs.volumesAttached);
  assert.deepEqual(status.addresses, theirs.addresses);
});

test("deriveNodeStatus declares what holds now, and nothing that an earlier agent did", () => {
  const before = { declaredFeatures: ["A", "B"] };
  const declared = (now: readonly string[] | undefined) =>
    deriveNodeStatus(before, IDENTITY, later({ declaredFeatures: now })).declaredFeatures;
  assert.deepEqual(declared(["B", "C"]), ["B", "C"]);
  assert.equal(declared(undefined), undefined);
});

/** Source of the addresses, previous addresses, addresses of the machine, and the result. */
const ADDRESSES: readonly (readonly [
  NodeIdentity["addressing"],
  readonly string[],
  readonly string[],
  readonly string[],
])[] = [
  [{ kind: "machine" }, ["192.0.2.7"], ["192.0.2.8"], ["192.0.2.8", "machine-1"]],
  [{ kind: "machine" }, ["192.0.2.7"], [], ["192.0.2.7"]],
  [{ kind: "machine" }, [], [], []],
  [{ kind: "cloud" }, [], ["192.0.2.8"], ["machine-1"]],
  [{ kind: "cloud" }, ["192.0.2.7"], ["192.0.2.8"], ["192.0.2.7"]],
  [{ kind: "cloud", provided: ["192.0.2.8"] }, [], ["192.0.2.8"], ["192.0.2.8", "machine-1"]],
  [{ kind: "cloud", provided: ["192.0.2.8"] }, ["192.0.2.7"], ["192.0.2.8"], ["192.0.2.7"]],
];
for (const [addressing, shown, ips, expected] of ADDRESSES)
  test(`deriveNodeStatus: ${JSON.stringify(addressing)} that showed ${shown.join() || "nothing"} with ${ips.join() || "none"}`, () => {
    const before = { addresses: shown.map((address) => ({ type: "InternalIP", address })) };
    const status = deriveNodeStatus(before, { ...IDENTITY, addressing }, later({ ips }));
    assert.deepEqual(
      status.addresses?.map(({ address }) => address),
      expected,
    );
  });

test("withoutExtended leaves none of what an earlier node offered; devices that are there count again", () => {
  const before = {
    capacity: { "v.com/a": "4", "v.com/b": "2", cpu: "1" },
    allocatable: { "v.com/a": "3" },
  };
  const none = withoutExtended(before);
  assert.deepEqual(none.capacity, { "v.com/a": "0", "v.com/b": "0", cpu: "1" });
  assert.deepEqual(none.allocatable, { "v.com/a": "0" });
  const counts = new Map([["v.com/a", { capacity: 8, allocatable: 7 }]]);
  const amounts = withDevices(SNAPSHOT.amounts, { counts, removed: ["v.com/c"], fresh: true });
  assert.equal(amounts.resetsExtended, true);
  const status = deriveNodeStatus(none, IDENTITY, later({ amounts }));
  const extended = (all: NodeStatus["capacity"] = {}) =>
    Object.entries(all)
      .filter(([name]) => name.startsWith("v.com/"))
      .sort();
  assert.deepEqual(extended(status.capacity), [
    ["v.com/a", "8"],
    ["v.com/b", "0"],
    ["v.com/c", "0"],
  ]);
  assert.deepEqual(extended(status.allocatable), [
    ["v.com/a", "7"],
    ["v.com/b", "0"],
    ["v.com/c", "0"],
  ]);
});

test("conditionChanges speaks of what turned", () => {
  const ready = deriveNodeStatus(undefined, IDENTITY, SNAPSHOT);
  const unready = deriveNodeStatus(ready, IDENTITY, later({ problems: ["a"] }));
  const reasons = (before: NodeStatus | undefined, now: NodeStatus) =>
    conditionChanges("n", before, now).map(({ reason }) => reason);
  assert.deepEqual(reasons(undefined, ready), [
    "NodeHasSufficientMemory",
    "NodeHasNoDiskPressure",
    "NodeHasSufficientPID",
  ]);
  assert.deepEqual(reasons(ready, ready), []);
  assert.deepEqual(reasons(ready, unready), ["NodeNotReady"]);
  assert.deepEqual(reasons(unready, ready), ["NodeReady"]);
  const rebooted = deriveNodeStatus(
    ready,
    { ...IDENTITY, facts: { ...FACTS, bootId: "boot-2" } },
    SNAPSHOT,
  );
  assert.deepEqual(conditionChanges("n", ready, rebooted), [
    {
      type: "Warning",
      reason: "Rebooted",
      message: "Node n has been rebooted, boot id: boot-2",
    },
  ]);
});

test("listedImages shows the largest with their digests first", () => {
  const image = (name: string, sizeBytes: number) => ({
    digests: [`${name}@sha256:1`],
    tags: ["1", "2", "3", "4", "5"].map((tag) => `${name}:${tag}`),
    sizeBytes,
  });
  const images = [image("a", 1), image("b", 3), image("c", 2)];
  assert.deepEqual(listedImages(images, 2), [
    { names: ["b@sha256:1", "b:1", "b:2", "b:3", "b:4"], sizeBytes: 3 },
    { names: ["c@sha256:1", "c:1", "c:2", "c:3", "c:4"], sizeBytes: 2 },
  ]);
  assert.equal(listedImages(images, -1).length, 3);
  assert.equal(listedImages(images, 0).length, 0);
});

const REGISTRATION: RegistrationOptions = {
  labels: { "example.test/a": "b" },
  taints: [{ key: "k", effect: "NoExecute" }],
  schedulable: true,
  providerId: "",
  externalCloud: false,
  controllerAttachesVolumes: true,
};

test("initialNode carries labels, taints and annotations of the configuration", () => {
  const node = initialNode(IDENTITY, REGISTRATION, {});
  assert.deepEqual(node.metadata?.labels, {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/hostname": "machine-1",
    "kubernetes.io/os": "linux",
    "example.test/a": "b",
  });
  assert.deepEqual(node.spec, { taints: [{ key: "k", effect: "NoExecute" }] });
  const special = initialNode(
    { ...IDENTITY, addressing: { kind: "cloud", provided: ["192.0.2.7"] } },
    { ...REGISTRATION, schedulable: false, externalCloud: true, providerId: "cloud://1" },
    {},
  );
  assert.deepEqual(
    special.spec?.taints?.map(({ key, effect }) => `${key}:${effect}`),
    [
      "k:NoExecute",
      "node.kubernetes.io/unschedulable:NoSchedule",
      "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule",
    ],
  );
  assert.equal(special.spec?.unschedulable, true);
  assert.equal(special.spec?.providerID, "cloud://1");
  assert.equal(
    special.metadata?.annotations?.["alpha.kubernetes.io/provided-node-ip"],
    "192.0.2.7",
  );
});

test("reconcilePatch changes on an existing node what describes the machine, and nothing else", () => {
  const initial = initialNode(IDENTITY, REGISTRATION, {});
  assert.equal(reconcilePatch(initial, initial), undefined);
  const existing = {
    metadata: {
      labels: { "kubernetes.io/hostname": "old", "kubernetes.io/os": "linux", mine: "1" },
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
    },
  };
  assert.deepEqual(reconcilePatch(existing, initial), {
    metadata: {
      labels: {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "machine-1",
      },
    },
  });
});

test("ownMetadataPatch keeps the addresses for the cloud's controller right, and takes away what no longer holds", () => {
  const provided = "alpha.kubernetes.io/provided-node-ip";
  const patched = (addressing: NodeIdentity["addressing"], has?: string) =>
    ownMetadataPatch(
      { metadata: { uid: "u", annotations: has === undefined ? {} : { [provided]: has } } },
      { ...IDENTITY, addressing },
      undefined,
    );
  const patch = (value: string | null) => ({
    metadata: { uid: "u", labels: {}, annotations: { [provided]: value } },
  });
  const both: NodeIdentity["addressing"] = {
    kind: "cloud",
    provided: ["192.0.2.7", "2001:db8::7"],
  };
  assert.deepEqual(patched(both), patch("192.0.2.7,2001:db8::7"));
  assert.deepEqual(patched(both, "192.0.2.9"), patch("192.0.2.7,2001:db8::7"));
  assert.equal(patched(both, "192.0.2.7,2001:db8::7"), undefined);
  assert.deepEqual(patched({ kind: "cloud" }, "192.0.2.7"), patch(null));
  assert.deepEqual(patched({ kind: "machine" }, "192.0.2.7"), patch(null));
  assert.equal(patched({ kind: "machine" }), undefined);
});
