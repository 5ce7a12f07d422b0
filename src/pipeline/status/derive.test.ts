import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  aSandbox,
  type Given,
  type RecordChanges,
  WALL,
} from "../../../test/support/pods.ts";
import type { ContainerStatus, PodStatus } from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { PodRecord } from "../pods/record/record.ts";
import { deriveStatus } from "./derive.ts";

const PREP = aContainer("prep");
const SIDE = aContainer("side", { restartPolicy: "Always" });
const evictedAs = (reason: string, message: string): PodRecord["life"] => ({
  kind: "terminated",
  cause: { kind: "evicted", reason, message },
});
const evicted: RecordChanges = { life: evictedAs("DeadlineExceeded", "too long") };

function statusOf(given: Given, record: RecordChanges = {}, previous?: PodStatus): PodStatus {
  const context = { previous, runtimeName: "containerd", now: WALL, hostIps: ["10.0.0.1"] };
  return deriveStatus(aRecord(given, record), context);
}

/** A state in short: `terminated ContainerStatusUnknown 137`, `waiting ContainerCreating`. */
function inShort({ state = {} }: ContainerStatus): string {
  const { terminated, waiting } = state;
  if (terminated) return `terminated ${terminated.reason} ${terminated.exitCode}`;
  return waiting ? `waiting ${waiting.reason}` : "running";
}

const ENDED: readonly (readonly [
  name: string,
  given: Given,
  init: readonly string[],
  regular: readonly string[],
  more?: RecordChanges,
])[] = [
  ["a container that never was", {}, [], ["terminated ContainerStatusUnknown 137"]],
  ["a container that ended", { containers: [anEnd("a", 3)] }, [], ["terminated Error 3"]],
  [
    "a container whose image is not to be had",
    {},
    [],
    ["terminated ContainerStatusUnknown 137"],
    { lastPlan: { waits: { a: { reason: "ImagePullBackOff", message: "no" } } } },
  ],
  [
    "an init container that failed: those behind it never had their turn",
    { pod: aPod({ initContainers: [PREP, aContainer("prep2")] }), containers: [anEnd("prep", 1)] },
    ["terminated Error 1", "waiting PodInitializing"],
    ["waiting PodInitializing"],
  ],
  [
    "init containers that never began",
    { pod: aPod({ initContainers: [PREP, aContainer("prep2")] }) },
    ["terminated ContainerStatusUnknown 137", "waiting PodInitializing"],
    ["waiting PodInitializing"],
  ],
  [
    "init containers that did their work",
    { pod: aPod({ initContainers: [PREP] }), containers: [anEnd("prep", 0)] },
    ["terminated Completed 0"],
    ["terminated ContainerStatusUnknown 137"],
  ],
];

for (const [name, given, init, regular, more] of ENDED)
  test(`deriveStatus: of a pod that has ended nothing waits: ${name}`, () => {
    const status = statusOf(given, { ...evicted, ...more });
    assert.equal(status.phase, "Failed");
    assert.deepEqual((status.initContainerStatuses ?? []).map(inShort), init);
    assert.deepEqual((status.containerStatuses ?? []).map(inShort), regular);
  });

test("deriveStatus: a pod stays Running while a container that the runtime forgot is recreated", () => {
  const before = statusOf({ containers: [anAttempt("a")] });
  assert.equal(before.phase, "Running");
  const now = statusOf({ containers: [] }, { tracked: { lost: { a: 137 } } }, before);
  assert.equal(now.phase, "Running");
  const [status] = now.containerStatuses ?? [];
  assert.equal(status?.restartCount, 1);
  assert.deepEqual(status?.lastState?.terminated, {
    reason: "ContainerStatusUnknown",
    message:
      "The container could not be located when the pod was deleted.  The container used to be Running",
    exitCode: 137,
  });
});

