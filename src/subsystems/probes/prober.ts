import type { PodUid } from "../../api/observation.ts";
import { probeHandlerOf } from "../../api/pod/probe-handlers.ts";
import type { PodNews } from "../../api/pod-news.ts";
import type { ProbeKind, ProbeResult } from "../../api/probe-result.ts";
import type { ProbeTarget } from "../../api/probe-target.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { Slots } from "../../kit/limits/slots.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { Publisher } from "../../kit/topic.ts";
import { EarlyAttempts } from "./early-attempts.ts";
import type { FineRate } from "./fine-rate.ts";
import type { HandlerKind, ProbeOutcome } from "./outcome.ts";
import { MANY_UNCOLLECTED, probeEvent, uncollectedText } from "./probe-event.ts";
import { ProbeLog, recordedOutcome } from "./probe-log.ts";
import { ProbeTurns } from "./probe-turns.ts";
import type { ProbeEvent, ProbeRecord, ProbeReport } from "./report.ts";
import { type ProbePorts, runInSlot, runProbe } from "./run-probe.ts";
import type { Schedule } from "./schedule.ts";
import type { ProbeSettings } from "./settings.ts";
import type { Spread } from "./spread.ts";
import {
  connectAlike,
  fieldPathOf,
  type ProbedPod,
  probeFactsOf,
  probeOf,
  rulesOf,
  type Watched,
} from "./target.ts";
import {
  conclude,
  consider,
  endsWithTime,
  hasMoreToDo,
  type Moment,
  NEW_WORKER,
  needsTrigger,
  type ProbeFacts,
  type ProbeRules,
  type Step,
  type WorkerState,
} from "./verdict.ts";

/** Dependencies shared by all probes of the node. */
export interface ProberShared {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly ports: ProbePorts;
  readonly schedule: Schedule;
  readonly spread: Spread;
  readonly fineRate: FineRate;
  readonly execSlots: Slots;
  readonly agentStartedAt: MonotonicMs;
  readonly historyLength: number;
  /** Whether exec probes that ran out of time leave nothing behind, unless set by the pod. */
  readonly endLeftovers: boolean;
  readonly news: Publisher<PodNews>;
  readonly recordEvent: (event: ProbeEvent) => void;
  /** Called for every attempt, for the metrics. */
  readonly onProbe: (prober: Prober, record: ProbeRecord) => void;
}

/**
 * Extra runs of a readiness probe begin no closer together than this, however often the pod is looked
 * at; what comes earlier is put off, not left out.
 */
const TRIGGER_GAP_MS = 100;

/**
 * The loop of one probe of one container: probes, at once and then once a period, from its first turn
 * until it is stopped. One attempt at a time: a turn that comes during one is made up for right after,
 * more than one are not (time.Ticker).
 */
export class Prober {
  readonly kind: ProbeKind;
  readonly #shared: ProberShared;
  readonly #abort = new AbortController();
  readonly log: ProbeLog;
  #pod: ProbedPod;
  #target: ProbeTarget;
  #settings: ProbeSettings;
  #rules: ProbeRules;
  /** Container that has been warned about. */
  #warnedOf: string | undefined;
  #state: WorkerState = NEW_WORKER;
  #facts: ProbeFacts;
  #step: Step | undefined;
  readonly #turns: ProbeTurns;
  /** The attempt in progress; never rejects. */
  #probing: Promise<void> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #isTriggered = false;
  readonly #leader: Prober | undefined;
  readonly #early = new EarlyAttempts();

  /** With a `leader` that asks for the same by TCP it takes its turns together with that, so that both share a connection. */
  constructor(
    kind: ProbeKind,
    { pod, target, settings }: Watched,
    shared: ProberShared,
    leader?: Prober,
  ) {
    this.kind = kind;
    this.#leader = leader;
    this.log = new ProbeLog(shared.historyLength);
    this.#pod = pod;
    this.#target = target;
    this.#settings = settings;
    this.#shared = shared;
    this.#rules = rulesOf(target.spec, kind, settings);
    this.#facts = probeFactsOf(pod, target, kind);
    this.#turns = new ProbeTurns(shared, () => this.#takeTurn());
    this.#followLeader(target);
    this.#expect(1);
    const { clock, random, agentStartedAt } = shared;
    const now = clock.monotonic();
    // After a restart of the agent all pods are taken on at one instant; their probes need not be.
    const isYoung = now - agentStartedAt < this.#rules.periodMs;
    this.#turns.set(now + (isYoung ? random.next() * this.#rules.periodMs : 0));
  }

  get pod(): ProbedPod {
    return this.#pod;
  }

  get container(): string {
    return this.#target.spec.name;
  }

