// Vectors of planPod: what a record leads to.
import {
  aContainer,
  anAttempt,
  anEnd,
  aPod,
  aSandbox,
  at,
  type Given,
  type RecordChanges,
} from "../../../../test/support/pods.ts";
import type { PlanContext } from "./plan-draft.ts";

/** One vector; actions are spelled in short. */
export interface Row {
  readonly name: string;
  readonly given?: Given;
  readonly record?: RecordChanges;
  readonly context?: Partial<PlanContext>;
  readonly expect: readonly string[];
  readonly waits?: Readonly<Record<string, string>>;
  readonly wakeAt?: number;
}

const [PREP, DEBUG] = [aContainer("prep"), aContainer("debug")];
const SIDE = aContainer("side", { restartPolicy: "Always" });
const ABSENT = { directories: "absent", cgroup: "absent", volumes: "absent" } as const;
const withInit = aPod({ initContainers: [PREP, aContainer("prep2")] });
const withSidecar = aPod({ initContainers: [SIDE, PREP] });
const never = aPod({ restartPolicy: "Never" });
const onFailure = aPod({ restartPolicy: "OnFailure" });
const withDebugger = aPod({ ephemeralContainers: [DEBUG] });
const both = aPod({ initContainers: [PREP], ephemeralContainers: [DEBUG] });
const gone = aSandbox({ ready: false });

/** A pod that has 20 s left to end. */
const due = { graceSeconds: 30, killBy: at(20_000), asked: true } as const;
const ENDING: RecordChanges = { life: { kind: "terminating", cause: { kind: "deleted" }, ...due } };