test("deriveStatus: a refused pod shows no containers of any kind", () => {
  const pod = aPod({ initContainers: [PREP], ephemeralContainers: [aContainer("debug")] });
  const status = statusOf(
    { pod, sandboxes: [] },
    {
      admission: { kind: "rejected", reason: "OutOfcpu", message: "Pod was rejected: no" },
      life: { kind: "terminated", cause: { kind: "rejected" } },
    },
  );
  const { phase, reason, containerStatuses, initContainerStatuses, ephemeralContainerStatuses } =
    status;
  assert.deepEqual([phase, reason], ["Failed", "OutOfcpu"]);
  assert.deepEqual(
    [containerStatuses, initContainerStatuses, ephemeralContainerStatuses],
    [undefined, undefined, undefined],
  );
});

test("deriveStatus: a pod that a previous run refused keeps its status, unless it is a manifest's", () => {
  const pod = aPod({ initContainers: [PREP] });
  const given = { pod, sandboxes: [], containers: [] };
  const [reason, message] = ["Evicted", "The node had condition: [DiskPressure]. "];
  const refused = statusOf(given, {
    desired: { source: "api" },
    admission: { kind: "rejected", reason, message },
    life: { kind: "terminated", cause: { kind: "rejected" } },
  });
  assert.equal(refused.containerStatuses, undefined);
  const restarted = { life: evictedAs(reason, message) };
  assert.deepEqual(statusOf(given, { desired: { source: "api" }, ...restarted }, refused), refused);
  assert.notEqual(
    statusOf(given, { desired: { source: "file" } }, refused).containerStatuses,
    undefined,
  );
  const ran = statusOf(
    { ...given, containers: [anEnd("a", 1)] },
    { desired: { source: "api" } },
    refused,
  );
  assert.equal(ran.containerStatuses?.length, 1, "something of it was found all the same");
});

test("deriveStatus: regular and ephemeral containers by name, init containers as in the spec", () => {
  const many = ["c", "a", "b"].map((name) => aContainer(name));
  const pod = aPod({
    containers: many,
    initContainers: many.map(({ name }) => aContainer(`i${name}`)),
    ephemeralContainers: many.map(({ name }) => aContainer(`e${name}`)),
  });
  const status = statusOf({ pod });
  const names = (list: readonly ContainerStatus[] = []) => list.map(({ name }) => name).join(" ");
  assert.equal(names(status.containerStatuses), "a b c");
  assert.equal(names(status.initContainerStatuses), "ic ia ib");
  assert.equal(names(status.ephemeralContainerStatuses), "ea eb ec");
});

test("deriveStatus: an init container that runs has started and is not ready", () => {
  const given = { pod: aPod({ initContainers: [PREP] }), containers: [anAttempt("prep")] };
  const [status] = statusOf(given).initContainerStatuses ?? [];
  assert.deepEqual([status?.started, status?.ready], [true, false]);
});

/** `Type=Status Reason: message` of each condition but PodScheduled, which is always True. */
function conditionsOf(given: Given, record?: RecordChanges): readonly string[] {
  return (statusOf(given, record).conditions ?? [])
    .filter(({ type }) => type !== "PodScheduled")
    .map(({ type, status, reason, message }) =>
      [`${type}=${status}`, reason, message].filter((text) => text !== undefined).join(" "),
    );
}

const unready = (names: string) =>
  ["Ready", "ContainersReady"].map(
    (type) => `${type}=False ContainersNotReady containers with unready status: [${names}]`,
  );
const withSide: IdentifiedPod = aPod({ initContainers: [SIDE, PREP] });
const probed = aPod({
  initContainers: [{ ...SIDE, startupProbe: {} }],
});

const notReadyToStart = (why: string) =>
  `PodReadyToStartContainers=False PodSandboxNotReady ${why}`;

