import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodAllocation } from "../../api/pod/allocation.ts";
import { checksumOf, encodeAllocations, parseAllocations } from "./allocation-checkpoint.ts";

/** A checkpoint as Kubernetes 1.33 writes it. */
const DATA =
  '{"entries":{"pod1":{"ContainerResources":{"container1":{"requests":{"cpu":"1Ki","memory":"1Ki"}}}}}}';
const CHECKSUM = 1_178_570_812;

test("the Go kubelet's checksum", () => {
  assert.equal(checksumOf(DATA), CHECKSUM);
});

test("parseAllocations reads what the Go kubelet wrote", () => {
  const read = parseAllocations(JSON.stringify({ data: DATA, checksum: CHECKSUM }));
  assert(read.kind === "read");
  assert.deepEqual(
    [...read.allocations],
    [["pod1", { containers: { container1: { requests: { cpu: "1Ki", memory: "1Ki" } } } }]],
  );
});

test("what is written is read again, with resources of whole pods", () => {
  const allocations = new Map<string, PodAllocation>([
    ["a", { containers: { c: {}, d: { limits: { cpu: "1" }, requests: { cpu: "100m" } } } }],
    ["b", { pod: { requests: { memory: "1Gi" } }, containers: {} }],
  ]);
  for (const given of [allocations, new Map<string, PodAllocation>()]) {
    for (const groups of [new Map<string, PodAllocation>(), allocations]) {
      const read = parseAllocations(encodeAllocations(given, groups));
      assert.deepEqual(read, { kind: "read", allocations: given, groups });
    }
  }
});

test("parseAllocations: what cannot be trusted is not", () => {
  for (const text of [
    "",
    "{}",
    "null",
    JSON.stringify({ data: DATA, checksum: 1 }),
    JSON.stringify({ data: "{", checksum: checksumOf("{") }),
  ])
    assert.equal(parseAllocations(text).kind, "broken", text);
  const odd = '{"entries":{"p":{"ContainerResources":{"c":{"requests":{"cpu":7}}},"Other":1}}}';
  const read = parseAllocations(JSON.stringify({ data: odd, checksum: checksumOf(odd) }));
  assert(read.kind === "read");
  assert.deepEqual(read.allocations.get("p"), { containers: { c: {} } });
});
