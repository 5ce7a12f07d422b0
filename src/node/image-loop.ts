/**
 * Keeps images in order: lists them for the node's status, notes their use, and removes what is not needed. In:
 * time, whether every source was seen. Invariant: nothing is removed before it is known which pods are wanted.
 */
import { type Reading, until } from "../kit/cell.ts";
import { isOutside } from "../kit/errors.ts";
import type { TaskScope } from "../kit/scope.ts";
import { withTimeout } from "../kit/within.ts";
import type { Outside } from "../outside/outside.ts";
import type { Images } from "../subsystems/images/images.ts";

interface ImageLoopDeps {
  readonly outside: Pick<Outside, "clock" | "log">;
  readonly scope: TaskScope;
  readonly images: Pick<Images, "list" | "upkeep">;
  /** Whether every source was seen. */
  readonly seen: Reading<boolean>;
}

/** Between two listings for the node's status (kubelet imageCache). */
const LIST_MS = 30_000;
/** Interval between garbage collections (kubelet ImageGCPeriod). */
const UPKEEP_MS = 5 * 60_000;

/** Starts the loops; they end with the scope. */
export function startImageLoops({ outside, scope, images, seen }: ImageLoopDeps): void {
  const { clock, log } = outside;
  scope.spawn("image listing", "restart", async (signal) => {
    for (;;) {
      try {
        await images.list(signal);
      } catch (error) {
        if (!isOutside(error)) throw error;
        log.verbose(2, "failed to list images", { error });
      }
      await clock.coalesced.sleep(LIST_MS, signal);
    }
  });
  scope.spawn("image upkeep", "restart", async (signal) => {
    if (!seen.get()) {
      await images.upkeep(false, signal);
      const timeout = { clock, ms: UPKEEP_MS };
      await withTimeout(timeout, signal, (waits) => until(seen, (is) => is, waits));
    }
    for (;;) {
      await images.upkeep(seen.get(), signal);
      await clock.coalesced.sleep(UPKEEP_MS, signal);
    }
  });
}
