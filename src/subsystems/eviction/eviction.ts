/**
 * Keeps the node able to work when memory, disk or process numbers run out. Writes: which pressure the node is
 * under. In: measures of the machine, what pods use, thresholds. Out: conditions, node-level reclaim, pods that
 * are evicted with the reason. Invariants: at most one pod is evicted for pressure in a round, and the next round
 * begins when it has been cleaned up or 30 s are over; what is done is what `planEviction` returns.
 * Example: `new Eviction(settings, deps).run(signal)`.
 */

import { METRICS } from "../../api/metrics/metrics.ts";
import type { EvictionSignal } from "../../api/node/eviction-signals.ts";
import { type Decisions, podSubject } from "../../api/ports/decisions.ts";
import type { NodeEvents, PodEvents } from "../../api/ports/events.ts";
import type { EvictionAmount } from "../../config/eviction-thresholds.ts";
import type { Cell } from "../../kit/cell.ts";
import type { Clock, MonotonicMs, WallMs } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { Counter, Histogram, MetricsRegistry } from "../../kit/metrics.ts";
import { withTimeout } from "../../kit/within.ts";
import { DueStorage } from "./due-storage.ts";
import { evictionDecision, excessDecision, reclaimDecision } from "./eviction-decisions.ts";
import { hasLocalLimits, type LocalExcess } from "./local-limits.ts";
import { observationsOf, type SignalObservations } from "./observations.ts";
import {
  type EvictionPlan,
  type EvictionRules,
  type EvictionState,
  HARD_GRACE_SECONDS,
  isRelieved,
  NOTHING_MET,
  needsDisks,
  type PressurePlan,
  planEviction,
  type Victim,
} from "./plan.ts";
import type { EvictionPorts, EvictionRequest } from "./ports.ts";
import { type EvictionReport, reportEviction } from "./report.ts";
import type { EvictionSettings } from "./settings.ts";
import { type DiskName, diskPartsFor, type PressureCondition, SIGNAL_FACTS } from "./signals.ts";
import { type EvictionTexts, reclaimingText } from "./texts.ts";
import { replaceHard } from "./thresholds.ts";
import { type CandidatePod, lastLayerAt, type PodUsage } from "./usage.ts";

export type { AvailableByDevice } from "./due-storage.ts";
export type { NodeMeasures } from "./measures.ts";
export type { EvictionPorts, EvictionRequest, MeasuredNode } from "./ports.ts";
export { previewRecorded, type RecordedNode, readSummary } from "./recorded.ts";
export type { EvictionReport, ReportedPod, ReportedSignal } from "./report.ts";
export { type EvictionSettings, evictionSettings } from "./settings.ts";
export type { DiskLayout, PressureCondition, ReclaimStep } from "./signals.ts";
export type { CandidatePod, ContainerUsage, DiskUse, PodUsage } from "./usage.ts";

/** Dependencies beside the ports. */
interface EvictionDeps {
  readonly nodeName: string;
  readonly ports: EvictionPorts;
  readonly events: PodEvents & NodeEvents;
  readonly decisions: Pick<Decisions, "record">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  /** The pressure that the node is under, in the order of the conditions; written here only. */
  readonly pressure: Cell<readonly PressureCondition[]>;
}

/** Between two rounds (kubelet evictionMonitoringPeriod). */
const PERIOD_MS = 10_000;
/** How often containerd measures writable layers, and how long that takes at most. */
const LAYERS_PERIOD_MS = 10_000;
const LAYERS_TAKE_MS = 1_000;
/** Between two rounds however often the kernel reports that memory is short. */
const MIN_PAUSE_MS = 1_000;
/** Observations, about a period apart, that are kept to compute at which rate amounts shrink: a minute. */
const MAX_RECENT = 6;
/** How long the cleanup of an evicted pod is waited for (podCleanupTimeout). */
const CLEANUP_MS = 30_000;

/** See the head of this file. */
export class Eviction {
  readonly #settings: EvictionSettings;
  readonly #deps: EvictionDeps;
  readonly #evictions: Counter;
  readonly #statsAge: Histogram;
  readonly #dueStorage = new DueStorage();
  #state = NOTHING_MET;
  /** Observations of the last minute, oldest first. */
  readonly #recent: SignalObservations[] = [];
  #recentAt = Number.NEGATIVE_INFINITY as MonotonicMs;
  readonly #wakeup = new Wakeup();
  /** When the writable layers of the pods that were due were last measured; undefined where none was. */
  #layersAt: WallMs | undefined;
  /** Whether pods that were evicted in the previous run have been waited for. */
  #awaitedPrevious = false;
  /** The signal and outcome of reclaiming that the journal has last, while the pressure lasts. */
  #reclaimed: string | undefined;
  /** The signal that was last reported to the log, while the pressure lasts. */
  #reportedSignal: string | undefined;

