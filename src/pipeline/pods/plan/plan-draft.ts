// pure
import type { Decision } from "../../../api/decisions.ts";
import type { PodEventText } from "../../../api/event-text.ts";
import type { ObservedSandbox } from "../../../api/observation.ts";
import type { BackoffPolicy } from "../../../kit/backoff.ts";
import type { MonotonicMs, WallMs } from "../../../kit/clock.ts";
import type { PodRecord, Wait } from "../record/record.ts";
import type { PodAction, PodPlan } from "./actions.ts";
import type { KeptDead } from "./dead-containers.ts";

/** Inputs of planning beside the record. */
export interface PlanContext {
  readonly now: MonotonicMs;
  readonly wallNow: WallMs;
  readonly restartBackoff: BackoffPolicy;
  /** Ended attempts of a container that are kept. */
  readonly keptDead: KeptDead;
  /** Whether the runtime answers and is ready; nothing is asked of it before. */
  readonly runtimeReady: boolean;
  /** Whether the runtime can give new pods a network; its message when not. */
  readonly network: { readonly ready: boolean; readonly message: string };
  /** How long a plan holds at most without being recreated (`syncFrequency`). */
  readonly syncMs: number;
}

/** Collects a plan; the planners below write into it in order. */
export class PlanDraft {
  readonly actions: PodAction[] = [];
  readonly waits: Record<string, Wait> = {};
  readonly standing: Decision[] = [];
  readonly events: PodEventText[] = [];
  /** Containers that are stopped by this plan to be started with other resources. */
  readonly restarting = new Set<string>();
  wakeAt: MonotonicMs | undefined;

  /** Plan again at `at`, or earlier when a signal arrives. */
  wake(at: MonotonicMs): void {
    if (this.wakeAt === undefined || at < this.wakeAt) this.wakeAt = at;
  }

  finish(): PodPlan {
    return {
      actions: this.actions,
      waits: this.waits,
      standing: this.standing,
      events: this.events,
      wakeAt: this.wakeAt,
    };
  }
}

/** The sandbox the containers of this plan run in. */
export type SandboxPlan =
  | { readonly kind: "use"; readonly sandbox: ObservedSandbox }
  | { readonly kind: "create" }
  /** No container can be started now, or none should be. */
  | { readonly kind: "none" };

/** A sandbox that is there or will be by then. */
export type UsableSandbox = Exclude<SandboxPlan, { kind: "none" }>;

/** Inputs that planning shares between the containers of a pod. */
export interface PlanParts {
  readonly record: PodRecord;
  readonly sandbox: UsableSandbox;
  readonly context: PlanContext;
  readonly draft: PlanDraft;
}
