// pure

import type { Decision } from "../../../api/decisions.ts";
import type { Observation, PodUid } from "../../../api/observation.ts";
import { type ActuatedPod, allocationOf, type PodAllocation } from "../../../api/pod/allocation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { EvictionCause } from "../../../api/pod-news.ts";
import type { ProbeKind, ProbeResult } from "../../../api/probe-result.ts";
import type { BackoffEntry } from "../../../kit/backoff.ts";
import type { MonotonicMs, WallMs } from "../../../kit/clock.ts";

/** Why a pod is being ended. */
export type TerminationCause =
  /** The source no longer names it (manifest removed, API deletion). */
  | { readonly kind: "deleted" }
  /** All its containers are done, or one failed for good. */
  | { readonly kind: "completed" }
  /** An orphan: found running without a source. */
  | { readonly kind: "orphaned" }
  /** Admission refused it although it ran before. */
  | { readonly kind: "rejected" }
  /** The node ends it: eviction, deadline, shutdown, preemption. */
  | (EvictionCause & { readonly kind: "evicted" });

/** Life of a pod; it only moves forward. */
export type PodLife =
  | { readonly kind: "waiting" }
  | { readonly kind: "running" }
  | {
      readonly kind: "terminating";
      readonly cause: TerminationCause;
      /** All that its containers get from when they are asked to stop; only requests make it shorter. */
      readonly graceSeconds: number;
      /** When the grace is over; expected to be, until the containers are asked to stop. */
      readonly killBy: MonotonicMs;
      /** Its containers were asked to stop: the grace runs. */
      readonly asked?: true;
    }
  | {
      readonly kind: "terminated";
      readonly cause: TerminationCause;
      /** The runtime is to keep nothing of it, since the disk is short. */
      readonly cleared?: true;
    }
  | { readonly kind: "released" };

/** Whether a prerequisite exists; `unknown` after a restart until it was created or removed again. */
export type PrerequisiteState = "absent" | "present" | "unknown";

/** Prerequisites of a pod. */
export interface Prerequisites {
  readonly directories: PrerequisiteState;
  readonly cgroup: PrerequisiteState;
  readonly volumes: PrerequisiteState;
  /** Of a pod that has resource claims: whether any is prepared for it. Absent is as `absent`. */
  readonly claims?: PrerequisiteState;
}

/** Why something could not be done, in the words the status shows. */
export interface StepFailure {
  /** Waiting reason, e.g. `ErrImagePull`; empty for failures of the whole pod. */
  readonly reason: string;
  readonly message: string;
  readonly failures: number;
  /** Not tried again before. */
  readonly notBefore: MonotonicMs;
}

/** Decision of admission. */
export type DecidedAdmission =
  | { readonly kind: "deferred"; readonly reason: string; readonly message: string }
  | { readonly kind: "admitted" }
  | { readonly kind: "rejected"; readonly reason: string; readonly message: string };

/** State of a pod's admission. */
export type Admission = { readonly kind: "undecided" } | DecidedAdmission;

/** The last probe results of one attempt of a container. */
export interface ProbeVerdicts extends Readonly<Partial<Record<ProbeKind, ProbeResult>>> {
  readonly containerId: string;
}

/**
 * How far `observed` can be trusted: not while an action runs, nor until something was seen after it; not at all
 * where the pod was found when the agent began and could not be read yet.
 */
type Freshness = "acting" | "stale" | "fresh" | "unobserved";

/** A container that is to be started but not yet, and why. */
export interface Wait {
  readonly reason: string;
  readonly message: string;
}

/** A change in place that was asked for and not given. */
export interface PendingResize {
  readonly reason: "Deferred" | "Infeasible";
  readonly message: string;
  /** Of the pod that asked for it. */
  readonly generation: number;
  readonly sinceMs: WallMs;
}

/** Resources that the source asks for and the pod was not given. */
export interface RequestedResize {
  readonly allocation: PodAllocation;
  /** Of the spec that asks for them. */
  readonly generation: number;
}

/** A resize that was given. */
interface ResizeInProgress {
  /** By which generation it was asked for. */
  readonly generation: number;
  /** Why it failed last, as the previous run published it. */
  readonly error?: string;
}

/** State of the pod's in-place resize (KEP-1287). */
export interface PodResize {
  /** Absent while the pod was given what its source asks for. */
  readonly requested?: RequestedResize;
  readonly pending?: PendingResize;
  /** Given and not yet carried out everywhere. */
  readonly inProgress?: ResizeInProgress;
  /** Resources of containers and cgroup. */
  readonly actuated: ActuatedPod;
}