const CONDITIONS: readonly (readonly [string, Given, readonly string[], RecordChanges?])[] = [
  [
    "nothing is there",
    { sandboxes: [] },
    [notReadyToStart("no pod sandbox exists"), "Initialized=True", ...unready("a")],
  ],
  [
    "a sandbox without an address",
    { sandboxes: [aSandbox({ ips: [] })] },
    [notReadyToStart("pod sandbox has no IP address"), "Initialized=True", ...unready("a")],
  ],
  [
    "running",
    { containers: [anAttempt("a")] },
    ["PodReadyToStartContainers=True", "Initialized=True", "Ready=True", "ContainersReady=True"],
  ],
  [
    "init containers at work",
    { pod: withSide, containers: [anAttempt("prep"), anAttempt("side")] },
    [
      "PodReadyToStartContainers=True",
      "Initialized=False ContainersNotInitialized containers with incomplete status: [prep]",
      ...unready("a"),
    ],
  ],
  [
    "a sidecar that has not started",
    { pod: probed, containers: [anAttempt("side")] },
    [
      "PodReadyToStartContainers=True",
      "Initialized=False ContainersNotInitialized containers with incomplete status: [side]",
      ...unready("side a"),
    ],
  ],
  [
    "a sidecar that has ended beside the rest",
    { pod: withSide, containers: [anAttempt("a"), anEnd("prep", 0), anEnd("side", 1)] },
    ["PodReadyToStartContainers=True", "Initialized=True", ...unready("side")],
  ],
  [
    "done",
    {
      pod: aPod({ restartPolicy: "Never" }),
      containers: [anEnd("a", 0)],
      sandboxes: [aSandbox({ ready: false })],
    },
    [
      notReadyToStart("pod sandbox is not ready"),
      "Initialized=True PodCompleted",
      "Ready=False PodCompleted",
      "ContainersReady=False PodCompleted",
    ],
    { life: { kind: "terminated", cause: { kind: "completed" } } },
  ],
  [
    "failed",
    { pod: aPod({ restartPolicy: "Never" }), containers: [anEnd("a", 1)] },
    [
      "PodReadyToStartContainers=True",
      "Initialized=True",
      "Ready=False PodFailed",
      "ContainersReady=False PodFailed",
    ],
    { life: { kind: "terminated", cause: { kind: "completed" } } },
  ],
];

const SANDBOXES: readonly (readonly [string, Given, why: string | undefined])[] = [
  ["none", { sandboxes: [] }, "no pod sandbox exists"],
  [
    "two that are ready",
    { sandboxes: [aSandbox({ id: "new" }), aSandbox({ id: "old" })] },
    "multiple pod sandboxes are ready and need to be reconciled",
  ],
  [
    "two that are ready, the newest of which is not",
    {
      sandboxes: [
        aSandbox({ id: "new", ready: false }),
        aSandbox({ id: "old" }),
        aSandbox({ id: "oldest" }),
      ],
    },
    "multiple pod sandboxes are ready and need to be reconciled",
  ],
  [
    "one that died, with an older one that runs",
    { sandboxes: [aSandbox({ id: "new", ready: false }), aSandbox({ id: "old" })] },
    "pod sandbox is not ready",
  ],
  [
    "one on the node's network, for a pod that is not",
    { sandboxes: [aSandbox({ hostNetwork: true })] },
    "network namespace mode changed and sandbox needs to be recreated",
  ],
  [
    "one with a network, for a pod on the node's",
    { pod: aPod({ hostNetwork: true }) },
    "network namespace mode changed and sandbox needs to be recreated",
  ],
  [
    "one without an address",
    { sandboxes: [aSandbox({ ips: [] })] },
    "pod sandbox has no IP address",
  ],
  [
    "one on the node's network, which needs no address",
    {
      pod: aPod({ hostNetwork: true }),
      sandboxes: [aSandbox({ hostNetwork: true, ips: [] })],
    },
    undefined,
  ],
  [
    "one that is good, and an older dead one",
    { sandboxes: [aSandbox({}), aSandbox({ id: "old", ready: false })] },
    undefined,
  ],
];

for (const [name, given, why] of SANDBOXES)
  test(`deriveStatus: why containers cannot start: sandboxes: ${name}`, () => {
    const [condition] = conditionsOf(given);
    const expected = why === undefined ? "PodReadyToStartContainers=True" : notReadyToStart(why);
    assert.equal(condition, expected);
  });

for (const [name, given, expected, record] of CONDITIONS)
  test(`deriveStatus: conditions: ${name}`, () => {
    assert.deepEqual(conditionsOf(given, record), expected);
  });

