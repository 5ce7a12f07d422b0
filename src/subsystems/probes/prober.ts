import { podDescription } from "../../api/pod/pod.ts";
import { probeHandlerOf } from "../../api/pod/probe-handlers.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { PodNews } from "../../api/pod-news.ts";
import type { PodEvents } from "../../api/ports/events.ts";
import type { ProbeKind, ProbeResult } from "../../api/probe-result.ts";
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
import type { ProbeRecord, ProbeReport } from "./report.ts";
import { type ProbePorts, runInSlot, runProbe } from "./run-probe.ts";
import type { Schedule } from "./schedule.ts";
import type { Spread } from "./spread.ts";
import { probeFactsOf, probeOf, rulesOf, type Watched } from "./target.ts";
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
  readonly events: PodEvents;
  /** Called for every attempt, for the metrics. */
  readonly onProbe: (prober: Prober, record: ProbeRecord) => void;
}

/**
 * Extra runs of a readiness probe begin no closer together than this, however often the pod's status is
 * derived; what comes earlier is put off, not omitted.
 */
const TRIGGER_GAP_MS = 100;

/** What is probed, and by which rules and facts of `consider`. */
interface Subject extends Watched {
  readonly rules: ProbeRules;
  readonly facts: ProbeFacts;
}

function subjectOf(kind: ProbeKind, watched: Watched, before?: Subject): Subject {
  const { target, settings } = watched;
  const isSame = target.spec === before?.target.spec && settings === before.settings;
  const rules = isSame ? before.rules : rulesOf(target.spec, kind, settings);
  return { ...watched, rules, facts: probeFactsOf(watched, kind) };
}

/**
 * What the loop does between two turns:
 *
 *   idle -- turn, there is something to probe --> probing -- attempt ends --> idle
 *                                                    |  ^
 *                          readiness is asked for     +--+ `again`
 */
type Activity =
  | { readonly kind: "idle" }
  /** `done` never rejects. `again`: an extra attempt was requested during it. */
  | { readonly kind: "probing"; readonly done: Promise<void>; readonly again: boolean };

const IDLE: Activity = { kind: "idle" };

/**
 * The loop of one probe of one container: probes, at once and then once a period, from its first turn
 * until it is stopped. One attempt at a time: a turn that comes during one is made up for right after,
 * more than one are not (time.Ticker).
 */
export class Prober {
  readonly kind: ProbeKind;
  readonly log: ProbeLog;
  readonly #shared: ProberShared;
  readonly #abort = new AbortController();
  readonly #turns: ProbeTurns;
  readonly #early = new EarlyAttempts();
  #subject: Subject;
  #state: WorkerState = NEW_WORKER;
  /** Of the last turn. */
  #step: Step | undefined;
  #activity: Activity = IDLE;
  /** When the last attempt began. */
  #beganAt = Number.NEGATIVE_INFINITY;
  /** The container whose uncollected processes an event has warned about. */
  #warnedOf: string | undefined;

  constructor(kind: ProbeKind, watched: Watched, shared: ProberShared) {
    this.kind = kind;
    this.log = new ProbeLog(shared.historyLength);
    this.#shared = shared;
    this.#subject = subjectOf(kind, watched);
    this.#turns = new ProbeTurns(shared, () => this.#takeTurn());
    this.#expect(1);
    const { clock, random, agentStartedAt } = shared;
    const now = clock.monotonic();
    const { periodMs } = this.#subject.rules;
    // After a restart of the agent all pods are taken on at one instant; their probes need not be.
    const isYoung = now - agentStartedAt < periodMs;
    this.#turns.set(now + (isYoung ? random.next() * periodMs : 0));
  }

  get pod(): IdentifiedPod {
    return this.#subject.pod;
  }

  get container(): string {
    return this.#subject.target.spec.name;
  }

