import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { after } from "../../kit/instant.ts";
import { SerialQueue } from "../../kit/limits/serial-queue.ts";
import type { CgroupPlan } from "./writes.ts";

/** How passes over the groups of the classes are planned and applied. */
interface QosPassesDeps {
  readonly clock: Clock;
  readonly plan: (pods: readonly IdentifiedPod[]) => readonly CgroupPlan[];
  /** Throws the first failure. */
  readonly apply: (plans: readonly CgroupPlan[]) => Promise<void>;
}

/** For this long after a pass its values are not read again. */
const FRESH_MS = 5_000;

/**
 * Passes over the QoS cgroups. Every pod that starts asks for one, and few of them change a value: a plan that was applied
 * a moment ago is not compared with the kernel again. What others change in between is corrected by the next pass.
 */
export class QosPasses {
  readonly #deps: QosPassesDeps;
  readonly #passes = new SerialQueue();
  #pods: readonly IdentifiedPod[] = [];
  #queued: Promise<void> | undefined;
  /** The plans that were applied last, and until when they are not compared with the kernel. */
  #applied: { readonly text: string; readonly until: MonotonicMs } | undefined;

  constructor(deps: QosPassesDeps) {
    this.#deps = deps;
  }

  /** Has the groups set for these pods. Calls that overlap share a pass with the pods of the latest. */
  update(pods: readonly IdentifiedPod[]): Promise<void> {
    this.#pods = pods;
    this.#queued ??= this.#passes.run(() => {
      this.#queued = undefined;
      return this.#pass();
    });
    return this.#queued;
  }

  async #pass(): Promise<void> {
    const { clock, plan, apply } = this.#deps;
    const plans = plan(this.#pods);
    const text = JSON.stringify(plans);
    const known = this.#applied;
    if (known?.text === text && clock.monotonic() < known.until) return;
    this.#applied = undefined;
    await apply(plans);
    if (plans.every(isExact)) this.#applied = { text, until: after(clock.monotonic(), FRESH_MS) };
  }
}

/** Whether the values are those that were written: one that follows what is in use changes with it. */
function isExact({ writes }: CgroupPlan): boolean {
  return writes.every(({ usage, value }) => usage === undefined || value === NO_LIMIT);
}

const NO_LIMIT = "-1";
