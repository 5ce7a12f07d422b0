// Builders for records and observations: a test says only what it is about.

import type { Container, PodSpec } from "../../src/api/generated/types.ts";
import type { ObservedContainer, ObservedSandbox, PodUid } from "../../src/api/observation.ts";
import { containerHash } from "../../src/api/pod/container-hash.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { MonotonicMs, WallMs } from "../../src/kit/clock.ts";
import type { PlanContext } from "../../src/pipeline/pods/plan/plan-draft.ts";
import type { PodRecord } from "../../src/pipeline/pods/record/record.ts";
import { newRecord } from "../../src/pipeline/pods/record/transition.ts";

export const UID = "uid-1" as PodUid;
/** Wall time that tests call now. */
export const WALL = 1_800_000_000_000 as WallMs;

export const at = (ms: number): MonotonicMs => ms as MonotonicMs;
export const wall = (offsetMs: number): WallMs => (WALL + offsetMs) as WallMs;

export function aContainer(name: string, more: Partial<Container> = {}): Container {
  return { name, image: "img:1", ...more };
}

export function aPod(spec: Partial<PodSpec> = {}): IdentifiedPod {
  return {
    metadata: { name: "web", namespace: "default", uid: UID },
    spec: {
      containers: [aContainer("a")],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      ...spec,
    },
  };
}

export function aSandbox(more: Partial<ObservedSandbox> = {}): ObservedSandbox {
  return {
    id: "sb-0",
    attempt: 0,
    ready: true,
    createdAtMs: WALL,
    ips: ["10.1.0.1"],
    hostNetwork: false,
    stopped: more.ready === false,
    ...more,
  };
}

/** An attempt of a container; running by default. */
export function anAttempt(name: string, more: Partial<ObservedContainer> = {}): ObservedContainer {
  const restartCount = more.restartCount ?? 0;
  return {
    id: `${name}-${restartCount}`,
    name,
    sandboxId: "sb-0",
    state: "running",
    restartCount,
    hash: containerHash({ name, image: more.image ?? "img:1" }),
    image: "img:1",
    imageRef: "sha256:1",
    imageId: "sha256:1",
    createdAtMs: wall(restartCount * 1000),
    startedAtMs: wall(restartCount * 1000),
    finishedAtMs: undefined,
    exitCode: 0,
    reason: "",
    message: "",
    ...more,
  };
}

/** An ended attempt. */
export function anEnd(
  name: string,
  exitCode: number,
  more: Partial<ObservedContainer> = {},
): ObservedContainer {
  const reason = exitCode === 0 ? "Completed" : "Error";
  return anAttempt(name, { state: "exited", exitCode, reason, finishedAtMs: wall(0), ...more });
}

export interface Given {
  readonly pod?: IdentifiedPod;
  readonly sandboxes?: readonly ObservedSandbox[];
  readonly containers?: readonly ObservedContainer[];
}

/** Groups of a record of which a test names what it is about. */
type Group = "desired" | "sync" | "retries" | "tracked" | "lastPlan";

/** In what a record is to differ from that of a running pod. */
export type RecordChanges = Partial<Omit<PodRecord, Group>> & {
  readonly [K in Group]?: Partial<PodRecord[K]>;
};

/** A running pod of which everything around it is in place. */
export function aRecord(given: Given = {}, more: RecordChanges = {}): PodRecord {
  const pod = given.pod ?? aPod();
  const observed = {
    asOf: at(0),
    sandboxes: given.sandboxes ?? [aSandbox()],
    containers: given.containers ?? [],
  };
  const record = newRecord({
    uid: UID,
    pod,
    source: "file",
    observed,
    startedAt: WALL,
    mayHavePrerequisites: false,
  });
  return {
    ...record,
    life: { kind: "running" },
    admission: { kind: "admitted" },
    prerequisites: { directories: "present", cgroup: "present", volumes: "present" },
    ...more,
    desired: { ...record.desired, ...more.desired },
    sync: { ...record.sync, ...more.sync },
    retries: { ...record.retries, ...more.retries },
    tracked: { ...record.tracked, ...more.tracked },
    lastPlan: { ...record.lastPlan, ...more.lastPlan },
  };
}

export function aContext(more: Partial<PlanContext> = {}): PlanContext {
  return {
    now: at(0),
    wallNow: WALL,
    keptDead: { perContainer: 1, minAgeMs: 0 },
    syncMs: 60_000,
    runtimeReady: true,
    restartBackoff: { initialMs: 10_000, maxMs: 300_000 },
    network: { ready: true, message: "" },
    ...more,
  };
}
