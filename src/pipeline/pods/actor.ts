import type { Decision } from "../../api/decisions.ts";
import type { PodEventText } from "../../api/event-text.ts";
import { podSubject } from "../../api/ports/decisions.ts";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";
import { InvariantError, isOutside, messageOf } from "../../kit/errors.ts";
import { Mailbox } from "../../kit/mailbox.ts";
import { jitter } from "../../kit/random.ts";
import type { PodAction, PodPlan } from "./plan/actions.ts";
import { planPod } from "./plan/plan.ts";
import type { PlanContext } from "./plan/plan-draft.ts";
import type { RecordedPodDeps } from "./ports.ts";
import { isHeldUp } from "./record/pod-fact.ts";
import type { PodRecord, PodResize, Prerequisites, RestartBackoff } from "./record/record.ts";
import { isQuiet, type PodSignal } from "./record/signals.ts";
import { transition } from "./record/transition.ts";
import { withPlan } from "./record/with-plan.ts";
import { resizeCompleted } from "./resize/resize-text.ts";
import { applyPlan } from "./run/apply.ts";
import { Attempts } from "./run/attempts.ts";
import { PodLimitHits } from "./run/limit-hits.ts";
import { completionSince, deletionSince, exitsSince } from "./run/pod-history.ts";
import { recordDegraded, signalOf } from "./run/record-degraded.ts";

/** Signals that may wait for one pod, beside those of which only the latest waits: there may be three of each container. */
const MAILBOX_LIMIT = 1000;

/** Pause before the pod is observed again after the runtime failed to report it. */
const REOBSERVE_MS = 1_000;

/** Jitter, so that pods planned together do not stay synchronized (workerResyncIntervalJitterFactor). */
const SYNC_JITTER = 0.5;

interface ActorDeps extends RecordedPodDeps {
  /** Facts of the node that planning needs. */
  readonly context: () => Omit<PlanContext, "now" | "wallNow">;
  /** Called with every record, also between the steps of a turn. */
  readonly onRecord: (record: PodRecord) => void;
  /** Called with every new record, before any action on it. */
  readonly onChange: (record: PodRecord) => void;
  /** Whether another pod of the same name waits for this one's end. */
  readonly hasSuccessor: () => boolean;
}

/**
 * One pod: the only writer of its record. A turn takes what arrived, moves the record, plans, and, when
 * nothing is in flight and the observation is fresh, has the plan executed.
 */
export class PodActor {
  readonly #deps: ActorDeps;
  readonly #mailbox: Mailbox<PodSignal>;
  readonly #attempts: Attempts;
  readonly #limitHits: PodLimitHits;
  #record: PodRecord;
  #inFlight: AbortController | undefined;
  #cancelAlarm: (() => void) | undefined;
  /** How long the last plan holds. */
  #syncMs = 0;
  /** Keys of the events of the last plan. */
  #recorded: ReadonlySet<string> = new Set();

