// pure
import type { Decision } from "../../../api/decisions.ts";
import type { PodEventText } from "../../../api/event-text.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import type { ContainerKind } from "../../../api/pod/pod.ts";
import type { BackoffEntry } from "../../../kit/backoff.ts";
import type { MonotonicMs } from "../../../kit/clock.ts";
import type { TerminationCause, Wait } from "../record/record.ts";

/** A container to stop, with its grace period and the message of the Killing event. */
export interface StopRequest {
  readonly id: string;
  readonly name: string;
  /** Whole seconds; the executor never gives the runtime less than 2. */
  readonly graceSeconds: number;
  /** Text of the Killing event. */
  readonly message: string;
  /** Whether the pre-stop hook runs. */
  readonly preStop: boolean;
  /** Ids of others of the same action that are to have ended before, as long as the grace lasts. */
  readonly after?: readonly string[];
  /** It is started again, however it ends. */
  readonly again?: true;
}

/** Everything that can be done for a pod. Ordered, idempotent by name, executed one after the other. */
export type PodAction =
  | { readonly kind: "makeDirectories"; readonly decision: Decision }
  | { readonly kind: "createCgroup"; readonly decision: Decision }
  | { readonly kind: "mountVolumes"; readonly decision: Decision }
  /** Has drivers make the pod's claims ready; those that are get no call. */
  | { readonly kind: "prepareClaims"; readonly decision: Decision }
  | { readonly kind: "createSandbox"; readonly attempt: number; readonly decision: Decision }
  | {
      readonly kind: "startContainer";
      readonly name: string;
      readonly containerKind: ContainerKind;
      readonly restartCount: number;
      /** The running sandbox, or undefined when an earlier action of the run makes it. */
      readonly sandboxId: string | undefined;
      readonly backoff: (BackoffEntry & { readonly key: string }) | undefined;
      readonly decision: Decision;
    }
  /** All at once; the action ends when the last has stopped. */
  | {
      readonly kind: "stopContainers";
      readonly stops: readonly StopRequest[];
      readonly decision: readonly Decision[];
    }
  /** Brings the pod's group, and containers that run, to what the pod was given. */
  | {
      readonly kind: "resizePod";
      readonly containers: readonly { readonly name: string; readonly id: string }[];
      readonly decision: Decision;
    }
  | { readonly kind: "stopSandbox"; readonly id: string; readonly cleanup?: true }
  | {
      readonly kind: "removeContainer";
      readonly id: string;
      readonly name: string;
      readonly restartCount: number;
      /** Its log and its other files go one by one, or with the pod's folders, which are removed next. */
      readonly files: "own" | "with pod";
      /** Nothing waits for it: what follows is done also when it fails. */
      readonly cleanup?: true;
    }
  | { readonly kind: "removeSandbox"; readonly id: string; readonly cleanup?: true }
  | { readonly kind: "unprepareClaims"; readonly decision: Decision }
  | { readonly kind: "unmountVolumes" }
  | { readonly kind: "removeCgroup" }
  | { readonly kind: "removeDirectories" };

/** Next actions for a pod, and when to plan again without a signal. */
export interface PodPlan {
  readonly actions: readonly PodAction[];
  /** Containers that are to be started but not now. */
  readonly waits: Readonly<Record<string, Wait>>;
  /** Decisions that lead to no action: delays, containers left as they are. */
  readonly standing: readonly Decision[];
  /** Events to record once, as long as their cause lasts. */
  readonly events: readonly PodEventText[];
  readonly wakeAt: MonotonicMs | undefined;
  /** The pod is to be terminated, and why. */
  readonly ends?: { readonly cause: TerminationCause; readonly decision: Decision };
}

/** Removes an attempt of a container of a pod that stays, with its log. */
export function removalOf({
  id,
  name,
  restartCount,
}: ObservedContainer): PodAction & { readonly kind: "removeContainer" } {
  return { kind: "removeContainer", id, name, restartCount, files: "own" };
}

/** Nothing to do, and nothing to wait for. */
export const NO_PLAN: PodPlan = {
  actions: [],
  waits: {},
  standing: [],
  events: [],
  wakeAt: undefined,
};
