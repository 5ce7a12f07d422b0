import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../api/pod-identity.ts";
import { decodeCpuState, encodeCpuState } from "./checkpoint.ts";
import type { CpuState } from "./cpu-state.ts";

/** Policy, shared CPUs, CPUs by container, and the checksum of the Go kubelet. */
const FILES: readonly (readonly [string, CpuState, number])[] = [
  ["none", stateOf([], {}), 1353318690],
  ["none", stateOf([4, 5, 6], {}), 354655845],
  ["other", stateOf([1, 2, 3], {}), 1394507217],
  [
    "none",
    stateOf([1, 2, 3], { pod: { container1: [4, 5, 6], container2: [1, 2, 3] } }),
    3610638499,
  ],
  ["static", stateOf([0, 1, 2, 3, 4, 5, 6, 7], {}), 14413152],
  ["static", stateOf([0, 1, 4, 5], { pod1: { c1: [2, 3, 6, 7] } }), 315830756],
];

test("the file has the Go kubelet's checksum and is read again", () => {
  for (const [policyName, state, checksum] of FILES) {
    const text = encodeCpuState(policyName, state);
    assert.equal(JSON.parse(text).checksum, checksum, text);
    assert.deepEqual(decodeCpuState(text), { kind: "read", kept: { policyName, state } });
  }
  assert.equal(
    encodeCpuState("none", stateOf([], {})),
    String.raw`{"policyName":"none","defaultCpuSet":"","checksum":1353318690,"data":"{\"policyName\":\"none\",\"defaultCpuSet\":\"\"}","dataChecksum":3028111495}`,
  );
});

test("of a file since 1.37 the inner text counts, and it must be whole", () => {
  const state = stateOf([4, 5, 6], { pod: { main: [7] } });
  const tree = JSON.parse(encodeCpuState("static", state));
  const { data, dataChecksum, ...before } = tree;
  const read = { kind: "read", kept: { policyName: "static", state } };
  assert.deepEqual(
    decodeCpuState(JSON.stringify({ ...tree, defaultCpuSet: "0", checksum: 1 })),
    read,
  );
  assert.deepEqual(decodeCpuState(JSON.stringify(before)), read);
  for (const damaged of [
    { ...tree, data: `${data} ` },
    { ...before, dataChecksum },
    { ...before, data },
  ])
    assert.deepEqual(decodeCpuState(JSON.stringify(damaged)), {
      kind: "broken",
      why: "could not load v4 checkpoint: checkpoint is corrupted",
    });
});

test("a file of the later version is read, with CPUs of whole pods", () => {
  const entries = { pod: { container1: "4-6", container2: "1-3" } };
  const later = { policyName: "none", defaultCpuSet: "1-3", entries, checksum: 3285286565 };
  assert.equal(decodeCpuState(JSON.stringify(later)).kind, "read");
  const podEntries = { pod: { cpuSet: "4-6" } };
  const whole = { ...later, podEntries, checksum: 2649431787 };
  const decoded = decodeCpuState(JSON.stringify(whole));
  assert.ok(decoded.kind === "read");
  assert.deepEqual(decoded.kept.state.wholePods, new Map([["pod", [4, 5, 6]]]));
  assert.deepEqual(decodeCpuState(encodeCpuState("none", decoded.kept.state)), decoded);
  for (const [more, why] of [
    [{ checksum: 3285286565 }, /^checkpoint is corrupted$/],
    [{ podEntries: { pod: {} } }, /^pod entry "pod" has no cpuSet$/],
    [{ podEntries: { pod: { cpuSet: "x" } } }, /^could not parse cpuset "x" for pod "pod": /],
  ] as const) {
    const damaged = decodeCpuState(JSON.stringify({ ...whole, ...more }));
    assert.ok(damaged.kind === "broken");
    assert.match(damaged.why, why);
  }
});

test("damaged files say what is wrong", () => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['{"policyName":"static","defaultCp', /^checkpoint is corrupted: /],
    ["[]", /^checkpoint is corrupted$/],
    ['{"policyName":"static","defaultCpuSet":"0-1","checksum":1}', /^checkpoint is corrupted$/],
    [
      '{"policyName":"none","defaultCpuSet":"1.3","checksum":0}',
      /^could not parse default cpu set "1.3": /,
    ],
    [
      '{"policyName":"none","defaultCpuSet":"1","entries":{"pod":{"container2":"asd"}},"checksum":0}',
      /^could not parse cpuset "asd" for container "container2" in pod "pod": /,
    ],
  ];
  for (const [text, why] of rows) {
    const decoded = decodeCpuState(text);
    assert.ok(decoded.kind === "broken", text);
    assert.match(decoded.why, why);
  }
});

test("a file that names containers by id is refused, not damaged", () => {
  const text = '{"policyName":"none","defaultCpuSet":"1-3","entries":{"id1":"4-6"},"checksum":0}';
  assert.deepEqual(decodeCpuState(text), {
    kind: "refused",
    why: "it names containers by id, as kubelets before 1.18 wrote it",
  });
});

function stateOf(
  shared: readonly number[],
  pods: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>,
): CpuState {
  const entries = Object.entries(pods).map(
    ([uid, own]) => [uid as PodUid, new Map(Object.entries(own))] as const,
  );
  return { shared, pods: new Map(entries) };
}