  constructor(record: PodRecord, deps: ActorDeps) {
    this.#deps = deps;
    this.#record = record;
    this.#attempts = new Attempts(deps.ports.decisions, deps.clock);
    this.#limitHits = new PodLimitHits(deps.ports.memory, record.pod);
    this.#mailbox = new Mailbox({
      limit: MAILBOX_LIMIT,
      coalesce: coalesceKey,
      choose: chooseSignal,
    });
  }

  get record(): PodRecord {
    return this.#record;
  }

  post(signal: PodSignal): void {
    this.#mailbox.post(signal, { isQuiet: isQuiet(this.#record, signal) });
  }

  /** Runs until the pod is released or the agent leaves; leaving ends no container. */
  async run(leave: AbortSignal): Promise<void> {
    // Most new pods are admitted at once and need no turn before that.
    if (this.#record.life.kind === "waiting") this.#setAlarm(this.#deps.clock.monotonic());
    else this.post({ kind: "tick" });
    try {
      for await (const batch of this.#mailbox.batches(leave)) {
        this.#takeIn(batch);
        const plan = this.#plan();
        this.#deps.onChange(this.#record);
        if (this.#record.life.kind === "released") return;
        if (plan) this.#carryOut(plan, leave);
      }
    } finally {
      this.#cancelAlarm?.();
      this.#inFlight?.abort(new Error("the agent is shutting down"));
    }
  }

  #become(record: PodRecord): void {
    this.#record = record;
    this.#deps.onRecord(record);
  }

  /** A pod whose life would go where it must not stands still and reports it, like one that cannot be observed. */
  #take(signal: PodSignal): void {
    try {
      this.#move(signal);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      this.#deps.log.error("a signal to the pod was ignored", { signal: signal.kind, error });
      const asOf = this.#deps.clock.monotonic();
      this.#move({ kind: "unobserved", asOf, problem: error.message });
    }
  }

  #move(signal: PodSignal): void {
    const before = this.#record;
    const now = this.#deps.clock.monotonic();
    const after = transition(before, signal, now);
    this.#deps.flight.signal({ before, signal, now, after });
    this.#become(after);
  }

  #takeIn(batch: readonly PodSignal[]): void {
    for (const signal of batch) {
      const before = this.#record;
      this.#take(signal);
      this.#recordResize(before.resize);
      recordDegraded(before.sync.degraded, this.#record, this.#deps.ports);
      this.#recordHistory(before);
      if (signal.kind === "progress" && signal.message !== undefined)
        this.#attempts.waits(signal.container, signal.message);
      if (!isHeldUp(before) && isHeldUp(this.#record)) void this.#observeMeanwhile();
      if (supersedes(before.life, this.#record.life))
        this.#inFlight?.abort(new Error("the pod is being ended"));
    }
  }

  /** Plans on a fresh observation only: on a stale one what was just started would be started again. */
  #plan(): PodPlan | undefined {
    this.#cancelAlarm?.();
    this.#cancelAlarm = undefined;
    if (this.#inFlight || this.#record.sync.freshness !== "fresh") return undefined;
    const { context, plan } = this.#planNow();
    this.#syncMs = jitter(this.#deps.random, context.syncMs, SYNC_JITTER);
    this.#recordNewEvents(plan);
    this.#deps.flight.plan(this.#record, context, plan);
    this.#become(withPlan(this.#record, plan));
    if (plan.ends) {
      this.#deps.ports.decisions.record(podSubject(this.#record.pod), plan.ends.decision);
      this.post({ kind: "terminate", cause: plan.ends.cause });
    }
    return plan;
  }

  #planNow(): { readonly context: PlanContext; readonly plan: PodPlan } {
    const { clock } = this.#deps;
    const moment = { now: clock.monotonic(), wallNow: clock.wall() as WallMs };
    const context = { ...this.#deps.context(), ...moment };
    return { context, plan: planPod(this.#record, context) };
  }

  /** A turn costs more than a plan: there is none as long as the plan has nothing to do. */
  #sync(): void {
    if (this.#inFlight || this.#record.sync.freshness !== "fresh") return;
    const { plan } = this.#planNow();
    if (plan.actions.length > 0 || plan.ends) this.post({ kind: "tick" });
    else this.#armSync(plan.wakeAt);
  }

  /** Wakes for the plan, or plans again after so long without anything that asks for it. */
  #armSync(wakeAt: MonotonicMs | undefined): void {
    const { clock } = this.#deps;
    const syncAt = (clock.monotonic() + this.#syncMs) as MonotonicMs;
    if (wakeAt !== undefined && wakeAt <= syncAt) this.#setAlarm(wakeAt);
    else this.#cancelAlarm = clock.coalesced.alarm(this.#syncMs, () => this.#sync());
  }

  #carryOut(plan: PodPlan, leave: AbortSignal): void {
    this.#armSync(plan.wakeAt);
    if (plan.actions.length === 0) return;
    const acting = {
      kind: "acting",
      backoff: backoffOf(plan.actions),
      touches: touchesOf(plan.actions),
      replaces: replacesOf(plan.actions),
      stops: plan.actions.some(({ kind }) => kind === "stopContainers"),
    } as const;
    const planned = this.#record;
    this.#take(acting);
    void this.#act(plan.actions, planned, leave);
  }

  #setAlarm(at: MonotonicMs): void {
    this.#cancelAlarm = this.#deps.clock.alarm(at - this.#deps.clock.monotonic(), () => {
      this.#cancelAlarm = undefined;
      this.post({ kind: "tick" });
    });
  }

  async #act(actions: readonly PodAction[], planned: PodRecord, leave: AbortSignal): Promise<void> {
    const attempt = new AbortController();
    this.#inFlight = attempt;
    const deps = { ...this.#deps, attempts: this.#attempts };
    const began = this.#deps.clock.monotonic();
    const results = await applyPlan(this.#record, actions, deps, attempt.signal);
    this.#deps.ports.measures.worked(planned, this.#deps.clock.monotonic() - began);
    this.#inFlight = undefined;
    if (leave.aborted) return;
    const actuated = this.#deps.ports.resizes.actuated(this.#record.pod);
    const at = this.#deps.clock.monotonic();
    const acted = { kind: "acted", at, results, actuated } as const;
    // Not left to the next turn: from here on the pod is not busy, so that events of the runtime have it observed.
    if (isQuiet(this.#record, acted)) this.#take(acted);
    else this.post(acted);
    await this.#observe(leave);
  }

  /**
   * Observes once while something holds up what is being done: events of the runtime were not followed until now, and the
   * status shows the sandbox, and containers that have started, before a long pull ends.
   */
  async #observeMeanwhile(): Promise<void> {
    const { signal } = this.#inFlight ?? {};
    if (!signal) return;
    try {
      const found = await this.#deps.ports.runtime.observe(this.#record.uid, signal);
      this.post(signalOf(found));
    } catch {
      // The pod is observed again when all is done.
    }
  }

  /** Observes until the runtime answers: without a fresh observation nothing is planned. */
  async #observe(leave: AbortSignal): Promise<void> {
    for (;;) {
      try {
        this.post(signalOf(await this.#deps.ports.runtime.observe(this.#record.uid, leave)));
        return;
      } catch (error) {
        if (leave.aborted) return;
        this.#deps.log.warn("failed to observe the pod at the container runtime", {
          error: messageOf(error),
        });
        // An unreachable runtime is a condition of the node, not of this pod.
        if (!isOutside(error, "unavailable"))
          this.#deps.ports.events.ofPod(this.#record.pod, {
            type: "Warning",
            reason: "FailedSync",
            message: `error determining status: ${messageOf(error)}`,
          });
        await this.#deps.clock
          .sleep(jitter(this.#deps.random, REOBSERVE_MS, 1), leave)
          .catch(() => {});
        if (leave.aborted) return;
      }
    }
  }

  /** Keeps what happened to the pod beside what was decided: a replacement is kept already. */
  #recordHistory({ observed, life }: PodRecord): void {
    const { decisions } = this.#deps.ports;
    const subject = podSubject(this.#record.pod);
    const history = {
      record: this.#record,
      limitHits: () => this.#limitHits.since(this.#record.pod),
    };
    for (const { decision, atMs } of exitsSince(observed, history))
      decisions.record(subject, decision, atMs);
    const completion = completionSince(life, this.#record);
    if (completion) decisions.record(subject, completion);
    const deletion = deletionSince(life, this.#record);
    if (deletion && !this.#deps.hasSuccessor()) decisions.record(subject, deletion);
  }

  /** Records the end of an in-place resize. */
  #recordResize({ inProgress }: PodResize): void {
    const { pod, resize, life } = this.#record;
    if (!inProgress || resize.inProgress || life.kind !== "running") return;
    this.#deps.ports.events.ofPod(pod, resizeCompleted(pod, inProgress.generation));
  }

  #recordOnce(events: readonly PodEventText[]): void {
    const keys = new Set<string>();
    for (const event of events) {
      const key = `${event.reason} ${event.message}`;
      keys.add(key);
      if (!this.#recorded.has(key)) this.#deps.ports.events.ofPod(this.#record.pod, event);
    }
    this.#recorded = keys;
  }

  /** Records decisions to wait once, when they are taken, and an event when a back-off begins. */
  #recordNewEvents(plan: PodPlan): void {
    this.#recordOnce(plan.events);
    const before = new Set(this.#record.lastPlan.standing.map(standingKey));
    for (const decision of plan.standing) {
      if (!before.has(standingKey(decision)))
        this.#deps.ports.decisions.record(podSubject(this.#record.pod), decision);
    }
    for (const [container, wait] of Object.entries(plan.waits)) {
      const known = this.#record.lastPlan.waits[container];
      if (known?.reason === wait.reason && known.message === wait.message) continue;
      if (wait.reason !== "CrashLoopBackOff") continue;
      const { name, namespace } = this.#record.pod.metadata;
      const message = `Back-off restarting failed container ${container} in pod ${name}_${namespace}(${this.#record.uid})`;
      const text = { type: "Warning", reason: "BackOff", message } as const;
      this.#deps.ports.events.ofPod(this.#record.pod, text, container);
    }
  }
}

/** Latest-wins signals: an older observation, desired pod or tick that still waits is worth nothing. */
function coalesceKey(signal: PodSignal): string | undefined {
  switch (signal.kind) {
    case "observed":
    case "unobserved":
    case "desired":
    case "tick":
      return signal.kind;
    case "probed":
      return `probed ${signal.container} ${signal.probe}`;
    default:
      return undefined;
  }
}

/** Two observations may overtake each other; the one that was made later counts. */
function chooseSignal(waiting: PodSignal, incoming: PodSignal): PodSignal {
  if (waiting.kind !== "observed" || incoming.kind !== "observed") return incoming;
  return waiting.observed.asOf > incoming.observed.asOf ? waiting : incoming;
}

/** Whether work in flight is for a life that is over, or has less time than it was given. */
function supersedes(before: PodRecord["life"], now: PodRecord["life"]): boolean {
  if (before.kind !== now.kind) return true;
  return before.kind === "terminating" && now.kind === "terminating" && now.killBy < before.killBy;
}

function backoffOf(actions: readonly PodAction[]): Record<string, RestartBackoff> {
  const entries: Record<string, RestartBackoff> = {};
  for (const action of actions)
    if (action.kind === "startContainer" && action.backoff) entries[action.name] = action.backoff;
  return entries;
}

function touchesOf(actions: readonly PodAction[]): readonly (keyof Prerequisites)[] {
  const touched = {
    makeDirectories: "directories",
    createCgroup: "cgroup",
    mountVolumes: "volumes",
    prepareClaims: "claims",
  } as const;
  return actions.flatMap(({ kind }) =>
    kind in touched ? [touched[kind as keyof typeof touched]] : [],
  );
}

function replacesOf(actions: readonly PodAction[]): readonly string[] {
  return actions.flatMap((action) =>
    action.kind === "stopContainers"
      ? action.stops.filter(({ again }) => again).map(({ id }) => id)
      : [],
  );
}

/** A standing decision without what changes by the clock alone. */
function standingKey({ kind, rule, inputs }: Decision): string {
  return JSON.stringify({ kind, rule, ...inputs, leftMs: undefined });
}