  get handler(): HandlerKind {
    return probeHandlerOf(probeOf(this.#subject.target.spec, this.kind) ?? {}) ?? "none";
  }

  /** Takes what is now known of pod and container. */
  update(watched: Watched): void {
    const subject = subjectOf(this.kind, watched, this.#subject);
    const hasOtherRules = subject.rules !== this.#subject.rules;
    if (hasOtherRules) this.#expect(-1);
    this.#subject = subject;
    if (hasOtherRules) this.#expect(1);
    const hasEnded = this.#step?.kind === "exit";
    if (!hasEnded && needsTrigger(subject.rules, this.#state, subject.facts)) this.#trigger();
    else if (this.#turns.at === undefined && this.#activity.kind === "idle") this.#resume();
  }

  /**
   * Ends the loop; an attempt under way is cut off and its outcome is not published. Gives what there is to wait for
   * until it is over; that never rejects.
   */
  stop(): Promise<void> | undefined {
    if (!this.#abort.signal.aborted) {
      this.#abort.abort(new Error("the probe was stopped"));
      this.#turns.cancel();
      this.#expect(-1);
    }
    return this.#activity.kind === "probing" ? this.#activity.done : undefined;
  }

  /** Reserves the turns of this probe, or releases them. */
  #expect(count: 1 | -1): void {
    const { periodMs, finePeriodMs } = this.#subject.rules;
    this.#shared.spread.expect(finePeriodMs ?? periodMs, count);
    if (finePeriodMs !== undefined) this.#shared.fineRate.expect(finePeriodMs, count);
  }

  /** Its present period. */
  get #periodMs(): number {
    const { periodMs, finePeriodMs } = this.#subject.rules;
    if (finePeriodMs === undefined) return periodMs;
    return this.#shared.fineRate.periodMs(finePeriodMs, periodMs);
  }

  report(): ProbeReport {
    const { containerId, verdict, last, run } = this.#state;
    const { pod, rules } = this.#subject;
    const { uid, namespace, name } = pod.metadata;
    return {
      podUid: uid,
      namespace,
      podName: name,
      container: this.container,
      kind: this.kind,
      handler: this.handler,
      containerId,
      verdict,
      run: last === undefined ? undefined : { result: last, length: run },
      doing: this.#activity.kind === "probing" ? { kind: "probing" } : this.#step,
      periodMs: this.#periodMs,
      timeoutMs: rules.timeoutMs,
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
    const { rules, facts } = this.#subject;
    const { state, publish, step } = consider(rules, this.#state, facts, this.#moment());
    this.#state = state;
    this.#step = step;
    this.#publish(publish);
    // Anything else that it waits for comes with an update.
    if (endsWithTime(step)) this.#scheduleNext();
    else if (step.kind === "probe" && state.containerId !== undefined)
      this.#launch(state.containerId);
  }

  #launch(containerId: string): void {
    this.#beganAt = this.#shared.clock.monotonic();
    const done = this.#attempt(containerId).then(() => this.#endAttempt());
    this.#activity = { kind: "probing", done, again: false };
  }

  #endAttempt(): void {
    const isAskedAgain = this.#activity.kind === "probing" && this.#activity.again;
    this.#activity = IDLE;
    if (this.#abort.signal.aborted) return;
    const { rules, facts } = this.#subject;
    if (isAskedAgain && needsTrigger(rules, this.#state, facts)) this.#setExtra();
    else this.#scheduleNext();
  }

  #scheduleNext(): void {
    const now = this.#shared.clock.monotonic();
    const tookMs = now - this.#beganAt;
    const pauseMs = this.#early.pauseMs(this.#subject.rules, this.#state, tookMs);
    if (pauseMs !== undefined) this.#turns.set(now + pauseMs);
    else this.#turns.setNext(now, this.#periodMs);
  }

  /** Starts an attempt as soon as possible, and counts the period from there. */
  #trigger(): void {
    if (this.#step === undefined) return;
    if (this.#activity.kind === "probing") this.#activity = { ...this.#activity, again: true };
    else this.#setExtra();
  }

  #setExtra(): void {
    const at = Math.max(this.#shared.clock.monotonic(), this.#beganAt + TRIGGER_GAP_MS);
    if (this.#turns.at === undefined || this.#turns.at > at) this.#turns.set(at);
  }

  /** Takes its turns again when there is something to do after all. */
  #resume(): void {
    const { rules, facts } = this.#subject;
    const moment = this.#moment();
    const next = consider(rules, this.#state, facts, moment);
    if (this.#step !== undefined && hasMoreToDo(this.#step, next))
      this.#turns.resume(moment.monotonic, this.#periodMs);
  }

  /** Runs an attempt and takes its outcome. Never rejects. */
  async #attempt(containerId: string): Promise<void> {
    const { signal } = this.#abort;
    const { ports, execSlots, log } = this.#shared;
    let began = this.#moment();
    const begin = () => {
      began = this.#moment();
      return this.#isRelevant(containerId);
    };
    try {
      const request = this.#request(containerId);
      const outcome = request.probe.exec
        ? await runInSlot(execSlots, ports, { request, begin }, signal)
        : await runProbe(ports, request, signal);
      if (outcome !== undefined && !signal.aborted) this.#takeIn(outcome, containerId, began);
    } catch (error) {
      if (!signal.aborted)
        log.error("probe attempt failed unexpectedly", { ...this.#names(), error });
    }
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
    const { pod, ip, target, settings, rules } = this.#subject;
    const { spec } = target;
    return {
      probe: probeOf(spec, this.kind) ?? {},
      container: spec,
      podUid: pod.metadata.uid,
      containerId,
      owner: this,
      endLeftovers: settings.endLeftovers ?? this.#shared.endLeftovers,
      podIp: ip ?? "",
      podText: podDescription(pod),
      timeoutMs: rules.timeoutMs,
    };
  }

  /** Whether an attempt on this container still matters. */
  #isRelevant(containerId: string): boolean {
    const { facts } = this.#subject;
    if (facts.containerId !== containerId || facts.podEnded) return false;
    return this.kind === "readiness" || !facts.podEnding;
  }

  #judge(outcome: ProbeOutcome): void {
    const event = probeEvent(this.kind, outcome);
    if (event) this.#recordEvent(event.reason, event.message);
    if (outcome.kind === "error") return;
    const result = outcome.kind === "failure" ? "failure" : "success";
    const { state, publish } = conclude(this.#subject.rules, this.#state, result);
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
    const { uid, namespace, name } = this.pod.metadata;
    return { podUid: uid, namespace, podName: name, container: this.container, probe: this.kind };
  }

  #recordEvent(reason: "Unhealthy" | "ProbeWarning", message: string): void {
    this.#shared.log.verbose(1, message, this.#names());
    this.#shared.events.ofPod(this.pod, { type: "Warning", reason, message }, this.container);
  }

  #publish(results: readonly ProbeResult[]): void {
    const { containerId } = this.#state;
    if (containerId === undefined) return;
    for (const result of results) {
      this.#shared.news.publish({
        kind: "probed",
        uid: this.pod.metadata.uid,
        container: this.container,
        containerId,
        probe: this.kind,
        result,
      });
    }
  }
}