  constructor(settings: EvictionSettings, deps: EvictionDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#evictions = deps.metrics.counter(METRICS.kubelet_evictions);
    this.#statsAge = deps.metrics.histogram(METRICS.kubelet_eviction_stats_age_seconds);
  }

  /** Watches the node until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { thresholds, localLimits } = this.#settings;
    if (thresholds.length === 0 && !localLimits) return;
    while (!signal.aborted) {
      const evicted = await this.#tolerantRound(signal);
      await (evicted.length === 0 ? this.#pause(signal) : this.#awaitCleanup(evicted, signal));
    }
  }

  /** Memory is reported to be short: the next round begins at once, but at least a second after the last one. */
  requestRound(): void {
    this.#wakeup.wake();
  }

  /** One round; resolves with the pods to wait for: those that were evicted. Throws `OutsideError`. */
  async round(signal: AbortSignal): Promise<readonly string[]> {
    const { ports } = this.#deps;
    // Asked before anything is measured: what ends meanwhile, or is listed only then, is part of the measures.
    const [hasUnobservedPods, leaving] = [ports.hasUnobservedPods(), ports.leavingPods()];
    const { measures, layout, available } = await ports.measureNode(signal);
    const rules = { ...this.#settings, layout };
    const observations = observationsOf(measures);
    this.#dueStorage.begin(this.#deps.clock.wall(), available);
    const before = this.#state;
    const plan = await this.#plan(rules, observations, signal);
    this.#state = plan.state;
    this.#keep(observations);
    this.#publish(plan.conditions);
    if (!plan.pressure) {
      this.#reclaimed = undefined;
      this.#reportedSignal = undefined;
    }
    if (plan.excesses.length > 0) return this.#evictExcesses(plan.excesses);
    if (!plan.pressure) return [];
    const round = { rules, plan, before, hasUnobservedPods, leaving, signal };
    return await this.#relieve(plan.pressure, round);
  }

  /**
   * Dry run of a round, with these hard thresholds in place of the configured ones of their signals.
   * Throws `OutsideError`.
   */
  async preview(
    hard: ReadonlyMap<EvictionSignal, EvictionAmount>,
    signal: AbortSignal,
  ): Promise<EvictionReport> {
    const { ports, clock } = this.#deps;
    const { measures, layout } = await ports.measureNode(signal);
    const usages = await ports.measurePods({ disks: true }, signal);
    const plan = planEviction({
      rules: {
        ...this.#settings,
        layout,
        thresholds: replaceHard(this.#settings.thresholds, hard),
      },
      observations: observationsOf(measures),
      pods: ports.candidates().map((pod) => ({ ...pod, usage: usages.get(pod.uid) })),
      state: { ...this.#state, observedAt: new Map() },
      now: clock.monotonic(),
    });
    return reportEviction(plan, layout, this.#recent[0]);
  }

  /** A failed measurement must not stop monitoring: it may succeed the next time. */
  async #tolerantRound(signal: AbortSignal): Promise<readonly string[]> {
    try {
      return await this.round(signal);
    } catch (error) {
      if (!isOutside(error) || signal.aborted) throw error;
      this.#deps.log.warn("failed to check the node for pressure", { error });
      return [];
    }
  }

  /** Pods are measured only when something depends on it: a plan without them shows whether it does. */
  async #plan(
    rules: EvictionRules,
    observations: SignalObservations,
    signal: AbortSignal,
  ): Promise<EvictionPlan> {
    const { ports, clock } = this.#deps;
    const found = ports.candidates();
    const now = clock.monotonic();
    const planWith = (usages: ReadonlyMap<string, PodUsage>) =>
      planEviction({
        rules,
        observations,
        pods: found.map((pod) => ({ ...pod, usage: usages.get(pod.uid) })),
        state: this.#state,
        now,
      });
    const rough = planWith(new Map());
    if (rough.pressure) {
      const disks = rules.localLimits || needsDisks(rough.pressure);
      return planWith(await ports.measurePods({ disks }, signal));
    }
    this.#layersAt = undefined;
    const limited = found.filter(({ pod }) => rules.localLimits && hasLocalLimits(pod));
    const due = this.#dueStorage.dueOf(limited, now);
    if (due.length === 0) return rough;
    const usages = await ports.measureStorage(new Set(due.map(({ uid }) => uid)), signal);
    this.#dueStorage.note(due, { usages, layout: rules.layout, now });
    this.#layersAt = lastLayerAt(usages);
    return planWith(usages);
  }

  #publish(conditions: readonly PressureCondition[]): void {
    const { pressure, log } = this.#deps;
    if (pressure.get().join() === conditions.join()) return;
    log.info("pressure on the node has changed", { conditions: conditions.join(", ") });
    pressure.set(conditions);
  }

  #evictExcesses(excesses: readonly LocalExcess[]): readonly string[] {
    for (const excess of excesses) {
      const { candidate, message, limit } = excess;
      const decision = excessDecision(excess, HARD_GRACE_SECONDS);
      this.#deps.decisions.record(podSubject(candidate.pod), decision);
      this.#end(candidate, { message, annotations: {}, graceSeconds: HARD_GRACE_SECONDS });
      this.#evictions.add({ eviction_signal: limit });
    }
    return excesses.map(({ candidate }) => candidate.uid);
  }

