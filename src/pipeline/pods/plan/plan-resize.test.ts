import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  aContext,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  at,
} from "../../../../test/support/pods.ts";
import type { Container, ResourceRequirements } from "../../../api/generated/types.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import { type ActuatedPod, allocationOf } from "../../../api/pod/allocation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { asSpecified, type Retries } from "../record/record.ts";
import { isResizing } from "../record/resize-state.ts";
import { standingsOf } from "../record/standing.ts";
import type { PodAction } from "./actions.ts";
import { planPod } from "./plan.ts";

const cpu = (amount: string): ResourceRequirements => ({ requests: { cpu: amount } });
const RESTARTS = [{ resourceName: "cpu", restartPolicy: "RestartContainer" }];
const MEMORY_RESTARTS = [{ resourceName: "memory", restartPolicy: "RestartContainer" }];
const one = (more: Partial<Container> = {}) => aPod({ containers: [aContainer("a", more)] });
const had = (pod: IdentifiedPod, group: IdentifiedPod = pod): ActuatedPod => ({
  ...asSpecified(pod),
  group: allocationOf(group),
});

function inShort(action: PodAction): string {
  switch (action.kind) {
    case "resizePod":
      return `resize ${action.containers.map(({ name }) => name).join("+")}`.trimEnd();
    case "stopContainers":
      return `stop ${action.stops.map(({ message }) => message).join()}`;
    case "startContainer":
      return `start ${action.name}#${action.restartCount}`;
    default:
      return action.kind;
  }
}

interface Row {
  readonly what: string;
  readonly pod: IdentifiedPod;
  readonly has: ActuatedPod;
  readonly containers: readonly ObservedContainer[];
  readonly failures?: Retries["failures"];
  readonly expect: readonly string[];
  readonly resizing: boolean;
}

const NEW = one({ resources: cpu("2") });
const OLD = had(one({ resources: cpu("1") }));
const sidecar = (amount: string) =>
  aPod({
    initContainers: [
      aContainer("s", { restartPolicy: "Always", resources: cpu(amount), resizePolicy: RESTARTS }),
    ],
  });
const onFailure = (amount: string) =>
  aPod({
    restartPolicy: "OnFailure",
    containers: [aContainer("a", { resources: cpu(amount), resizePolicy: RESTARTS })],
  });
/** A pod that is being initialized: a sidecar, one that prepares, one that was added to inspect it. */
const begun = (amount: string) =>
  aPod({
    initContainers: [
      aContainer("s", { restartPolicy: "Always", resources: cpu(amount) }),
      aContainer("prep", { resources: cpu(amount) }),
    ],
    ephemeralContainers: [aContainer("dbg")],
  });
const STEP_FAILURE = {
  "#resize": { reason: "Error", message: "no", failures: 1, notBefore: at(5_000) },
};

const limit = (resource: string, amount: string) => ({ limits: { [resource]: amount } });
/** A container without limits of its own in a pod that has one. */
const podLevel = (amount: string, more: Partial<Container> = {}) =>
  aPod({ resources: limit("memory", amount), containers: [aContainer("a", more)] });

