/**
 * Tells the service manager (systemd) how the agent is. In: health. Out: `READY=1` once pods are looked after, `STATUS=`,
 * `WATCHDOG=1` as long as a restart would cure nothing, `STOPPING=1`. Invariants: one message at a time; a manager that
 * cannot be told does not stop the agent.
 */
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import type { ServiceNotifier } from "../../outside/systemd/service-notifier.ts";
import { judgeWatchdog, type WatchedAgent } from "./judge-watchdog.ts";

/** Dependencies for notifying it. */
export interface ServiceNotifyDeps {
  readonly manager: ServiceNotifier;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly watched: () => WatchedAgent;
  /** One line for `systemctl status`. */
  readonly status: () => string;
}

/** How often the status line is brought up to date where no watchdog asks for more. */
const STATUS_MS = 60_000;
/** How many times more often an agent that reports a problem is checked, so that one that recovers in time is not ended. */
const UNHEALTHY_FACTOR = 6;

/** Begins to tell; the agent looks after its pods by now. Ends with the scope. */
export function startServiceNotify(deps: ServiceNotifyDeps): void {
  const { manager, scope, log } = deps;
  const notify = async (assignments: readonly string[], signal: AbortSignal) => {
    try {
      await manager.notify(assignments, signal);
    } catch (error) {
      if (signal.aborted || !isOutside(error)) throw error;
      log.error("cannot notify the service manager", { error });
    }
  };
  scope.defer("notice of the stop", () => notify(["STOPPING=1"], NEVER_ABORTED));
  scope.spawn("service notifications", "restart", (signal) => keepTelling(deps, notify, signal));
}

async function keepTelling(
  { manager, clock, log, watched, status }: ServiceNotifyDeps,
  notify: (assignments: readonly string[], signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { watchdogMs } = manager;
  // Twice within the time that the manager waits, as the Go kubelet does (watchdog_linux.go).
  const periodMs = watchdogMs === undefined ? STATUS_MS : watchdogMs / 2;
  let told = status();
  await notify(["READY=1", `STATUS=${told}`], signal);
  if (watchdogMs !== undefined)
    log.info("starting the systemd watchdog", { intervalSeconds: periodMs / 1000 });
  while (!signal.aborted) {
    const problem = judgeWatchdog(watched());
    const now = problem === undefined ? status() : `not well: ${problem}`;
    if (problem !== undefined && watchdogMs !== undefined && now !== told)
      log.error("the watchdog is not notified, as the agent is not healthy", { error: problem });
    const assignments = [
      ...(problem === undefined && watchdogMs !== undefined ? ["WATCHDOG=1"] : []),
      ...(now === told ? [] : [`STATUS=${now}`]),
    ];
    if (assignments.length > 0) await notify(assignments, signal);
    told = now;
    await clock.sleep(problem === undefined ? periodMs : periodMs / UNHEALTHY_FACTOR, signal);
  }
}
