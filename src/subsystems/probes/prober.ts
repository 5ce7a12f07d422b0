import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { FairSlots } from "./fair-slots.ts";
import type { FineRate } from "./fine-rate.ts";
import { type LookPorts, look } from "./look.ts";
import { LookLog } from "./look-log.ts";
import { type HandlerKind, handlerOf, type ProbeOutcome } from "./outcome.ts";
import type { ProbeEvent, ProbeRecord, ProbeReport, ProbeVerdict } from "./report.ts";
import { MANY_UNCOLLECTED, saidOf, uncollectedText } from "./said.ts";
import type { Schedule, Turn } from "./schedule.ts";
import type { ProbeSettings } from "./settings.ts";
import type { Spread } from "./spread.ts";
import {
  factsOf,
  fieldPathOf,
  type ProbedPod,
  type ProbeTarget,
  probeOf,
  rulesOf,
} from "./target.ts";
import {
  conclude,
  consider,
  NEW_WORKER,
  type ProbeKind,
  type ProbeResult,
  type ProbeRules,
  type Step,
  type WorkerState,
  wantsTrigger,
} from "./verdict.ts";

/** What all probes of the node share. */
export interface ProberShared {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly ports: LookPorts;
  readonly schedule: Schedule;
  readonly spread: Spread;
  readonly fineRate: FineRate;
  readonly execSlots: FairSlots;
  readonly agentStartedAt: MonotonicMs;
  readonly historyLength: number;
  /** Whether exec probes that ran out of time leave nothing behind, where the pod does not say. */
  readonly endLeftovers: boolean;
  readonly onVerdict: (verdict: ProbeVerdict) => void;
  readonly recordEvent: (event: ProbeEvent) => void;
  /** Told of every look that was made, for the metrics. */
  readonly onLook: (prober: Prober, record: ProbeRecord) => void;
  /** Takes charge of work under way; it never rejects. */
  readonly track: (work: Promise<void>) => void;
}

/**
 * Extra runs of a readiness probe begin no closer together than this, however often the pod is looked
 * at; what comes earlier is put off, not left out.
 */
const TRIGGER_GAP_MS = 100;

/** Characters of a probe's output that its history keeps. */
const HISTORY_OUTPUT_CHARS = 256;

/** One container as the room was told of it. */
export interface Watched {
  readonly pod: ProbedPod;
  readonly target: ProbeTarget;
  readonly settings: ProbeSettings;
}

/**
 * The loop of one probe of one container: looks, at once and then once a period, from its first turn
 * until it is stopped. One look at a time: a turn that comes during one is made up for right after,
 * more than one are not (time.Ticker).
 */
export class Prober {
  readonly kind: ProbeKind;
  readonly #shared: ProberShared;
  readonly #abort = new AbortController();
  readonly log: LookLog;
  #pod: ProbedPod;
  #target: ProbeTarget;
  #settings: ProbeSettings;
  #rules: ProbeRules;
  /** Container that has been warned about. */
  #warnedOf: string | undefined;
  #state: WorkerState = NEW_WORKER;
  #step: Step | undefined;
  #next: Turn | undefined;
  /** When the present or coming turn is due. */
  #tickAt = 0;
  /** The time that is held in `spread`, when the coming turn got its time from there. */
  #placedAt: number | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #isLooking = false;
  #isTriggered = false;

  constructor(kind: ProbeKind, { pod, target, settings }: Watched, shared: ProberShared) {
    this.kind = kind;
    this.log = new LookLog(shared.historyLength);
    this.#pod = pod;
    this.#target = target;
    this.#settings = settings;
    this.#shared = shared;
    this.#rules = rulesOf(target.spec, kind, settings);
    this.#expect(1);
    const { clock, random, agentStartedAt } = shared;
    const now = clock.monotonic();
    // After a restart of the agent all pods are taken on at one instant; their probes need not be.
    const isYoung = now - agentStartedAt < this.#rules.periodMs;
    this.#scheduleAt(now + (isYoung ? random.next() * this.#rules.periodMs : 0));
  }

