/**
 * Notifies the service manager (systemd) of the state of the agent. In: health. Out: `READY=1` once pods are managed, `STATUS=`,
 * `WATCHDOG=1` as long as a restart would cure nothing, `STOPPING=1`. Invariants: one message at a time; a manager that
 * cannot be notified does not stop the agent.
 */
import { type Reading, until } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { NEVER_ABORTED, withTimeout } from "../../kit/within.ts";
import type { ServiceNotifier } from "../../outside/systemd/service-notifier.ts";
import { judgeWatchdog, type WatchedAgent } from "./judge-watchdog.ts";

interface ServiceNotifyDeps {
  readonly manager: ServiceNotifier;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly watched: () => WatchedAgent;
  /** Whether every source of pods was seen: the line that says what is waited for is replaced as soon as it came. */
  readonly seen: Reading<boolean>;
  /** One line for `systemctl status`. */
  readonly status: () => string;
}

/** How often the status line is brought up to date where no watchdog asks for more. */
const STATUS_MS = 60_000;
/**
 * How many times more often the manager is notified while the agent reports a problem or a notification has failed: an agent
 * that recovers in time is not ended, and a slow machine that lost `READY=1` or `WATCHDOG=1` gets it soon after.
 */
const RETRY_FACTOR = 6;

/** Sends assignments; false when they could not be sent. */
type Notify = (assignments: readonly string[], signal: AbortSignal) => Promise<boolean>;

/** Begins to notify; the agent manages its pods by now. Ends with the scope. */
export function startServiceNotify(deps: ServiceNotifyDeps): void {
  const { scope } = deps;
  const notify = notifyWith(deps);
  scope.defer("notice of the stop", async () => {
    await notify(["STOPPING=1"], NEVER_ABORTED);
  });
  scope.spawn("service notifications", "restart", (signal) => keepNotifying(deps, notify, signal));
}

/** Logs the first of failures in a row. */
function notifyWith({ manager, log }: ServiceNotifyDeps): Notify {
  let hasFailed = false;
  return async (assignments, signal) => {
    try {
      await manager.notify(assignments, signal);
      hasFailed = false;
    } catch (error) {
      if (signal.aborted || !isOutside(error)) throw error;
      if (!hasFailed) log.error("cannot notify the service manager; will retry", { error });
      hasFailed = true;
    }
    return !hasFailed;
  };
}

async function keepNotifying(
  deps: ServiceNotifyDeps,
  notify: Notify,
  signal: AbortSignal,
): Promise<void> {
  const { manager, log, watched, status } = deps;
  const { watchdogMs } = manager;
  // Twice within the time that the manager waits, as the Go kubelet does (watchdog_linux.go).
  const periodMs = watchdogMs === undefined ? STATUS_MS : watchdogMs / 2;
  if (watchdogMs !== undefined)
    log.info("starting the systemd watchdog", { intervalSeconds: periodMs / 1000 });
  let reported: string | undefined;
  let logged: string | undefined;
  while (!signal.aborted) {
    const problem = judgeWatchdog(watched());
    const now = problem === undefined ? status() : `not well: ${problem}`;
    if (problem !== undefined && watchdogMs !== undefined && problem !== logged)
      log.error("the watchdog is not notified, as the agent is not healthy", { error: problem });
    logged = problem;
    const assignments = [
      ...(reported === undefined ? ["READY=1"] : []),
      ...(problem === undefined && watchdogMs !== undefined ? ["WATCHDOG=1"] : []),
      ...(now === reported ? [] : [`STATUS=${now}`]),
    ];
    const isSent = assignments.length === 0 || (await notify(assignments, signal));
    if (isSent) reported = now;
    const isWell = problem === undefined && isSent;
    await untilNext(deps, isWell ? periodMs : periodMs / RETRY_FACTOR, signal);
  }
}

/** Until there is something to report: so long, or until the sources of pods that are waited for were seen. */
async function untilNext(
  { clock, seen }: ServiceNotifyDeps,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  if (seen.get()) await clock.sleep(ms, signal);
  else await withTimeout({ clock, ms }, signal, (waits) => until(seen, Boolean, waits));
}
