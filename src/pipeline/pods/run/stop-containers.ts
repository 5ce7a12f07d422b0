import { isOutside } from "../../../kit/errors.ts";
import { allValues, inParallel } from "../../../kit/in-parallel.ts";
import { withTimeout } from "../../../kit/within.ts";
import type { StopRequest } from "../plan/actions.ts";
import type { Run } from "./run.ts";
import { stopThawed } from "./thaw.ts";

/** The runtime is never given less to stop a container (kuberuntime minimumGracePeriodInSeconds). */
const MINIMUM_STOP_SECONDS = 2;

/** One container that could not be stopped. */
interface StopFault {
  readonly name: string;
  readonly error: unknown;
}

/** One that waited for others which could not be stopped, and was not stopped either. */
class NotItsTurn extends Error {}

/**
 * Stops containers, all at once but for those that have to wait for their turn; resolves when the last has
 * stopped, with what could not be. Rejects when the run's signal is aborted.
 */
export async function stopContainers(
  stops: readonly StopRequest[],
  run: Run,
): Promise<readonly StopFault[]> {
  const ends = new Map(stops.map(({ id }) => [id, Promise.withResolvers<void>()]));
  const faults: StopFault[] = [];
  const stopInTurn = async (stop: StopRequest) => {
    const end = ends.get(stop.id);
    const before = (stop.after ?? []).map((id) => ends.get(id)?.promise);
    try {
      await stopContainer(stop, run, before);
      end?.resolve();
    } catch (error) {
      end?.reject(new NotItsTurn());
      if (!(error instanceof NotItsTurn)) faults.push({ name: stop.name, error });
    }
  };
  for (const { promise } of ends.values()) promise.catch(() => {});
  // All at once: those that wait for their turn are begun, too, as they wait for the others.
  allValues(await inParallel(stops, stops.length, stopInTurn));
  run.signal.throwIfAborted();
  return faults;
}

/**
 * Hook, turn, runtime: the way of ending one container within its grace (kuberuntime killContainer). The hook
 * runs at once, also in a container that has to wait for others; without a grace there is none.
 */
export async function stopContainer(
  stop: StopRequest,
  run: Run,
  before: readonly (Promise<void> | undefined)[] = [],
): Promise<void> {
  const { events, hooks, runtime } = run.deps.ports;
  const { name, message } = stop;
  events.ofPod(run.record.pod, { type: "Normal", reason: "Killing", message }, name);
  let leftSeconds = stop.graceSeconds;
  if (stop.preStop && leftSeconds > 0)
    leftSeconds -= await hooks.preStop(run.record.pod, stop, run.signal);
  if (before.length > 0 && leftSeconds > 0)
    leftSeconds -= await awaitTurn(before, leftSeconds, run);
  run.signal.throwIfAborted();
  const seconds = Math.max(leftSeconds, MINIMUM_STOP_SECONDS);
  try {
    await stopThawed(run, seconds, () => runtime.stopContainer(stop.id, seconds, run.signal));
  } catch (error) {
    if (!isOutside(error, "notFound")) throw error;
  }
}

/** Waits for the others, `seconds` at most; resolves with the whole seconds that took. */
async function awaitTurn(
  others: readonly (Promise<void> | undefined)[],
  seconds: number,
  { deps: { clock }, signal }: Run,
): Promise<number> {
  const began = clock.monotonic();
  const timeout = { clock, ms: seconds * 1000 };
  await withTimeout(timeout, signal, () => Promise.all(others));
  return Math.floor((clock.monotonic() - began) / 1000);
}
