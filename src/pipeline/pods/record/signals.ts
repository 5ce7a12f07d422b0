// pure

import type { Observation } from "../../../api/observation.ts";
import type { ActuatedPod, PodAllocation } from "../../../api/pod/allocation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { type ContainerProbeResult, INITIAL_PROBE_RESULT } from "../../../api/probe-result.ts";
import type { BackoffEntry } from "../../../kit/backoff.ts";
import type { MonotonicMs } from "../../../kit/clock.ts";
import type {
  DecidedAdmission,
  PendingResize,
  PodRecord,
  Prerequisites,
  TerminationCause,
} from "./record.ts";

/** The outcome of one action, as far as the record needs it. */
export type ActionOutcome =
  | { readonly kind: "done" }
  /** Ended early because the plan was superseded; nothing is known but that it ended. */
  | { readonly kind: "abandoned" }
  | {
      readonly kind: "failed";
      readonly reason: string;
      readonly message: string;
      readonly retryInMs: number;
    };

/** Outcome of an action for the step or container it concerned. */
export interface StepResult {
  /** Container name or `#step`. */
  readonly step: string;
  readonly outcome: ActionOutcome;
  /** Prerequisite that is known to be present or absent now. */
  readonly prerequisite?: {
    readonly part: keyof Prerequisites;
    readonly now: "present" | "absent";
  };
  /** The runtime did not answer: the containers count as not asked to stop. */
  readonly unreached?: true;
}

/** All signals to a pod. */
export type PodSignal =
  /** The desired pod of the source; same UID. */
  | { readonly kind: "desired"; readonly pod: IdentifiedPod }
  /** The source dropped the pod: end it if it runs, then leave nothing. */
  | { readonly kind: "removed"; readonly graceSeconds?: number }
  | DecidedAdmission
  /** Other resources were allocated to the pod, as that generation requests. */
  | {
      readonly kind: "resized";
      readonly allocation: PodAllocation;
      readonly generation: number;
      readonly actuated: ActuatedPod;
    }
  /** The pod cannot have the resources that it asks for. */
  | { readonly kind: "resizePending"; readonly pending: PendingResize }
  | { readonly kind: "terminate"; readonly cause: TerminationCause; readonly graceSeconds?: number }
  | { readonly kind: "observed"; readonly observed: Observation }
  /** The observation at `asOf` failed; with `problem` once that has lasted. */
  | {
      readonly kind: "unobserved";
      readonly asOf: MonotonicMs;
      readonly problem: string | undefined;
    }
  /** A run of actions began; what was planned into the record goes with it. */
  | {
      readonly kind: "acting";
      readonly backoff: Readonly<Record<string, BackoffEntry & { readonly key: string }>>;
      readonly touches: readonly (keyof Prerequisites)[];
      /** Ids of attempts that are stopped to be started again. */
      readonly replaces: readonly string[];
      /** It stops containers, for whatever reason. */
      readonly stops?: boolean;
    }
  /** The run ended at `at`; only what was asked for later shows what it did. */
  | {
      readonly kind: "acted";
      readonly at: MonotonicMs;
      readonly results: readonly StepResult[];
      /** Resources of containers and cgroup since then. */
      readonly actuated: ActuatedPod;
    }
  | (ContainerProbeResult & { readonly kind: "probed" })
  /** Progress of a container that is being created; `undefined` when it waits for nothing any more. */
  | { readonly kind: "progress"; readonly container: string; readonly message: string | undefined }
  /** Dead containers of the pod are to be removed, since the disk is short. */
  | { readonly kind: "clear" }
  /** Something outside the record changed (time, node facts): plan again. */
  | { readonly kind: "tick" };

/**
 * Whether a signal needs no turn of its own, because it changes neither plan nor status: the next turn does for it, too. More
 * than half of the turns of a pod that starts would be for such signals.
 */
export function isQuiet(record: PodRecord, signal: PodSignal): boolean {
  switch (signal.kind) {
    case "acted":
      return isSuccess(signal) && record.resize.inProgress === undefined;
    case "probed":
      return confirms(record, signal);
    default:
      return false;
  }
}

/** What was done shows in the observation that is made next; a failure shows by itself. */
function isSuccess({ results }: Extract<PodSignal, { kind: "acted" }>): boolean {
  return results.every(({ outcome, unreached }) => outcome.kind === "done" && !unreached);
}

/** Whether a probe reports what already counts of the attempt of its container. */
function confirms(
  { tracked }: PodRecord,
  { container, containerId, probe, result }: Extract<PodSignal, { kind: "probed" }>,
): boolean {
  const known = tracked.probes[container];
  const before = known?.containerId === containerId ? known[probe] : undefined;
  return result === (before ?? INITIAL_PROBE_RESULT[probe]);
}
