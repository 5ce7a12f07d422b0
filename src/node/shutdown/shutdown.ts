/**
 * Graceful shutdown of the node (KEP-2000, KEP-2712). Owns: the lock by which the machine waits for us before it goes
 * down, and whether it does (`shuttingDown`). In: logind's notice that a shutdown begins or is cancelled. Out: pods that
 * are ended by priority, the node's events and metrics, the journal. Invariants: without a configured period nothing is
 * asked of logind; the lock is released when pods have ended or their time is over, whatever fails.
 * Example: `new NodeShutdown(periods, deps).start()`.
 */
import { type DecisionInputs, makeDecision } from "../../api/decisions.ts";
import type { Pod } from "../../api/generated/types.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import { isTerminalPhase } from "../../api/pod/pod.ts";
import type { NodeEvents } from "../../api/ports/events.ts";
import { formatDuration } from "../../api/text/duration.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import { type Cell, type Reading, until } from "../../kit/cell.ts";
import type { WallMs } from "../../kit/clock.ts";
import { isOutside, messageOf, OutsideError } from "../../kit/errors.ts";
import type { HealthCheck } from "../../kit/health/health.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { untilAborted, withTimeout } from "../../kit/within.ts";
import type { Files } from "../../outside/host/host.ts";
import type { InhibitorLock, Logind, LogindSession } from "../../outside/systemd/logind.ts";
import type { Journal } from "../../subsystems/journal/journal.ts";
import { untilChanged } from "../until-changed.ts";
import { type EndPodsDeps, endPods } from "./end-pods.ts";
import { type ShutdownPeriod, totalSeconds } from "./plan-shutdown.ts";
import type { ShutdownState, ShutdownTimes } from "./shutdown-state.ts";

/** Pods as the API has them. */
interface ReportedPods {
  get(uid: string): Pod | undefined;
  subscribe(onChange: () => void): () => void;
}

interface ShutdownDeps extends EndPodsDeps {
  readonly logind: Logind;
  readonly files: Pick<Files, "makeDirectory" | "writeAtomic">;
  readonly scope: TaskScope;
  readonly events: NodeEvents;
  readonly journal: Pick<Journal, "record" | "flush">;
  readonly state: ShutdownState;
  /** Whether every source of pods was seen. */
  readonly seen: Reading<boolean>;
  /** Pods and statuses in the API; absent without an API server. */
  readonly reported?: ReportedPods;
  /** Absent without the gate GracefulNodeShutdownBasedOnPodPriority. */
  readonly metrics?: MetricsRegistry;
  /** Whether the node shuts down; written here only. */
  readonly shuttingDown: Cell<boolean>;
}

/** As the Go kubelet has it: another agent that takes the node over finds the same. */
const LOGIND_FOLDER = "/etc/systemd/logind.conf.d";
const LOGIND_FILE = `${LOGIND_FOLDER}/99-kubelet.conf`;
const WHO = "kubelet";
const WHY = "Kubelet needs time to handle node shutdown";
/** How long sources of pods are waited for when a shutdown has begun. */
const SEEN_MS = 5_000;
/** How long the machine waits at most for the API to receive the statuses of ended pods: it may be the machine's own. */
const REPORT_MS = 2_000;
const RECONNECT = { initialMs: 1_000, maxMs: 60_000 };
/** logind reads its files a moment after it was notified. */
const RELOAD_TRIES = 20;
const RELOAD_PAUSE_MS = 100;

/** See the head of this file. */
export class NodeShutdown {
  readonly #periods: readonly ShutdownPeriod[];
  readonly #deps: ShutdownDeps;
  #session: LogindSession | undefined;
  #lock: InhibitorLock | undefined;
  /** Ends the work of the shutdown that is under way. */
  #cancel: AbortController | undefined;
  #problem: string | undefined = "the connection to logind has not been made yet";
  #times: ShutdownTimes | undefined;

  constructor(periods: readonly ShutdownPeriod[], deps: ShutdownDeps) {
    this.#periods = periods;
    this.#deps = deps;
    if (deps.metrics) this.#expose(deps.metrics);
  }