  /** Reclaims node-level resources first; then evicts one pod, if that was not enough. */
  async #relieve(pressure: PressurePlan, round: Round): Promise<readonly string[]> {
    const { ports, events, log } = this.#deps;
    const { resource } = pressure;
    const { signal } = pressure.threshold;
    const isNews = this.#reportedSignal !== signal;
    this.#reportedSignal = signal;
    const { available } = pressure.observed;
    if (isNews) log.warn("a resource is short on the node", { resource, signal, available });
    const message = reclaimingText(resource);
    events.ofNode({ type: "Warning", reason: "EvictionThresholdMet", message });
    if (await this.#reclaim(pressure, round)) return [];
    if (round.hasUnobservedPods) {
      if (isNews) log.info("no pod is evicted before the runtime has listed all of them");
      return [];
    }
    // One that the agent evicted before it was restarted is as good as a victim of this round.
    if (round.leaving.length > 0 && !this.#awaitedPrevious) {
      this.#awaitedPrevious = true;
      log.info("waiting for pods that were evicted before", { uids: round.leaving.join(", ") });
      return round.leaving;
    }
    this.#awaitedPrevious = true;
    const { disk } = SIGNAL_FACTS[signal];
    const latest = disk ? await this.#rankAgain(disk, round) : pressure;
    if (!latest) return [];
    const { victim } = latest;
    if (!victim) {
      if (isNews) log.warn("no pod can be evicted", { resource, pods: pressure.ranking.length });
      return [];
    }
    const { candidate } = victim.ranked;
    // Measuring pods took a while: this one may have ended meanwhile, and what it used is free.
    if (!ports.candidates().some(({ uid }) => uid === candidate.uid)) return [];
    this.#observeAge(round.plan);
    this.#evictVictim(latest, victim);
    return [candidate.uid];
  }

