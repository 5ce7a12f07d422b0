/**
 * Takes back claims that are held for pods that are gone: deleted while the agent was away, or by force, or known only as
 * containers of the runtime. It runs when there may be such claims, and again while some are left.
 */
import type { PodUid } from "../../api/observation.ts";
import type { PodFacts } from "../../api/pod-facts.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { claimsHeldFor } from "./claim-info.ts";
import type { ClaimKeeper } from "./claim-keeper.ts";

interface StaleClaimsDeps {
  readonly keeper: ClaimKeeper;
  readonly pods: PodFacts;
  readonly isInRuntime: (pod: PodUid, signal: AbortSignal) => Promise<boolean>;
  /** Changes whenever a driver comes or goes. */
  readonly driverChanges: Reading<number>;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
}

/** As long as any are left (reconcilePeriod). */
const RETRY_MS = 60_000;

/** The loop; see above. */
export class StaleClaims {
  readonly #deps: StaleClaimsDeps;
  readonly #wakeup = new Wakeup();
  /** The last failure by pod, so that each is logged once. */
  readonly #faults = new Map<string, string>();

  constructor(deps: StaleClaimsDeps) {
    this.#deps = deps;
  }

  /** There may be such claims: they are taken back once the sources were seen. */
  check(): void {
    this.#wakeup.wake();
  }

  /** Begins to take claims back. */
  start(): void {
    const { pods, keeper, driverChanges, scope, clock } = this.#deps;
    const wake = () => this.#wakeup.wake();
    const stops = [
      driverChanges.subscribe(wake),
      pods.subscribe((uid, fact) => {
        if (fact === undefined && claimsHeldFor(keeper.claims, uid).length > 0) wake();
      }),
    ];
    scope.defer("stale resource claims", () => {
      for (const stop of stops) stop();
    });
    scope.spawn("stale resource claims", "restart", async (signal) => {
      while (!signal.aborted) {
        const left = await this.#takeBack(signal);
        const ms = left > 0 ? RETRY_MS : Number.POSITIVE_INFINITY;
        await this.#wakeup.wait({ clock, ms }, signal);
      }
    });
  }

  /** Resolves with how many pods still have claims that should be taken back. */
  async #takeBack(signal: AbortSignal): Promise<number> {
    const { keeper } = this.#deps;
    const held = new Set([...keeper.claims.values()].flatMap(({ pods }) => [...pods]));
    let left = await this.#try("no pod", () => keeper.unprepareUnused(signal), signal);
    for (const pod of held) {
      if (!this.#isGone(pod)) continue;
      left += await this.#try(pod, () => this.#unprepare(pod, signal), signal);
    }
    return left;
  }

  async #unprepare(pod: PodUid, signal: AbortSignal): Promise<void> {
    const { keeper, isInRuntime } = this.#deps;
    if (await isInRuntime(pod, signal))
      throw new Error("the runtime still has something of the pod");
    if (this.#isGone(pod)) await keeper.unprepare(pod, signal);
  }

  #isGone(pod: PodUid): boolean {
    const life = this.#deps.pods.get(pod)?.life;
    return life === undefined || life === "terminated" || life === "released";
  }

  async #try(pod: string, act: () => Promise<void>, signal: AbortSignal): Promise<number> {
    try {
      await act();
      this.#faults.delete(pod);
      return 0;
    } catch (error) {
      signal.throwIfAborted();
      const fault = messageOf(error);
      if (this.#faults.get(pod) !== fault)
        this.#deps.log.warn("failed to unprepare resource claims of a pod that is gone", {
          pod,
          error: fault,
        });
      this.#faults.set(pod, fault);
      return 1;
    }
  }
}