/** The pod as its source has it. */
interface DesiredState {
  /** Other resources than those of the record's `pod` are in `resize.requested`. */
  readonly pod: IdentifiedPod;
  /** `file`, `http`, `api`, or `runtime` for pods only found running. */
  readonly source: PodOrigin;
  /** The source dropped the pod: everything of it is removed. */
  readonly removed: boolean;
}

/** How far `observed` shows what the runtime has now. */
interface SyncState {
  readonly freshness: Freshness;
  /** When the last run of actions ended. */
  readonly actedAt: MonotonicMs;
  /** Why the pod cannot be observed, once that has lasted; `observed` is what was last known then. */
  readonly degraded: string | undefined;
}

/** Times before which actions are not retried. */
export interface Retries {
  /** Restart back-off by container name; clock of `WallMs`, as the runtime's end times are. */
  readonly backoff: Readonly<Record<string, RestartBackoff>>;
  /** Last failure by container name, or by step (`#prepare`, `#sandbox`, `#teardown`, …). */
  readonly failures: Readonly<Record<string, StepFailure>>;
}

/**
 * Exit codes by name of regular containers that ran and that the runtime knows nothing of any more: removed
 * behind our back, or lost with the runtime's own notes. They have ended, whatever became of them.
 */
export type LostContainers = Readonly<Record<string, number>>;

/** Known facts about containers that the runtime does not report. */
export interface TrackedContainers {
  /** Results of probes by container name. */
  readonly probes: Readonly<Record<string, ProbeVerdicts>>;
  /** Ids of attempts that were stopped to be started again, while the runtime has them. */
  readonly replaced: readonly string[];
  /** Regular containers that ran and are gone from the runtime. */
  readonly lost: LostContainers;
}

/** Results of the last plan and its actions that the status shows. */
interface PlanState {
  /** Containers that are to be started but not yet, by name. */
  readonly waits: Readonly<Record<string, Wait>>;
  /**
   * The last waits of containers that are being started, by name: shown until they have, as the Go kubelet's
   * reason_cache.go keeps a reason until the start has succeeded. Absent where there are none.
   */
  readonly earlierWaits?: Readonly<Record<string, Wait>>;
  /** Decisions that hold as long as nothing changes (delays, containers left stopped). */
  readonly standing: readonly Decision[];
  /** Progress of containers that are being created, by name; shown unless there is a failure. */
  readonly progress: Readonly<Record<string, string>>;
}

/** Everything that is known of a pod. Replaced, never changed; written by the pod's actor only. */
export interface PodRecord {
  readonly uid: PodUid;
  /** When the agent first saw it. */
  readonly startedAt: WallMs;
  /** With the resources that it was given: by it everything goes. */
  readonly pod: IdentifiedPod;
  readonly desired: DesiredState;
  readonly resize: PodResize;
  readonly life: PodLife;
  readonly admission: Admission;
  readonly prerequisites: Prerequisites;
  /** The runtime's last observation of it. */
  readonly observed: Observation;
  readonly sync: SyncState;
  readonly retries: Retries;
  readonly tracked: TrackedContainers;
  readonly lastPlan: PlanState;
}

/** Whether the pod is from a manifest, and not from the API server. */
export function isStatic({ desired: { source } }: Pick<PodRecord, "desired">): boolean {
  return source === "file" || source === "http";
}

/** The source of the desired pod. */
export type PodOrigin = "file" | "http" | "api" | "runtime";

/** Back-off of one container; the key covers what, when changed, starts afresh (image, resources). */
export interface RestartBackoff extends BackoffEntry {
  readonly key: string;
}

/** Steps of a pod that may fail as a whole. */
export const STEP_PREPARE = "#prepare";
/** Changing its resources in place; a failure here keeps nothing else from being done. */
export const STEP_RESIZE = "#resize";
/** Making the sandbox. */
export const STEP_SANDBOX = "#sandbox";
/** Ending and removing. */
export const STEP_TEARDOWN = "#teardown";
/** Removing what a running pod needs no more; a failure here keeps nothing else from being done. */
export const STEP_CLEANUP = "#cleanup";

/** Observation of a pod that never ran. */
export const NOTHING_OBSERVED: Omit<Observation, "asOf"> = { sandboxes: [], containers: [] };

/** A pod whose containers and cgroup have the resources of its spec. */
export function asSpecified(pod: IdentifiedPod): ActuatedPod {
  const allocation = allocationOf(pod);
  return { ...allocation, group: allocation };
}