test("deriveStatus: readiness gates hold Ready back, and nothing else", () => {
  const gate = "example.com/gate";
  const pod = aPod({ readinessGates: [{ conditionType: gate }] });
  const missing = `Ready=False ReadinessGatesNotReady corresponding condition of pod readiness gate "${gate}" does not exist.`;
  const given = { pod, containers: [anAttempt("a")] };
  assert.deepEqual(conditionsOf(given).slice(2), [missing, "ContainersReady=True"]);
  const withGate = (status: string) => ({
    ...given,
    pod: { ...pod, status: { conditions: [{ type: gate, status }] } },
  });
  assert.match(
    conditionsOf(withGate("False"))[2] ?? "",
    /the status of pod readiness gate "example.com\/gate" is not "True", but False$/,
  );
  assert.equal(conditionsOf(withGate("True"))[2], "Ready=True");
});

const DEGRADED = { sync: { degraded: "container a (0123): broken" } } as const;
const SAID = {
  reason: "ObservationFailed",
  message: "error determining status: container a (0123): broken",
};

test("deriveStatus: a pod that cannot be observed shows that beside its last known state", () => {
  const given = { containers: [anAttempt("a")] };
  const before = statusOf(given);
  assert.deepEqual(statusOf(given, DEGRADED, before), { ...before, ...SAID });
  assert.deepEqual(statusOf(given, {}, { ...before, ...SAID }), before, "and no more once it can");
});

test("deriveStatus: a pod found at the start that cannot be observed shows what it showed before", () => {
  const before = statusOf({ containers: [anAttempt("a")] });
  const unobserved = { sync: { ...DEGRADED.sync, freshness: "unobserved" } } as const;
  assert.deepEqual(statusOf({}, unobserved, before), { ...before, ...SAID });
});

test("deriveStatus: the reason of a terminal phase stays, whatever can be observed", () => {
  const failed = statusOf({}, { ...evicted, ...DEGRADED });
  assert.equal(failed.reason, "DeadlineExceeded");
  const ended = { life: { kind: "terminated", cause: { kind: "completed" } } } as const;
  const given = { containers: [anEnd("a", 1)] };
  assert.equal(statusOf(given, { ...ended, ...DEGRADED }).reason, undefined);
});

test("deriveStatus: no two addresses of one family, the node's family first", () => {
  const ips = ["fd01::5", "10.1.0.5", "10.2.0.5"];
  const { podIP, podIPs } = statusOf({ sandboxes: [aSandbox({ ips })] });
  assert.deepEqual([podIP, podIPs], ["10.1.0.5", [{ ip: "10.1.0.5" }, { ip: "fd01::5" }]]);
});

test("deriveStatus: DisruptionTarget stays while the end of a pod is not begun again after a restart", () => {
  const disruption = "The node was low on resource: memory. ";
  const cause = { kind: "evicted", reason: "Evicted", message: disruption, disruption } as const;
  const before = statusOf({}, { life: { kind: "terminated", cause } });
  const shown = ({ conditions }: PodStatus) =>
    conditions?.filter(({ type }) => type === "DisruptionTarget");
  assert.equal(shown(before)?.length, 1);
  const desired = { source: "api" } as const;
  for (const life of [{ kind: "waiting" }, { kind: "running" }] as const)
    assert.deepEqual(shown(statusOf({}, { life, desired }, before)), shown(before), life.kind);
  const running = { ...before, phase: "Running" };
  assert.deepEqual(shown(statusOf({}, { ...evicted, desired }, running)), []);
});

test("deriveStatus: a preempted pod has a reason only where its phase is Failed", () => {
  const preempting = { reason: "Preempting", message: "for a critical pod" };
  const cause = { kind: "evicted", ...preempting, disruption: "d", byExitCodes: true } as const;
  const record = { life: { kind: "terminated", cause }, desired: { source: "api" } } as const;
  const shown = (code: number) => {
    const {
      phase,
      reason,
      message,
      conditions = [],
    } = statusOf({ containers: [anEnd("a", code)] }, record);
    return [phase, reason, message, conditions.some(({ type }) => type === "DisruptionTarget")];
  };
  assert.deepEqual(shown(0), ["Succeeded", undefined, undefined, true]);
  assert.deepEqual(shown(1), ["Failed", preempting.reason, preempting.message, true]);
});
