import type { Clock, WallMs } from "../../../kit/clock.ts";

/** The wall clock may be set while we wait: longer waits are taken in pieces. */
const LONGEST_MS = 600_000;

/** Resolves when the wall clock reaches `at`; rejects with the signal's reason. */
export async function untilWall(clock: Clock, at: WallMs, signal: AbortSignal): Promise<void> {
  for (let left = at - clock.wall(); left > 0; left = at - clock.wall())
    await clock.sleep(Math.min(left, LONGEST_MS), signal);
}

/** Calls `fire` once the wall clock reaches `at`; the result cancels it. */
export function atWall(clock: Clock, at: WallMs, fire: () => void): () => void {
  const wait = (): (() => void) => {
    const left = at - clock.wall();
    return clock.alarm(Math.min(Math.max(left, 0), LONGEST_MS), () => {
      if (clock.wall() >= at) fire();
      else cancel = wait();
    });
  };
  let cancel = wait();
  return () => cancel();
}