  get pod(): ProbedPod {
    return this.#pod;
  }

  get container(): string {
    return this.#target.spec.name;
  }

  get handler(): HandlerKind {
    return handlerOf(probeOf(this.#target.spec, this.kind) ?? {});
  }

  /** Takes what is now known of pod and container. */
  update({ pod, target, settings }: Watched): void {
    if (target.spec !== this.#target.spec || settings !== this.#settings) {
      this.#expect(-1);
      this.#rules = rulesOf(target.spec, this.kind, settings);
      this.#expect(1);
    }
    this.#pod = pod;
    this.#target = target;
    this.#settings = settings;
    if (this.#step?.kind === "exit") this.#resume();
    else if (wantsTrigger(this.#rules, this.#state, this.#facts())) this.#trigger();
  }

  /** Ends the loop; a look under way is cut off and its outcome is not told. */
  stop(): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort(new Error("the probe is no longer wanted"));
    this.#unschedule();
    this.#expect(-1);
  }

  /** Makes room for the turns of this probe, or gives it back. */
  #expect(count: 1 | -1): void {
    const { periodMs, finePeriodMs } = this.#rules;
    this.#shared.spread.expect(finePeriodMs ?? periodMs, count);
    if (finePeriodMs !== undefined) this.#shared.fineRate.expect(finePeriodMs, count);
  }

  /** As often as it may look now. */
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
      doing: this.#isLooking ? { kind: "looking" } : this.#step,
      periodMs: this.#periodMs,
      timeoutMs: this.#rules.timeoutMs,
      nextInMs: this.#next && Math.max(0, this.#next.at - this.#shared.clock.monotonic()),
      counts: this.log.counts,
      busyMs: this.log.busyMs,
      killed: this.log.killed,
      history: this.log.records,
    };
  }

  #facts() {
    return factsOf(this.#pod, this.#target, this.kind);
  }

  #moment() {
    const { clock } = this.#shared;
    return { monotonic: clock.monotonic(), wall: clock.wall() };
  }