  /** Fails while the machine would go down without waiting for pods. */
  get check(): HealthCheck {
    return {
      name: "node-shutdown",
      severity: "warning",
      measure: () => ({
        lagMs: undefined,
        problem:
          this.#problem === undefined
            ? undefined
            : `pods are not ended before a shutdown of the machine: ${this.#problem}`,
      }),
    };
  }

  /** Follows logind in the scope. */
  start(): void {
    this.#deps.scope.spawn("node shutdown", "restart", (signal) => this.#run(signal));
    this.#deps.scope.defer("shutdown lock", () => this.#releaseLock());
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    await this.#recall();
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#follow(() => {
          failures = 0;
        }, signal);
        this.#problem = "the connection to logind was lost";
      } catch (error) {
        if (signal.aborted || !isOutside(error)) throw error;
        if (failures === 0)
          log.warn("cannot delay a shutdown of the machine; will retry", { error });
        this.#problem = messageOf(error);
      }
      failures += 1;
      await clock.sleep(retryDelayMs(failures, RECONNECT), signal).catch(() => {});
    }
  }

  /** Logs a shutdown that was not finished: the machine went down before, or the agent. */
  async #recall(): Promise<void> {
    this.#times = await this.#deps.state.read();
    if (this.#times && this.#times.endedAt === undefined)
      this.#recordEnd("not finished", { startedAtMs: this.#times.startedAt });
  }

  /** Holds the lock and receives notices of shutdowns until the connection or the lock is lost. */
  async #follow(onReady: () => void, signal: AbortSignal): Promise<void> {
    const { logind, log } = this.#deps;
    const session = await logind.open((begins) => this.#onNotice(begins), signal);
    this.#session = session;
    try {
      await this.#extendDelay(session, signal);
      await this.#takeLock(session, signal);
      this.#problem = undefined;
      onReady();
      log.info("a shutdown of the machine waits for pods", {
        seconds: totalSeconds(this.#periods),
      });
      // One that began before the subscription is not reported again.
      if (await session.isPreparingForShutdown()) this.#onNotice(true);
      await untilAborted(session.closed, signal);
    } finally {
      this.#session = undefined;
      await session.close();
    }
  }

  /** Has logind wait long enough, by a file where it does not (nodeshutdown_manager_linux.go). */
  async #extendDelay(session: LogindSession, signal: AbortSignal): Promise<void> {
    const { clock, files } = this.#deps;
    const wantedMs = totalSeconds(this.#periods) * 1000;
    if (wantedMs <= (await session.inhibitDelayMs())) return;
    const text = `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${wantedMs / 1000}\n`;
    await files.makeDirectory(LOGIND_FOLDER, 0o755);
    await files.writeAtomic(LOGIND_FILE, text, 0o644);
    await session.reload();
    let delayMs = 0;
    for (let tries = 0; tries < RELOAD_TRIES; tries += 1) {
      delayMs = await session.inhibitDelayMs();
      if (wantedMs <= delayMs) return;
      await clock.sleep(RELOAD_PAUSE_MS, signal);
    }
    throw new OutsideError(
      "precondition",
      `node shutdown manager was unable to update logind InhibitDelayMaxSec to ${formatDuration(wantedMs)} (ShutdownGracePeriod), current value of InhibitDelayMaxSec (${formatDuration(delayMs)}) is less than requested ShutdownGracePeriod`,
    );
  }

  /** Takes the lock in place of the one that is held. One that is lost later ends the session, and is taken again. */
  async #takeLock(session: LogindSession, signal: AbortSignal): Promise<void> {
    const before = this.#lock;
    const lock = await session.inhibit(WHO, WHY, signal);
    this.#lock = lock;
    before?.release();
    void lock.gone.then(() => {
      if (this.#lock !== lock) return;
      this.#lock = undefined;
      return session.close();
    });
  }

  #releaseLock(): void {
    const lock = this.#lock;
    this.#lock = undefined;
    lock?.release();
  }

  /** A shutdown begins, or the one that began is cancelled. */
  #onNotice(begins: boolean): void {
    const { shuttingDown, events, log, scope } = this.#deps;
    // Notified again after a new connection.
    if (shuttingDown.get() === begins || scope.signal.aborted) return;
    log.info(begins ? "the machine shuts down" : "the shutdown of the machine is cancelled");
    const message = `Shutdown manager detected shutdown ${begins ? "event" : "cancellation"}`;
    events.ofNode({ type: "Normal", reason: "Shutdown", message });
    shuttingDown.set(begins);
    if (begins) this.#begin();
    else this.#callOff();
  }

  #begin(): void {
    const { scope } = this.#deps;
    const cancel = new AbortController();
    this.#cancel = cancel;
    scope.spawn("shutdown of pods", "restart", (leaving) =>
      this.#shutDown(AbortSignal.any([leaving, cancel.signal]), leaving),
    );
  }

  /** Pods that have ended stay so; the next shutdown is waited for again. */
  #callOff(): void {
    const { scope } = this.#deps;
    this.#cancel?.abort(new Error("the shutdown of the machine was cancelled"));
    const session = this.#session;
    if (this.#lock || !session) return;
    scope.spawn("shutdown lock", "restart", async (signal) => {
      if (this.#session === session && !this.#lock) await this.#takeLock(session, signal);
    });
  }

  async #shutDown(signal: AbortSignal, leaving: AbortSignal): Promise<void> {
    const { clock, state, journal, log, seen } = this.#deps;
    const startedAt = clock.wall();
    const began = clock.monotonic();
    const tookMs = () => Math.round(clock.monotonic() - began);
    this.#times = { startedAt };
    await state.write(this.#times);
    try {
      // An agent that has just been started does not know its pods yet.
      await withTimeout({ clock, ms: SEEN_MS }, signal, (waits) => until(seen, Boolean, waits));
      const { uids, ended, cutOff } = await endPods(this.#periods, this.#deps, signal);
      const rule = cutOff.length === 0 ? "all have ended" : "time is over";
      this.#recordEnd(rule, { tookMs: tookMs(), ended, cutOff });
      await this.#untilReported(uids, signal);
      log.info("pods have ended for the shutdown of the machine", { ended, cutOff });
    } catch (error) {
      if (leaving.aborted || !signal.aborted) throw error;
      this.#recordEnd("cancelled", { tookMs: tookMs() });
    }
    this.#times = { startedAt, endedAt: clock.wall() };
    await state.write(this.#times);
    await journal.flush();
    // A shutdown that was cancelled leaves the lock held, for the next one.
    if (!signal.aborted) this.#releaseLock();
  }

  /** The network goes down next: statuses that are not in the API by then come after the next boot. */
  async #untilReported(uids: readonly string[], signal: AbortSignal): Promise<void> {
    const { reported, clock } = this.#deps;
    if (!reported) return;
    const isReported = (uid: string) => {
      const phase = reported.get(uid)?.status?.phase;
      return phase === undefined || isTerminalPhase(phase);
    };
    await withTimeout({ clock, ms: REPORT_MS }, signal, (waits) =>
      untilChanged(reported, waits, () => uids.every(isReported)),
    );
  }

  #recordEnd(rule: string, inputs: DecisionInputs["endShutdown"]): void {
    const { journal, nodeName } = this.#deps;
    journal.record({ kind: "node", name: nodeName }, makeDecision("endShutdown", rule, inputs));
  }

  #expose(metrics: MetricsRegistry): void {
    const timeOf = (wall: WallMs | undefined) => [
      { labels: {}, value: Math.floor((wall ?? 0) / 1000) },
    ];
    metrics.collected(METRICS.kubelet_graceful_shutdown_start_time_seconds, () =>
      timeOf(this.#times?.startedAt),
    );
    metrics.collected(METRICS.kubelet_graceful_shutdown_end_time_seconds, () =>
      timeOf(this.#times?.endedAt),
    );
  }
}