  get handler(): HandlerKind {
    return probeHandlerOf(probeOf(this.#target.spec, this.kind) ?? {}) ?? "none";
  }

  /** Takes what is now known of pod and container. */
  update({ pod, target, settings }: Watched): void {
    if (target.spec !== this.#target.spec || settings !== this.#settings) {
      this.#expect(-1);
      this.#rules = rulesOf(target.spec, this.kind, settings);
      this.#expect(1);
      this.#followLeader(target);
    }
    this.#pod = pod;
    this.#target = target;
    this.#settings = settings;
    this.#facts = probeFactsOf(pod, target, this.kind);
    const hasEnded = this.#step?.kind === "exit";
    if (!hasEnded && needsTrigger(this.#rules, this.#state, this.#facts)) this.#trigger();
    else if (this.#turns.at === undefined && this.#probing === undefined) this.#resume();
  }

  /**
   * Ends the loop; an attempt under way is cut off and its outcome is not published. Gives what there is to wait for
   * until it is over; that never rejects.
   */
  stop(): Promise<void> | undefined {
    if (this.#abort.signal.aborted) return this.#probing;
    this.#abort.abort(new Error("the probe was stopped"));
    this.#turns.cancel();
    this.#expect(-1);
    return this.#probing;
  }

  #followLeader({ spec }: ProbeTarget): void {
    const leader = this.#leader;
    const isAlike = leader !== undefined && connectAlike(spec, this.#rules, leader.#rules);
    this.#turns.follow(isAlike ? leader.#turns : undefined);
  }

  /** Reserves the turns of this probe, or releases them. */
  #expect(count: 1 | -1): void {
    const { periodMs, finePeriodMs } = this.#rules;
    this.#shared.spread.expect(finePeriodMs ?? periodMs, count);
    if (finePeriodMs !== undefined) this.#shared.fineRate.expect(finePeriodMs, count);
  }

  /** Its present period. */
  get #periodMs(): number {
    const { periodMs, finePeriodMs } = this.#rules;
    if (finePeriodMs === undefined) return periodMs;
    return this.#shared.fineRate.periodMs(finePeriodMs, periodMs);
  }

  report(): ProbeReport {
    const { containerId, verdict, last, run } = this.#state;
    return {
      podUid: this.#pod.uid,
      namespace: this.#pod.namespace,
      podName: this.#pod.name,
      container: this.container,
      kind: this.kind,
      handler: this.handler,
      containerId,
      verdict,
      run: last === undefined ? undefined : { result: last, length: run },
      doing: this.#probing !== undefined ? { kind: "looking" } : this.#step,
      periodMs: this.#periodMs,
      timeoutMs: this.#rules.timeoutMs,
      nextInMs: this.#nextInMs(),
      counts: this.log.counts,
      busyMs: this.log.busyMs,
      killed: this.log.killed,
      history: this.log.records,
    };
  }

  #nextInMs(): number | undefined {
    const { at } = this.#turns;
    return at === undefined ? undefined : Math.max(0, at - this.#shared.clock.monotonic());
  }

  #moment(): Moment {
    const { clock } = this.#shared;
    return { monotonic: clock.monotonic(), wall: clock.wall() };
  }

  #takeTurn(): void {
    const { state, publish, step } = consider(
      this.#rules,
      this.#state,
      this.#facts,
      this.#moment(),
    );
    this.#state = state;
    this.#step = step;
    this.#publish(publish);
    // Anything else that it waits for comes with an update.
    if (endsWithTime(step)) this.#scheduleNext();
    else if (step.kind === "probe" && state.containerId !== undefined)
      this.#launch(state.containerId);
  }

  #scheduleNext(): void {
    if (this.#abort.signal.aborted) return;
    const now = this.#shared.clock.monotonic();
    if (this.#isTriggered) {
      this.#isTriggered = false;
      if (needsTrigger(this.#rules, this.#state, this.#facts)) {
        this.#turns.set(Math.max(now, this.#lookedAt + TRIGGER_GAP_MS));
        return;
      }
    }
    const pauseMs = this.#early.pauseMs(this.#rules, this.#state, now - this.#lookedAt);
    if (pauseMs !== undefined) this.#turns.set(now + pauseMs);
    else this.#turns.setNext(now, this.#periodMs, { isFailing: this.#state.last === "failure" });
  }

  /** Starts an attempt as soon as possible, and counts the period from there. */
  #trigger(): void {
    if (this.#step === undefined) return;
    if (this.#probing !== undefined) {
      this.#isTriggered = true;
      return;
    }
    const now = this.#shared.clock.monotonic();
    const at = Math.max(now, this.#lookedAt + TRIGGER_GAP_MS);
    if (this.#turns.at !== undefined && this.#turns.at <= at) return;
    this.#turns.set(at);
  }

  /** Takes its turns again when there is something to do after all. */
  #resume(): void {
    const moment = this.#moment();
    const next = consider(this.#rules, this.#state, this.#facts, moment);
    if (this.#step !== undefined && hasMoreToDo(this.#step, next))
      this.#turns.resume(moment.monotonic, this.#periodMs);
  }

  #launch(containerId: string): void {
    this.#lookedAt = this.#shared.clock.monotonic();
    const attempt = this.#attempt(containerId);
    if (attempt === undefined) {
      this.#scheduleNext();
      return;
    }
    this.#probing = attempt.then(() => {
      this.#probing = undefined;
      this.#scheduleNext();
    });
  }

  /** Runs an attempt and takes its outcome. A promise, which never rejects, unless that is done at once. */
  #attempt(containerId: string): Promise<void> | undefined {
    const { signal } = this.#abort;
    const { ports, execSlots, log } = this.#shared;
    let began = this.#moment();
    const begin = () => {
      began = this.#moment();
      return this.#isRelevant(containerId);
    };
    const take = (outcome: ProbeOutcome | undefined) => {
      if (outcome !== undefined && !signal.aborted) this.#takeIn(outcome, containerId, began);
    };
    const fail = (error: unknown) => {
      if (!signal.aborted)
        log.error("probe attempt failed unexpectedly", { ...this.#names(), error });
    };
    try {
      const request = this.#request(containerId);
      const outcome = request.probe.exec
        ? runInSlot(execSlots, ports, { request, begin }, signal)
        : runProbe(ports, request, signal);
      if (outcome instanceof Promise) return outcome.then(take).catch(fail);
      take(outcome);
    } catch (error) {
      fail(error);
    }
    return undefined;
  }

  #takeIn(outcome: ProbeOutcome, containerId: string, began: Moment): void {
    const record: ProbeRecord = {
      atMs: began.wall,
      durationMs: this.#shared.clock.monotonic() - began.monotonic,
      lateMs: began.monotonic - this.#turns.dueAt,
      containerId,
      ...recordedOutcome(outcome),
    };
    this.log.keep(record);
    this.#shared.onProbe(this, record);
    if (this.#isRelevant(containerId)) this.#judge(outcome);
  }

  #request(containerId: string) {
    const { uid, namespace, name, ip } = this.#pod;
    const { spec } = this.#target;
    return {
      probe: probeOf(spec, this.kind) ?? {},
      container: spec,
      podUid: uid,
      containerId,
      owner: this,
      endLeftovers: this.#settings.endLeftovers ?? this.#shared.endLeftovers,
      podIp: ip ?? "",
      podText: `${name}_${namespace}(${uid})`,
      timeoutMs: this.#rules.timeoutMs,
    };
  }

  /** Whether an attempt on this container still matters. */
  #isRelevant(containerId: string): boolean {
    const facts = this.#facts;
    if (facts.containerId !== containerId || facts.podEnded) return false;
    return this.kind === "readiness" || !facts.podEnding;
  }

  #judge(outcome: ProbeOutcome): void {
    const event = probeEvent(this.kind, outcome);
    if (event) this.#recordEvent(event.reason, event.message);
    if (outcome.kind === "error") return;
    const result = outcome.kind === "failure" ? "failure" : "success";
    const { state, publish } = conclude(this.#rules, this.#state, result);
    this.#state = state;
    this.#publish(publish);
    if (outcome.kind === "failure") this.#warnOfUncollected(outcome.uncollected ?? 0);
  }

  /** Reported once for each attempt of a container. */
  #warnOfUncollected(uncollected: number): void {
    const { containerId } = this.#state;
    if (uncollected < MANY_UNCOLLECTED || this.#warnedOf === containerId) return;
    this.#warnedOf = containerId;
    this.#recordEvent("ProbeWarning", uncollectedText(this.kind, uncollected));
  }

  #names() {
    const { uid, namespace, name } = this.#pod;
    return { podUid: uid, namespace, podName: name, container: this.container, probe: this.kind };
  }

  #recordEvent(reason: "Unhealthy" | "ProbeWarning", message: string): void {
    this.#shared.log.verbose(1, message, this.#names());
    this.#shared.recordEvent({
      podUid: this.#pod.uid,
      namespace: this.#pod.namespace,
      podName: this.#pod.name,
      container: this.container,
      fieldPath: fieldPathOf(this.#target),
      type: "Warning",
      reason,
      message,
    });
  }

  #publish(results: readonly ProbeResult[]): void {
    const { containerId } = this.#state;
    if (containerId === undefined) return;
    for (const result of results) {
      this.#shared.news.publish({
        kind: "probed",
        uid: this.#pod.uid as PodUid,
        container: this.container,
        containerId,
        probe: this.kind,
        result,
      });
    }
  }
}