  /**
   * Plans again with disk usage that was measured after the shortage was found: older figures do not show which pod has
   * filled the disk, and another one would be evicted. Undefined when the shortage has passed meanwhile.
   */
  async #rankAgain(disk: DiskName, round: Round): Promise<PressurePlan | undefined> {
    const { rules, before, signal } = round;
    const { ports, clock } = this.#deps;
    const layers = diskPartsFor(disk, rules.layout).includes("rootfs");
    const usages = await ports.remeasurePods({ layers }, signal);
    const { measures } = await ports.measureNode(signal);
    const plan = planEviction({
      rules,
      observations: observationsOf(measures),
      pods: ports.candidates().map((pod) => ({ ...pod, usage: usages.get(pod.uid) })),
      state: before,
      now: clock.monotonic(),
    });
    this.#state = plan.state;
    return plan.pressure;
  }

  /** Whether it was enough. */
  async #reclaim(pressure: PressurePlan, { rules, signal }: Round): Promise<boolean> {
    const { ports, decisions, nodeName, log } = this.#deps;
    if (pressure.reclaim.length === 0) return false;
    for (const step of pressure.reclaim) {
      try {
        await ports.reclaim(step, signal);
      } catch (error) {
        if (!isOutside(error) || signal.aborted) throw error;
        log.warn("failed to reclaim", { step, error });
      }
    }
    const { measures } = await ports.measureNode(signal);
    const observations = observationsOf(measures);
    const relieved = isRelieved(rules, observations);
    const { signal: starved } = pressure.threshold;
    const available = observations.get(starved)?.available;
    const outcome = `${starved} ${relieved}`;
    // Pressure that lasts is met every ten seconds: the journal must not fill up with it.
    const subject = { kind: "node", name: nodeName } as const;
    if (outcome !== this.#reclaimed)
      decisions.record(subject, reclaimDecision(pressure, { relieved, available }));
    this.#reclaimed = outcome;
    return relieved;
  }

  #evictVictim(pressure: PressurePlan, victim: Victim): void {
    const { ranked, texts, graceSeconds } = victim;
    const { candidate } = ranked;
    // Reported once: a pod that is being ended only gets less time.
    if (candidate.ending !== "no") {
      this.#deps.ports.evict({ uid: candidate.uid, graceSeconds, ...texts, disrupted: true });
      return;
    }
    this.#deps.decisions.record(podSubject(candidate.pod), evictionDecision(pressure, victim));
    this.#end(candidate, { ...texts, graceSeconds, disrupted: true });
    this.#evictions.add({ eviction_signal: pressure.threshold.signal });
  }

  #end(
    { uid, pod }: CandidatePod,
    how: EvictionTexts & Pick<EvictionRequest, "graceSeconds"> & { readonly disrupted?: true },
  ): void {
    const { message, annotations, graceSeconds, disrupted = false } = how;
    const { ports, events, log } = this.#deps;
    log.warn("pod is evicted", { uid, message });
    events.ofPod(pod, { type: "Warning", reason: "Evicted", message, annotations });
    ports.evict({ uid, graceSeconds, message, disrupted });
  }

  #observeAge({ state, views }: EvictionPlan): void {
    const now = this.#deps.clock.wall();
    const acting = new Set(state.acting.map(({ signal }) => signal));
    for (const { threshold, observed } of views)
      if (observed && acting.delete(threshold.signal))
        this.#statsAge.observe((now - observed.atMs) / 1000, {
          eviction_signal: threshold.signal,
        });
  }

  async #awaitCleanup(uids: readonly string[], signal: AbortSignal): Promise<void> {
    const { ports, clock, log } = this.#deps;
    const timeout = { clock, ms: CLEANUP_MS };
    const ended = await withTimeout(timeout, signal, (waits) =>
      ports.untilCleanedUp(uids, waits),
    ).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (ended?.kind === "timedOut")
      log.warn("an evicted pod is not cleaned up in time", { uids: uids.join(", ") });
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const endsAt = clock.monotonic() + MIN_PAUSE_MS;
    await this.#wakeup.wait({ clock: clock.coalesced, ms: this.#pauseMs() }, signal);
    const leftMs = endsAt - clock.monotonic();
    if (leftMs > 0) await clock.sleep(leftMs, signal).catch(() => {});
  }

  /** The next round comes right after layers were measured again: what exceeds a limit is not found a period later. */
  #pauseMs(): number {
    if (this.#layersAt === undefined) return PERIOD_MS;
    const next = this.#layersAt + LAYERS_PERIOD_MS + LAYERS_TAKE_MS - this.#deps.clock.wall();
    return next >= LAYERS_TAKE_MS && next < PERIOD_MS ? next : PERIOD_MS;
  }

  /** Rounds that came early do not shorten the time that a rate is computed from. */
  #keep(observations: SignalObservations): void {
    const now = this.#deps.clock.monotonic();
    if (now - this.#recentAt < PERIOD_MS - MIN_PAUSE_MS) return;
    this.#recentAt = now;
    this.#recent.push(observations);
    if (this.#recent.length > MAX_RECENT) this.#recent.shift();
  }
}

/** State of one round. */
interface Round {
  readonly rules: EvictionRules;
  readonly plan: EvictionPlan;
  /** State before the round. */
  readonly before: EvictionState;
  /** Whether pods were missing when it began; see `EvictionPorts`. */
  readonly hasUnobservedPods: boolean;
  /** Pods that were leaving when it began. */
  readonly leaving: readonly string[];
  readonly signal: AbortSignal;
}
