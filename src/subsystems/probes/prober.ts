import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { FairSlots } from "./fair-slots.ts";
import { type LookPorts, look } from "./look.ts";
import { handlerOf, type ProbeOutcome } from "./outcome.ts";
import type { ProbeEvent, ProbeRecord, ProbeReport, ProbeVerdict } from "./report.ts";
import type { Schedule, Turn } from "./schedule.ts";
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
  readonly execSlots: FairSlots;
  readonly agentStartedAt: MonotonicMs;
  readonly historyLength: number;
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

const TITLE: Readonly<Record<ProbeKind, string>> = {
  liveness: "Liveness",
  readiness: "Readiness",
  startup: "Startup",
};

/** Counters of one probe by the reference's names of results. */
export interface ProbeCounts {
  successful: number;
  failed: number;
  unknown: number;
}

/**
 * The loop of one probe of one container: looks, at once and then once a period, from its first turn
 * until it is stopped. One look at a time: a turn that comes during one is made up for right after,
 * more than one are not (time.Ticker).
 */
export class Prober {
  readonly kind: ProbeKind;
  readonly counts: ProbeCounts = { successful: 0, failed: 0, unknown: 0 };
  readonly #shared: ProberShared;
  readonly #abort = new AbortController();
  readonly #history: ProbeRecord[] = [];
  #pod: ProbedPod;
  #target: ProbeTarget;
  #rules: ProbeRules;
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

  constructor(kind: ProbeKind, pod: ProbedPod, target: ProbeTarget, shared: ProberShared) {
    this.kind = kind;
    this.#pod = pod;
    this.#target = target;
    this.#shared = shared;
    this.#rules = rulesOf(probeOf(target.spec, kind) ?? {}, kind);
    const { clock, random, agentStartedAt, spread } = shared;
    const now = clock.monotonic();
    // After a restart of the agent all pods are taken on at one instant; their probes need not be.
    const isYoung = now - agentStartedAt < this.#rules.periodMs;
    spread.expect(this.#rules.periodMs, 1);
    this.#scheduleAt(now + (isYoung ? random.next() * this.#rules.periodMs : 0));
  }

  get pod(): ProbedPod {
    return this.#pod;
  }

  get container(): string {
    return this.#target.spec.name;
  }

  /** Takes what is now known of pod and container. */
  update(pod: ProbedPod, target: ProbeTarget): void {
    const probe = probeOf(target.spec, this.kind) ?? {};
    if (probe !== probeOf(this.#target.spec, this.kind)) {
      this.#shared.spread.expect(this.#rules.periodMs, -1);
      this.#rules = rulesOf(probe, this.kind);
      this.#shared.spread.expect(this.#rules.periodMs, 1);
    }
    this.#pod = pod;
    this.#target = target;
    if (this.#step?.kind === "exit") this.#resume();
    else if (wantsTrigger(this.#rules, this.#state, this.#facts())) this.#trigger();
  }

  /** Ends the loop; a look under way is cut off and its outcome is not told. */
  stop(): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort(new Error("the probe is no longer wanted"));
    this.#unschedule();
    this.#shared.spread.expect(this.#rules.periodMs, -1);
  }

  report(): ProbeReport {
    const probe = probeOf(this.#target.spec, this.kind) ?? {};
    const { containerId, verdict, last, run } = this.#state;
    return {
      podUid: this.#pod.uid,
      namespace: this.#pod.namespace,
      podName: this.#pod.name,
      container: this.container,
      kind: this.kind,
      handler: handlerOf(probe),
      containerId,
      verdict,
      run: last === undefined ? undefined : { result: last, length: run },
      doing: this.#isLooking ? { kind: "looking" } : this.#step,
      nextInMs: this.#next && Math.max(0, this.#next.at - this.#shared.clock.monotonic()),
      counts: { ...this.counts },
      history: [...this.#history],
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
    const { periodMs } = this.#rules;
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
      result: outcome.kind,
      output: output.slice(0, HISTORY_OUTPUT_CHARS),
    };
    this.#keep(record);
    if (this.#isWanted(containerId)) this.#judge(outcome, output);
  }

  #request(containerId: string) {
    const { uid, namespace, name, ip } = this.#pod;
    const { spec } = this.#target;
    return {
      probe: probeOf(spec, this.kind) ?? {},
      container: spec,
      containerId,
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

  #keep(record: ProbeRecord): void {
    this.#history.push(record);
    if (this.#history.length > this.#shared.historyLength) this.#history.shift();
    if (record.result === "error") this.counts.unknown += 1;
    else if (record.result === "failure") this.counts.failed += 1;
    else this.counts.successful += 1;
    this.#shared.onLook(this, record);
  }

  #judge(outcome: ProbeOutcome, output: string): void {
    const title = TITLE[this.kind];
    switch (outcome.kind) {
      case "error":
        this.#say("Unhealthy", `${title} probe errored and resulted in unknown state: ${output}`);
        return;
      case "failure":
        this.#say("Unhealthy", `${title} probe failed: ${output}`);
        break;
      case "warning":
        this.#say("ProbeWarning", `${title} probe warning: ${output}`);
        break;
      case "success":
        break;
      default:
        outcome satisfies never;
    }
    const result = outcome.kind === "failure" ? "failure" : "success";
    const { state, publish } = conclude(this.#rules, this.#state, result);
    this.#state = state;
    this.#publish(publish, output);
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
