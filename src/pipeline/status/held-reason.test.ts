// Why a status says what it does: reasons are held back with the phase, and stay with it.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  aSandbox,
  at,
  type Given,
  type RecordChanges,
  WALL,
} from "../../../test/support/pods.ts";
import type { PodStatus } from "../../api/generated/types.ts";
import type { PodLife } from "../pods/record/record.ts";
import { deriveStatus } from "./derive.ts";

const HOSTS = ["10.0.0.1"];

function statusOf(
  given: Given,
  record: RecordChanges = {},
  previous?: PodStatus,
  hostIps: readonly string[] = HOSTS,
): PodStatus {
  const context = { previous, runtimeName: "containerd", now: WALL, hostIps };
  return deriveStatus(aRecord(given, record), context);
}

const whyOf = ({ phase, reason, message }: PodStatus) => [phase, reason, message];
const RUNS: Given = { containers: [anAttempt("a")] };
const GONE: Given = { containers: [anEnd("a", 137)] };

for (const reason of ["Evicted", "DeadlineExceeded", "Terminated", "Preempting"]) {
  const cause = { kind: "evicted", reason, message: "because" } as const;
  const ending: PodLife = { kind: "terminating", cause, graceSeconds: 30, killBy: at(30_000) };
  test(`deriveStatus: ${reason} is not shown while the pod still runs`, () => {
    const before = statusOf(RUNS);
    const now = statusOf(RUNS, { life: ending }, before);
    assert.deepEqual(whyOf(now), ["Running", undefined, undefined]);
    const over = statusOf(GONE, { life: { kind: "terminated", cause } }, now);
    assert.deepEqual(whyOf(over), ["Failed", reason, "because"]);
  });
}

test("deriveStatus: nor is the reason for which a pod that runs is refused", () => {
  const rejected: RecordChanges = {
    admission: { kind: "rejected", reason: "OutOfcpu", message: "no" },
    life: {
      kind: "terminating",
      cause: { kind: "rejected" },
      graceSeconds: 30,
      killBy: at(30_000),
    },
  };
  assert.deepEqual(whyOf(statusOf(RUNS, rejected, statusOf(RUNS))), [
    "Running",
    undefined,
    undefined,
  ]);
});

test("deriveStatus: reason and message of others stay as long as the phase does", () => {
  const set = { reason: "Quarantined", message: "by an operator" };
  const own = { ...statusOf(RUNS), ...set };
  assert.deepEqual(whyOf(statusOf(RUNS, {}, own)), ["Running", set.reason, set.message]);
  const pod = { ...aPod(), status: { phase: "Running", ...set } };
  const fromApi = statusOf({ ...RUNS, pod }, { desired: { source: "api", pod } }, statusOf(RUNS));
  assert.deepEqual(whyOf(fromApi), ["Running", set.reason, set.message]);
  const over = { life: { kind: "terminated", cause: { kind: "completed" } } } as const;
  assert.deepEqual(whyOf(statusOf(GONE, over, own)), ["Failed", undefined, undefined]);
});

const onHost = aPod({ hostNetwork: true });
const DUAL = ["10.0.0.9", "fd01::9"];

interface AddressCase {
  readonly name: string;
  /** As last published, and as the runtime says. */
  readonly had?: readonly string[];
  readonly ips?: readonly string[];
  readonly hostIps: readonly string[];
  readonly expected: string;
}

const ADDRESSES: readonly AddressCase[] = [
  { name: "those of the node", hostIps: DUAL, expected: "10.0.0.9 fd01::9" },
  { name: "kept", had: ["10.0.0.1"], hostIps: ["10.0.0.9"], expected: "10.0.0.1" },
  {
    name: "another family is added",
    had: ["10.0.0.1"],
    hostIps: DUAL,
    expected: "10.0.0.1 fd01::9",
  },
  { name: "none of its own family is", had: ["fd01::1"], hostIps: DUAL, expected: "fd01::1" },
  {
    name: "both kept",
    had: ["10.0.0.1", "fd01::1"],
    hostIps: DUAL,
    expected: "10.0.0.1 fd01::1",
  },
  {
    name: "the runtime's count more",
    had: ["10.0.0.1"],
    ips: ["192.168.0.1"],
    hostIps: DUAL,
    expected: "192.168.0.1 fd01::9",
  },
  {
    name: "both of the runtime, the node's family first",
    ips: ["2001:db8::2", "192.168.0.1"],
    hostIps: DUAL,
    expected: "192.168.0.1 2001:db8::2",
  },
];

for (const { name, had, ips = [], hostIps, expected } of ADDRESSES)
  test(`deriveStatus: addresses of a pod on the host network: ${name}`, () => {
    const previous = had && { phase: "Running", podIPs: had.map((ip) => ({ ip })) };
    const sandboxes = [aSandbox({ hostNetwork: true, ips })];
    const status = statusOf({ ...RUNS, sandboxes, pod: onHost }, {}, previous, hostIps);
    assert.equal((status.podIPs ?? []).map(({ ip }) => ip).join(" "), expected);
    assert.equal(status.podIP, expected.split(" ")[0]);
    assert.equal(status.hostIP, hostIps[0]);
  });

test("deriveStatus: restart count and last end are those published where the runtime has lost them", () => {
  const first = statusOf({ containers: [anEnd("a", 3, { restartCount: 4 })] });
  const again = [anAttempt("a", { id: "a-new", restartCount: 0 })];
  const next = statusOf({ containers: again }, {}, first);
  const shown = ({ containerStatuses = [] }: PodStatus) =>
    containerStatuses.map(({ restartCount, lastState }) => [
      restartCount,
      lastState?.terminated?.exitCode,
    ]);
  assert.deepEqual(shown(next), [[5, 3]]);
  assert.deepEqual(shown(statusOf({ containers: again }, {}, next)), [[5, 3]], "and stay so");
  const counted = [anAttempt("a", { id: "a-new", restartCount: 7 })];
  assert.deepEqual(shown(statusOf({ containers: counted }, {}, next)), [[7, 3]]);
});

test("deriveStatus: messages of ephemeral containers are part of the 12 KiB", () => {
  const long = "x".repeat(12 * 1024);
  const pod = aPod({ ephemeralContainers: ["d", "e", "f"].map((name) => aContainer(name)) });
  const status = statusOf({
    pod,
    containers: ["a", "d", "e", "f"].map((name) => anEnd(name, 1, { message: long })),
  });
  const all = [...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])];
  const lengths = all.map(
    ({ state, lastState }) => (state?.terminated ?? lastState?.terminated)?.message?.length,
  );
  assert.deepEqual(lengths, [3072, 3072, 3072, 3072]);
});

test("deriveStatus: an init container that is gone keeps its end, and says that it is not to be seen", () => {
  const pod = aPod({ initContainers: [aContainer("prep")] });
  const text =
    "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally";
  const endOf = (message: string) => {
    const before = statusOf({ pod, containers: [anAttempt("a"), anEnd("prep", 0, { message })] });
    const now = statusOf({ pod, containers: [anAttempt("a")] }, {}, before);
    const [was, is] = [before, now].map(
      ({ initContainerStatuses }) => initContainerStatuses?.[0]?.state?.terminated,
    );
    assert.deepEqual({ ...is, message: "" }, { ...was, message: "" });
    return is?.message;
  };
  assert.equal(endOf(""), text);
  assert.equal(endOf("migrated 3 tables"), "migrated 3 tables");
});
