import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMessage } from "./format.ts";
import {
  containerReference,
  makeEvent,
  nodeReference,
  podReference,
  referenceTo,
  uuidFrom,
} from "./make-event.ts";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "ns", uid: "u1", resourceVersion: "7" },
  spec: {
    containers: [{ name: "main" }, { name: "" }],
    initContainers: [{ name: "first" }],
    ephemeralContainers: [{ name: "debug" }],
  },
};

const STAMP = { time: "2026-01-01T00:00:00Z", nanosHex: "18f0a", uuid: () => "a-uuid" };
const SAID = { type: "Normal", reason: "R", message: "m" } as const;
const SOURCE = { component: "kubelet", host: "n1" };

test("referenceTo: an object says what it is, a reference stays what it is", () => {
  const reference = {
    kind: "Pod",
    apiVersion: "v1",
    name: "web",
    namespace: "ns",
    uid: "u1",
    resourceVersion: "7",
  };
  assert.deepEqual(referenceTo(POD), reference);
  assert.deepEqual(podReference(POD), reference);
  const other = { kind: "Job", name: "j", fieldPath: "spec.x" };
  assert.equal(referenceTo(other), other);
  assert.equal(referenceTo({ metadata: { name: "x" } }), undefined);
});

/** Reason, UID of the node's object, UID in the event. */
const NODE_REFERENCES: readonly (readonly [string, string | undefined, string | undefined])[] = [
  ["NodeReady", undefined, undefined],
  ...[
    ...["NodeReady", "NodeNotReady", "NodeHasSufficientMemory", "Rebooted", "Starting"],
    ...["ContainerGCFailed", "ImageGCFailed", "KubeletSetupFailed", "CgroupV1"],
    ...["NodeNotSchedulable", "PossibleMemoryBackedVolumesOnDisk", "EventsDropped", "Noted"],
  ].map((reason) => [reason, "u1", "u1"] as const),
  ...[
    ...["SystemOOM", "EvictionThresholdMet", "InvalidDiskCapacity", "FreeDiskSpaceFailed"],
    ...["InvalidImageID", "Shutdown", "NodeAllocatableEnforced"],
    ...["FailedNodeAllocatableEnforcement", "CheckLimitsForResolvConf", "MissingClusterDNS"],
  ].map((reason) => [reason, "u1", undefined] as const),
];
for (const [reason, known, uid] of NODE_REFERENCES)
  test(`nodeReference: ${reason} of ${known ?? "an unknown node"} has ${uid ?? "no UID"}`, () => {
    assert.deepEqual(nodeReference("n1", reason, known), {
      kind: "Node",
      apiVersion: "v1",
      name: "n1",
      ...(uid === undefined ? {} : { uid }),
    });
  });

test("containerReference: the field path names list and container", () => {
  const path = (name: string) => containerReference(POD, name)?.fieldPath;
  assert.equal(path("main"), "spec.containers{main}");
  assert.equal(path("first"), "spec.initContainers{first}");
  assert.equal(path("debug"), "spec.ephemeralContainers{debug}");
  assert.equal(path(""), "spec.containers[1]");
  assert.equal(containerReference(POD, "POD"), undefined);
});

test("makeEvent: all fields as the Go kubelet fills them", () => {
  assert.deepEqual(makeEvent(podReference(POD), SAID, SOURCE, STAMP), {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "web.18f0a", namespace: "ns" },
    involvedObject: podReference(POD),
    reason: "R",
    message: "m",
    source: SOURCE,
    firstTimestamp: STAMP.time,
    lastTimestamp: STAMP.time,
    count: 1,
    type: "Normal",
    reportingComponent: "kubelet",
    reportingInstance: "n1",
  });
});

test("makeEvent: namespace, name and annotations", () => {
  const reference = (name: string) => nodeReference(name, SAID.reason, undefined);
  const named = (name: string) => makeEvent(reference(name), SAID, SOURCE, STAMP).metadata;
  assert.equal(named("n1").namespace, "default");
  assert.equal(named("n1").name, "n1.18f0a");
  assert.equal(named("Not_a_name").name, "a-uuid");
  assert.equal(named("x".repeat(250)).name, "a-uuid");
  const annotated = { ...SAID, annotations: { a: "b" } };
  const { metadata } = makeEvent(reference("n1"), annotated, SOURCE, STAMP);
  assert.deepEqual(metadata.annotations, { a: "b" });
});

test("uuidFrom: version 4 of sixteen bytes", () => {
  const uuid = uuidFrom("00112233445566778899aabbccddeeff");
  assert.equal(uuid, "00112233-4455-4677-8899-aabbccddeeff");
  assert.match(
    uuidFrom("f".repeat(32)),
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/,
  );
});

test("formatMessage: the verbs of messages", () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  const rows: readonly (readonly [string, string, readonly unknown[]])[] = [
    ["plain", "plain", []],
    ["a b", "%s %v", ["a", "b"]],
    ['image "x y"', "image %q", ["x y"]],
    ["1 of 2", "%d of %d", [1, 2n]],
    ["true 100%", "%t 100%%", [true]],
    ["ff", "%x", [255]],
    ["0.500000", "%f", [0.5]],
    ['{"a":1} <nil>', "%v %v", [{ a: 1 }, undefined]],
    ["no disk", "%v", [new Error("no disk")]],
    ["a %!s(MISSING)", "%s %s", ["a"]],
    ["a%!(EXTRA number=1)", "%s", ["a", 1]],
    ["<unprintable>", "%v", [circular]],
    ["1.50 of   7|ab   |", "%.2f of %3d|%-5s|", [1.5, 7, "ab"]],
    ["abc no disk", "%.3s %+v", ["abcdef", new Error("no disk")]],
    ["50% of %z", "50% of %z", []],
  ];
  for (const [expected, format, values] of rows)
    assert.equal(formatMessage(format, values), expected);
});
