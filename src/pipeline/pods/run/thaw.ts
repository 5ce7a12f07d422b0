import { messageOf } from "../../../kit/errors.ts";
import type { Run } from "./run.ts";

/** How long after the end of the grace what is still there is thawed again: by then the runtime has sent SIGKILL. */
const AFTER_KILL_MS = 1_000;

/**
 * Carries out `stop` on a pod that is not frozen. A container can freeze cgroups of its own, and a frozen process takes no
 * signal: the runtime would wait for its end for ever. Thawed before, and once more when the grace is over, as
 * what was thawed may have been frozen again meanwhile. The stop neither waits for that nor depends on it.
 */
export async function stopThawed(
  run: Run,
  graceSeconds: number,
  stop: () => Promise<void>,
): Promise<void> {
  const { clock, ports, log } = run.deps;
  const thaw = () =>
    ports.prerequisites.thawCgroup(run.record.pod).catch((error: unknown) => {
      log.warn("thawing the cgroup of a pod", { uid: run.record.uid, error: messageOf(error) });
    });
  void thaw();
  const cancel = clock.alarm(graceSeconds * 1000 + AFTER_KILL_MS, () => void thaw());
  try {
    await stop();
  } finally {
    cancel();
  }
}
