import type { ProbeRules, WorkerState } from "./verdict.ts";

/**
 * Pauses before the extra attempts of a readiness probe whose first one failed. A container is probed as soon as it runs, when most
 * programs do not listen yet; with a period of 10 s it would be reported ready that much later than it is. (The Go
 * kubelet makes extra attempts, too: one with each status that it computes of a pod that is not ready.)
 */
const PAUSES_MS = [250, 1_000] as const;

/** Extra attempts of one readiness probe: a few for each container, until it is ready for the first time. */
export class EarlyAttempts {
  #containerId: string | undefined;
  #made = 0;

  /**
   * Milliseconds until an extra attempt, after one that took `tookMs`; `undefined` when the next one comes at its usual time: when no
   * pause as long is left before that, or when the attempt took longer than the pause.
   */
  pauseMs(rules: ProbeRules, state: WorkerState, tookMs: number): number | undefined {
    if (rules.kind !== "readiness") return undefined;
    if (state.containerId !== this.#containerId) {
      this.#containerId = state.containerId;
      this.#made = 0;
    }
    // Also what an agent before this one knew as ready: a few failures soon one after the other do not make it unready.
    if (state.last === "success" || state.verdict === "success") this.#made = PAUSES_MS.length;
    const pause = PAUSES_MS[this.#made];
    if (pause === undefined || state.last !== "failure") return undefined;
    const isTooClose = pause + tookMs > (rules.finePeriodMs ?? rules.periodMs) - pause;
    if (isTooClose || tookMs > pause) return undefined;
    this.#made += 1;
    return pause;
  }
}