const ROWS: readonly Row[] = [
  {
    what: "a limit of the pod is that of a container without one: it restarts by its policy",
    pod: podLevel("2Gi", { resizePolicy: MEMORY_RESTARTS }),
    has: had(podLevel("1Gi")),
    containers: [anAttempt("a")],
    expect: ["stop Container a resize requires restart", "resize", "start a#1"],
    resizing: true,
  },
  {
    what: "a limit of the pod where the container has its own",
    pod: podLevel("2Gi", { resizePolicy: MEMORY_RESTARTS, resources: limit("memory", "1Gi") }),
    has: had(podLevel("1Gi", { resources: limit("memory", "1Gi") })),
    containers: [anAttempt("a")],
    expect: ["resize a"],
    resizing: true,
  },
  {
    what: "a container that was started with the pod's new limit is not restarted again",
    pod: podLevel("2Gi", { resizePolicy: MEMORY_RESTARTS }),
    has: {
      ...had(podLevel("1Gi")),
      containers: { a: limit("memory", "2Gi") },
    },
    containers: [anAttempt("a")],
    expect: ["resize a"],
    resizing: true,
  },
  {
    what: "limits of the pod, recorded with those of the container as the Go kubelet does",
    pod: podLevel("2Gi", { resizePolicy: MEMORY_RESTARTS }),
    has: { ...had(podLevel("2Gi")), containers: { a: limit("memory", "2Gi") } },
    containers: [anAttempt("a")],
    expect: [],
    resizing: false,
  },
  {
    what: "an amount of 0 is as good as none",
    pod: one({ resources: { ...cpu("0"), limits: { memory: "0" } }, resizePolicy: RESTARTS }),
    has: had(one()),
    containers: [anAttempt("a")],
    expect: [],
    resizing: false,
  },
  {
    what: "none is as good as an amount of 0",
    pod: one({ resizePolicy: RESTARTS }),
    has: had(one({ resources: cpu("0") })),
    containers: [anAttempt("a")],
    expect: [],
    resizing: false,
  },
  {
    what: "nothing to do where nothing differs but the spelling",
    pod: one({ resources: cpu("1000m") }),
    has: OLD,
    containers: [anAttempt("a")],
    expect: [],
    resizing: false,
  },
  {
    what: "as it runs",
    pod: NEW,
    has: OLD,
    containers: [anAttempt("a")],
    expect: ["resize a"],
    resizing: true,
  },
  {
    what: "a policy of another resource does not count",
    pod: one({ resources: cpu("2"), resizePolicy: MEMORY_RESTARTS }),
    has: OLD,
    containers: [anAttempt("a")],
    expect: ["resize a"],
    resizing: true,
  },
  {
    what: "with a restart, the group between end and start",
    pod: one({ resources: cpu("2"), resizePolicy: RESTARTS }),
    has: OLD,
    containers: [anAttempt("a")],
    expect: ["stop Container a resize requires restart", "resize", "start a#1"],
    resizing: true,
  },
  {
    what: "a restart whatever the code it ends with",
    pod: onFailure("2"),
    has: had(onFailure("1")),
    containers: [anAttempt("a")],
    expect: ["stop Container a resize requires restart", "resize", "start a#1"],
    resizing: true,
  },
  {
    what: "a sidecar restarts too",
    pod: sidecar("2"),
    has: had(sidecar("1")),
    containers: [anAttempt("s"), anAttempt("a")],
    expect: ["stop Container s resize requires restart", "resize a", "start s#1"],
    resizing: true,
  },
  {
    what: "a container that has ended takes what there is at its start, the group before",
    pod: NEW,
    has: OLD,
    containers: [anEnd("a", 1)],
    expect: ["resize", "start a#1"],
    resizing: true,
  },
  {
    what: "only the group is behind",
    pod: NEW,
    has: had(NEW, one({ resources: cpu("1") })),
    containers: [anAttempt("a")],
    expect: ["resize a"],
    resizing: true,
  },
  {
    what: "an ended container is not waited for once the group has it",
    pod: NEW,
    has: had(one({ resources: cpu("1") }), NEW),
    containers: [anEnd("a", 1)],
    expect: ["start a#1"],
    resizing: false,
  },
  {
    what: "before an ephemeral, an init and a regular container that start",
    pod: begun("2"),
    has: had(begun("1")),
    containers: [anAttempt("s")],
    expect: ["resize s", "start dbg#0", "start prep#0"],
    resizing: true,
  },
  {
    what: "after a failure not before its time",
    pod: NEW,
    has: OLD,
    containers: [anAttempt("a")],
    failures: STEP_FAILURE,
    expect: [],
    resizing: true,
  },
  {
    what: "a failure keeps nothing else from being done",
    pod: aPod({ containers: [aContainer("a", { resources: cpu("2") }), aContainer("b")] }),
    has: had(aPod({ containers: [aContainer("a", { resources: cpu("1") }), aContainer("b")] })),
    containers: [anAttempt("a"), anEnd("b", 1)],
    failures: STEP_FAILURE,
    expect: ["start b#1"],
    resizing: true,
  },
];

for (const { what, pod, has, containers, failures = {}, expect, resizing } of ROWS) {
  test(`planResize: ${what}`, () => {
    const record = aRecord(
      { pod, containers },
      { resize: { actuated: has }, retries: { failures } },
    );
    const plan = planPod(record, aContext());
    assert.deepEqual(plan.actions.map(inShort), expect);
    assert.equal(isResizing(record, standingsOf(record)), resizing);
    assert.equal(plan.wakeAt, failures["#resize"]?.notBefore);
  });
}