  #scheduleAt(at: number): void {
    this.#unschedule();
    this.#tickAt = at;
    this.#next = this.#shared.schedule.at(at, () => this.#takeTurn());
  }

  #unschedule(): void {
    this.#next?.cancel();
    this.#next = undefined;
    if (this.#placedAt === undefined) return;
    this.#shared.spread.leave(this.#placedAt);
    this.#placedAt = undefined;
  }

  #takeTurn(): void {
    this.#unschedule();
    const { state, publish, step } = consider(
      this.#rules,
      this.#state,
      this.#facts(),
      this.#moment(),
    );
    this.#state = state;
    this.#step = step;
    this.#publish(publish, "");
    if (step.kind === "wait") this.#scheduleNext();
    else if (step.kind === "probe") this.#launch();
  }

  #scheduleNext(): void {
    if (this.#abort.signal.aborted) return;
    const now = this.#shared.clock.monotonic();
    if (this.#isTriggered) {
      this.#isTriggered = false;
      if (wantsTrigger(this.#rules, this.#state, this.#facts())) {
        this.#scheduleAt(Math.max(now, this.#lookedAt + TRIGGER_GAP_MS));
        return;
      }
    }
    const periodMs = this.#periodMs;
    const next = this.#tickAt + periodMs;
    if (next <= now) {
      this.#scheduleAt(next + Math.floor((now - next) / periodMs) * periodMs);
      return;
    }
    const placedAt = this.#shared.spread.take(next, periodMs);
    this.#scheduleAt(placedAt);
    this.#placedAt = placedAt;
  }

  /** Looks as soon as may be, and counts the period from there. */
  #trigger(): void {
    if (this.#step === undefined) return;
    if (this.#isLooking) {
      this.#isTriggered = true;
      return;
    }
    const now = this.#shared.clock.monotonic();
    const at = Math.max(now, this.#lookedAt + TRIGGER_GAP_MS);
    if (this.#next && this.#next.at <= at) return;
    this.#scheduleAt(at);
  }

  /** A probe that had nothing more to do has, when the container came back after all. */
  #resume(): void {
    const { step } = consider(this.#rules, this.#state, this.#facts(), this.#moment());
    if (step.kind === "exit") return;
    this.#step = undefined;
    this.#scheduleAt(this.#shared.clock.monotonic());
  }

  #launch(): void {
    this.#isLooking = true;
    this.#lookedAt = this.#shared.clock.monotonic();
    const work = this.#look()
      .catch((error: unknown) => {
        if (this.#abort.signal.aborted) return;
        this.#shared.log.error("probe broke off", { ...this.#names(), error });
      })
      .then(() => {
        this.#isLooking = false;
        this.#scheduleNext();
      });
    this.#shared.track(work);
  }

  async #look(): Promise<void> {
    const probe = probeOf(this.#target.spec, this.kind) ?? {};
    const { containerId } = this.#state;
    const { signal } = this.#abort;
    const { clock, execSlots } = this.#shared;
    if (containerId === undefined) return;
    let atMs = clock.wall();
    let beganAt = clock.monotonic();
    const now = async (): Promise<ProbeOutcome | undefined> => {
      // What was meant when the turn came may be gone by the time there is a free slot.
      if (!this.#isWanted(containerId)) return undefined;
      atMs = clock.wall();
      beganAt = clock.monotonic();
      return await look(this.#shared.ports, this.#request(containerId), signal);
    };
    const outcome = probe.exec ? await execSlots.run(this.#pod.uid, signal, now) : await now();
    if (outcome === undefined || signal.aborted) return;
    const output = outcome.kind === "error" ? outcome.message : outcome.output;
    const record: ProbeRecord = {
      atMs,
      durationMs: clock.monotonic() - beganAt,
      lateMs: beganAt - this.#tickAt,
      containerId,
      result: outcome.kind,
      output: output.slice(0, HISTORY_OUTPUT_CHARS),
      ...(outcome.kind === "failure" && outcome.killed ? { killed: outcome.killed } : {}),
    };
    this.log.keep(record);
    this.#shared.onLook(this, record);
    if (this.#isWanted(containerId)) this.#judge(outcome, output);
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

  /** Whether a look at this container still matters. */
  #isWanted(containerId: string): boolean {
    const facts = this.#facts();
    if (facts.containerId !== containerId || facts.podEnded) return false;
    return this.kind === "readiness" || !facts.podEnding;
  }

  #judge(outcome: ProbeOutcome, output: string): void {
    const said = saidOf(this.kind, outcome);
    if (said) this.#say(said.reason, said.message);
    if (outcome.kind === "error") return;
    const result = outcome.kind === "failure" ? "failure" : "success";
    const { state, publish } = conclude(this.#rules, this.#state, result);
    this.#state = state;
    this.#publish(publish, output);
    if (outcome.kind === "failure") this.#warnOf(outcome.uncollected ?? 0);
  }

  /** Said once for each attempt of a container. */
  #warnOf(uncollected: number): void {
    const { containerId } = this.#state;
    if (uncollected < MANY_UNCOLLECTED || this.#warnedOf === containerId) return;
    this.#warnedOf = containerId;
    this.#say("ProbeWarning", uncollectedText(this.kind, uncollected));
  }

  #names() {
    const { uid, namespace, name } = this.#pod;
    return { podUid: uid, namespace, podName: name, container: this.container, probe: this.kind };
  }

  #say(reason: "Unhealthy" | "ProbeWarning", message: string): void {
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

  #publish(results: readonly ProbeResult[], output: string): void {
    const { containerId } = this.#state;
    if (containerId === undefined) return;
    for (const result of results) {
      this.#shared.onVerdict({
        podUid: this.#pod.uid,
        container: this.container,
        containerId,
        kind: this.kind,
        result,
        output,
        atMs: this.#shared.clock.wall(),
      });
    }
  }
}