/** All vectors. */
export const ROWS: readonly Row[] = [
  {
    name: "a new pod gets prerequisites, sandbox and container in one go",
    given: { sandboxes: [] },
    record: { prerequisites: ABSENT },
    expect: ["makeDirectories", "createCgroup", "mountVolumes", "sandbox#0", "start a#0"],
  },
  {
    name: "an ephemeral container starts beside what runs",
    given: { pod: withDebugger, containers: [anAttempt("a")] },
    expect: ["start debug#0"],
  },
  {
    name: "an ephemeral container starts although an init container is still at work",
    given: { pod: both, containers: [anAttempt("prep")] },
    expect: ["start debug#0"],
  },
  {
    name: "an init container at work finishes although its image was changed",
    given: { pod: withInit, containers: [anAttempt("prep", { hash: "0", image: "img:0" })] },
    expect: [],
  },
  {
    name: "a sidecar of another image is replaced",
    given: { pod: withSidecar, containers: [anAttempt("side", { hash: "0", image: "img:0" })] },
    expect: ["stop side-0(30)", "start prep#0"],
  },
  {
    name: "an ephemeral container that ended stays ended",
    given: { pod: withDebugger, containers: [anAttempt("a"), anEnd("debug", 1)] },
    expect: [],
  },
  {
    name: "an ephemeral container waits for a sandbox",
    given: { pod: withDebugger, sandboxes: [] },
    expect: ["sandbox#0", "start a#0"],
  },
  { name: "a running pod needs nothing", given: { containers: [anAttempt("a")] }, expect: [] },
  {
    name: "nothing is asked of a runtime that is away",
    given: { sandboxes: [] },
    context: { runtimeReady: false },
    expect: [],
  },
  {
    name: "no sandbox without a network",
    given: { sandboxes: [] },
    context: { network: { ready: false, message: "cni" } },
    expect: [],
  },
  {
    name: "a pod on the host network does not wait for one",
    given: { pod: aPod({ hostNetwork: true }), sandboxes: [] },
    context: { network: { ready: false, message: "cni" } },
    expect: ["sandbox#0", "start a#0"],
  },
  {
    name: "another image in the spec replaces the container",
    given: {
      pod: aPod({ containers: [aContainer("a", { image: "img:2" })] }),
      containers: [anAttempt("a")],
    },
    expect: ["stop a-0(30)"],
  },
  {
    name: "an attempt hashed by another agent stays when its image is the same",
    given: { containers: [anAttempt("a", { hash: "12345678" })] },
    expect: [],
  },
  {
    name: "a failed liveness probe kills with the probe's own grace",
    given: {
      pod: aPod({
        containers: [aContainer("a", { livenessProbe: { terminationGracePeriodSeconds: 5 } })],
      }),
      containers: [anAttempt("a")],
    },
    record: { tracked: { probes: { a: { containerId: "a-0", liveness: "failure" } } } },
    expect: ["stop a-0(5)"],
  },
  {
    name: "a verdict about an earlier attempt counts for nothing",
    given: { containers: [anAttempt("a", { restartCount: 1 })] },
    record: { tracked: { probes: { a: { containerId: "a-0", liveness: "failure" } } } },
    expect: [],
  },
  {
    name: "a failed startup probe kills",
    given: {
      pod: aPod({ containers: [aContainer("a", { startupProbe: {} })] }),
      containers: [anAttempt("a")],
    },
    record: { tracked: { probes: { a: { containerId: "a-0", startup: "failure" } } } },
    expect: ["stop a-0(30)"],
  },
  {
    name: "a container that was made but never started is replaced",
    given: { containers: [anAttempt("a", { state: "created" })] },
    expect: ["removeContainer a-0", "start a#1"],
  },
  {
    name: "a container in an unknown state is stopped first",
    given: { containers: [anAttempt("a", { state: "unknown" })] },
    expect: ["stop a-0(30)"],
  },
  {
    name: "only the newest ended attempt is kept",
    given: {
      containers: [
        anAttempt("a", { restartCount: 3 }),
        anEnd("a", 1, { restartCount: 2 }),
        anEnd("a", 1, { restartCount: 1 }),
      ],
    },
    expect: ["removeContainer a-1"],
  },
  {
    name: "a dead sandbox is replaced and its containers start again",
    given: { sandboxes: [gone], containers: [anEnd("a", 137)] },
    expect: ["sandbox#1", "start a#1"],
  },
  {
    name: "a container that outlived its sandbox is stopped first",
    given: { sandboxes: [gone], containers: [anAttempt("a")] },
    expect: ["stop a-0(30)", "sandbox#1", "start a#1"],
  },
  {
    name: "two ready sandboxes both go",
    given: { sandboxes: [aSandbox({ id: "sb-1", attempt: 1 }), aSandbox()], containers: [] },
    expect: ["stopSandbox sb-1", "stopSandbox sb-0", "sandbox#2", "start a#0"],
  },
  {
    name: "a sandbox without an address is replaced",
    given: { sandboxes: [aSandbox({ ips: [] })] },
    expect: ["stopSandbox sb-0", "sandbox#1", "start a#0"],
  },
  {
    name: "a dead sandbox of a pod that never restarts is not replaced",
    given: { pod: never, sandboxes: [gone], containers: [anEnd("a", 137)] },
    expect: [],
  },
  {
    name: "a dead sandbox is not replaced when all did their work",
    given: { pod: onFailure, sandboxes: [gone], containers: [anEnd("a", 0)] },
    expect: [],
  },
  {
    name: "old sandboxes go once nothing is kept in them",
    given: {
      sandboxes: [aSandbox({ id: "sb-1", attempt: 1 }), gone],
      containers: [anAttempt("a", { sandboxId: "sb-1", restartCount: 1 })],
    },
    expect: ["removeSandbox sb-0"],
  },
  {
    name: "an old sandbox stays while the last ended attempt lives in it",
    given: {
      sandboxes: [aSandbox({ id: "sb-1", attempt: 1 }), gone],
      containers: [anAttempt("a", { sandboxId: "sb-1", restartCount: 1 }), anEnd("a", 137)],
    },
    expect: [],
  },
  {
    name: "init containers run one after the other: first",
    given: { pod: withInit },
    expect: ["start prep#0"],
  },
  {
    name: "init containers run one after the other: wait",
    given: { pod: withInit, containers: [anAttempt("prep")] },
    expect: [],
  },
  {
    name: "init containers run one after the other: second",
    given: { pod: withInit, containers: [anEnd("prep", 0)] },
    expect: ["start prep2#0"],
  },
  {
    name: "init containers run one after the other: done",
    given: { pod: withInit, containers: [anEnd("prep2", 0), anEnd("prep", 0)] },
    expect: ["start a#0"],
  },
  {
    name: "a failed init container is restarted, even under Always",
    given: { pod: withInit, containers: [anEnd("prep", 1)] },
    expect: ["start prep#1"],
  },
  {
    name: "a lost init record does not run it again once regular containers exist",
    given: { pod: withInit, containers: [anAttempt("a")] },
    expect: [],
  },
  {
    name: "in a new sandbox init containers run again",
    given: {
      pod: withInit,
      sandboxes: [gone],
      containers: [anEnd("a", 137), anEnd("prep2", 0), anEnd("prep", 0)],
    },
    expect: ["sandbox#1", "start prep#0"],
  },
  {
    name: "in the new sandbox only what ran there counts",
    given: {
      pod: withInit,
      sandboxes: [aSandbox({ id: "sb-1", attempt: 1 }), gone],
      containers: [
        anEnd("prep", 0, { sandboxId: "sb-1", restartCount: 1 }),
        anEnd("a", 137),
        anEnd("prep2", 0),
      ],
    },
    expect: ["start prep2#0"],
  },
  { name: "a sidecar starts in its turn", given: { pod: withSidecar }, expect: ["start side#0"] },
  {
    name: "a running sidecar lets the next begin",
    given: { pod: withSidecar, containers: [anAttempt("side")] },
    expect: ["start prep#0"],
  },
  {
    name: "a sidecar with a startup probe holds the next back",
    given: {
      pod: aPod({ initContainers: [{ ...SIDE, startupProbe: {} }, PREP] }),
      containers: [anAttempt("side")],
    },
    expect: [],
  },
  {
    name: "a sidecar that ended while a later init container runs is restarted",
    given: { pod: withSidecar, containers: [anAttempt("prep"), anEnd("side", 0)] },
    expect: ["start side#1"],
  },
  {
    name: "a sidecar is restarted beside the regular containers whatever the pod's policy",
    given: {
      pod: aPod({ initContainers: [SIDE], restartPolicy: "Never" }),
      containers: [anAttempt("a"), anEnd("side", 0)],
    },
    expect: ["start side#1"],
  },
  {
    name: "a container that failed waits",
    given: {},
    record: {
      retries: {
        failures: {
          a: { reason: "ErrImagePull", message: "no", failures: 1, notBefore: at(10_000) },
        },
      },
    },
    expect: [],
    waits: { a: "ErrImagePull" },
    wakeAt: 10_000,
  },
  {
    name: "a sandbox that failed holds everything back",
    given: { sandboxes: [] },
    record: {
      retries: {
        failures: {
          "#sandbox": { reason: "", message: "no", failures: 1, notBefore: at(10_000) },
        },
      },
    },
    expect: [],
    wakeAt: 10_000,
  },
  {
    name: "ending: regular containers first, with what is left of the grace",
    given: { pod: withSidecar, containers: [anAttempt("a"), anAttempt("side")] },
    record: ENDING,
    expect: ["stop a-0(20), side-0(20) after a-0"],
  },
  {
    name: "ending: sidecars last to first",
    given: {
      pod: aPod({ initContainers: [SIDE, { ...SIDE, name: "side2" }] }),
      containers: [anEnd("a", 0), anAttempt("side"), anAttempt("side2")],
    },
    record: ENDING,
    expect: ["stop side-0(20) after side2-0, side2-0(20)"],
  },
  {
    name: "ending: sidecars wait for neither init containers nor ephemeral ones",
    given: {
      pod: aPod({ initContainers: [SIDE, PREP], ephemeralContainers: [DEBUG] }),
      containers: [anAttempt("debug"), anAttempt("prep"), anAttempt("side")],
    },
    record: ENDING,
    expect: ["stop debug-0(20), prep-0(20), side-0(20)"],
  },
  {
    name: "ending: past the deadline all at once",
    given: { pod: withSidecar, containers: [anAttempt("a"), anAttempt("side")] },
    record: ENDING,
    context: { now: at(20_000) },
    expect: ["stop a-0(0), side-0(0)"],
  },
  {
    name: "ended but still desired: sandbox, volumes and cgroup go, logs stay",
    given: { pod: never, containers: [anEnd("a", 0)] },
    record: { life: { kind: "terminated", cause: { kind: "completed" } } },
    expect: ["stopSandbox sb-0", "unmountVolumes", "removeCgroup"],
  },
  {
    name: "ended, desired, and the disk is short: the runtime keeps nothing, logs folder and volumes' folder stay",
    given: { pod: never, containers: [anEnd("a", 0)] },
    record: { life: { kind: "terminated", cause: { kind: "completed" }, cleared: true } },
    expect: [
      "stopSandbox sb-0",
      "unmountVolumes",
      "removeCgroup",
      "removeContainer a-0",
      "removeSandbox sb-0",
    ],
  },
  {
    name: "evicted: the runtime keeps nothing",
    given: { pod: never, containers: [anEnd("a", 137)] },
    record: {
      life: { kind: "terminated", cause: { kind: "evicted", reason: "Evicted", message: "low" } },
    },
    expect: [
      "stopSandbox sb-0",
      "unmountVolumes",
      "removeCgroup",
      "removeContainer a-0",
      "removeSandbox sb-0",
    ],
  },
  {
    name: "ended for its deadline: its containers and their logs stay",
    given: { pod: never, containers: [anEnd("a", 137)] },
    record: {
      life: {
        kind: "terminated",
        cause: { kind: "evicted", reason: "DeadlineExceeded", message: "late" },
      },
    },
    expect: ["stopSandbox sb-0", "unmountVolumes", "removeCgroup"],
  },
  {
    name: "ended and no longer desired: everything is removed",
    given: { pod: never, containers: [anEnd("a", 0)] },
    record: {
      life: { kind: "terminated", cause: { kind: "deleted" } },
      desired: { removed: true },
    },
    expect: [
      "stopSandbox sb-0",
      "unmountVolumes",
      "removeCgroup",
      "removeContainer a-0 with pod",
      "removeSandbox sb-0",
      "removeDirectories",
    ],
  },
];
