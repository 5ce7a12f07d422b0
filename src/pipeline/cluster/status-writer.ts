import { isSame } from "../../api/decode/strategic-diff.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import type { PodUid } from "../../api/observation.ts";
import {
  annotationOf,
  CONFIG_MIRROR_ANNOTATION,
  isMirrorPod,
  isStaticPod,
  isTerminalPhase,
  podDisplayName,
} from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { after } from "../../kit/instant.ts";
import type { Log } from "../../kit/log.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { isApiError, type KubeClient, PODS } from "../../outside/kube/kube.ts";
import type { PodWithStatus } from "../status/status.ts";
import type { ApiPods } from "./api-pods.ts";
import { ownPart, statusPatch } from "./merge-status.ts";
import { type QueueMeasures, queueMeasures } from "./queue-measures.ts";
import {
  afterWriting,
  dueAt,
  type StatusEntry as Entry,
  failureOf,
  isDirty,
  isMoreUrgent,
  isUnchanged,
  isWaiting,
  joinMsOf,
  whileWriting,
  withMore,
  withoutPause,
  withResult,
} from "./status-entry.ts";
import { type UnwrittenStatus, UnwrittenStatuses } from "./unwritten-statuses.ts";
import { writableStatus } from "./writable-status.ts";

interface StatusWriterDeps {
  readonly client: KubeClient;
  readonly reachable: Reading<boolean>;
  readonly api: ApiPods;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
}

/** Requests under way at once, over all pods. */
const PARALLEL = 8;
const RETRY = { initialMs: 200, maxMs: 10_000 };
/** Everything is compared with what the API has this often, whatever was reported (syncPeriod). */
const FULL_PASS_MS = 10_000;

type Step =
  | {
      readonly kind: "patch";
      readonly target: IdentifiedPod;
      readonly body: object;
      readonly heldBack: readonly string[];
    }
  | { readonly kind: "delete"; readonly target: IdentifiedPod };

/**
 * Brings statuses to the API. Of each pod only the latest status counts and one request is under way;
 * ended pods go first, then those whose readiness changed. A pod that the API is deleting is taken from
 * it once its last status is there and nothing of it is left on the node (status_manager.go).
 */
export class StatusWriter {
  readonly #deps: StatusWriterDeps;
  readonly #entries = new Map<PodUid, Entry>();
  /** Those of `#entries` with something to write and no request under way. */
  readonly #waiting = new Set<Entry>();
  readonly #running = new Set<Promise<void>>();
  readonly #latency: ReturnType<MetricsRegistry["histogram"]>;
  readonly #unwritten: UnwrittenStatuses;
  readonly #queue: QueueMeasures;
  #sequence = 0;
  /** When everything is next compared with the API. */
  #nextPassAt: MonotonicMs;
  /** Only what is due before ends the present wait; 0 while there is none, since all entries are checked before the next. */
  #waitsUntil = 0 as MonotonicMs;
  readonly #wakeup = new Wakeup();

  constructor(deps: StatusWriterDeps) {
    this.#deps = deps;
    this.#nextPassAt = this.#passAfterThis();
    this.#unwritten = new UnwrittenStatuses(deps.clock, deps.log);
    this.#queue = queueMeasures("pod_status", deps.metrics, deps.clock);
    this.#latency = deps.metrics.histogram(METRICS.kubelet_pod_status_sync_duration_seconds);
  }

  /** Statuses that the API does not have yet. */
  get pending(): number {
    return [...this.#entries.values()].filter(({ state }) => state.kind !== "idle").length;
  }

  /** The pod's status, or that it is gone for good. */
  set(uid: PodUid, now: PodWithStatus | undefined): void {
    if (!now) {
      this.#forget(uid);
      return;
    }
    const entry = this.#entries.get(uid) ?? this.#newEntry(now);
    entry.pod = now.pod;
    const isKnown = entry.known.kind === "written";
    if (isSame(ownPart(entry.latest.status), ownPart(now.status)) && isKnown) return;
    const changedAt = this.#deps.clock.monotonic();
    let { joinUntil } = entry.latest;
    if (!isDirty(entry)) {
      this.#notePublished(entry);
      joinUntil = after(changedAt, joinMsOf(entry));
    }
    entry.latest = { status: now.status, changedAt, joinUntil };
    this.#touch(entry);
  }

  /** Nothing of the pod is left on the node but its logs and dead containers. */
  setFinished(uid: PodUid): void {
    const entry = this.#entries.get(uid);
    if (entry?.life !== "living") return;
    entry.life = "finished";
    this.#touch(entry);
  }

  /** The API's object of the pod, or of its mirror, has changed. */
  apiChanged(pod: IdentifiedPod): void {
    for (const entry of isMirrorPod(pod) ? this.#entries.values() : this.#entryOf(pod)) {
      this.#notePublished(entry);
      if (!isDirty(entry) && this.#step(entry)) this.#touch(entry);
      // Over what is published now it may be urgent.
      else this.#wakeFor(entry);
    }
  }

  /** Writes until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = this.#deps.reachable.subscribe((reachable) => reachable && this.#retryAll());
    try {
      while (!signal.aborted) {
        if (this.#untilFullPassMs() <= 0) this.#compareAll();
        for (let next = this.#next(); next && this.#running.size < PARALLEL; next = this.#next())
          this.#start(next, signal);
        await this.#pause(signal);
      }
    } finally {
      stop();
      await Promise.allSettled(this.#running);
    }
  }

  #entryOf(pod: IdentifiedPod): readonly Entry[] {
    const entry = this.#entries.get(pod.metadata.uid);
    return entry ? [entry] : [];
  }

  #forget(uid: PodUid): void {
    const entry = this.#entries.get(uid);
    if (!entry) return;
    this.#entries.delete(uid);
    this.#waiting.delete(entry);
    this.#queue.forgotten(uid);
  }

  #newEntry({ uid, pod, status }: PodWithStatus): Entry {
    const now = this.#deps.clock.monotonic();
    const entry: Entry = {
      uid,
      pod,
      latest: { status, changedAt: now, joinUntil: now },
      state: { kind: "idle" },
      life: "living",
      known: { kind: "published", status: undefined },
    };
    this.#entries.set(uid, entry);
    return entry;
  }

  #notePublished(entry: Entry): void {
    if (entry.known.kind === "written") return;
    entry.known = { kind: "published", status: this.#targetOf(entry)?.status };
  }

  #touch(entry: Entry): void {
    if (!isDirty(entry)) {
      this.#sequence += 1;
      this.#queue.added(entry.uid);
    }
    entry.state = withMore(entry.state, this.#sequence);
    this.#wait(entry);
  }

  /** Has the entry written in its turn, unless a request of it is under way. */
  #wait(entry: Entry): void {
    if (!isWaiting(entry)) return;
    if (this.#entries.get(entry.uid) === entry) this.#waiting.add(entry);
    this.#wakeFor(entry);
  }

  #wakeFor(entry: Entry): void {
    if (isWaiting(entry) && dueAt(entry) < this.#waitsUntil) this.#wakeup.wake();
  }

  #retryAll(): void {
    for (const entry of this.#entries.values()) entry.state = withoutPause(entry.state);
    this.#wakeup.wake();
  }

  /** The most urgent of what may be written now. */
  #next(): Entry | undefined {
    const now = this.#deps.clock.monotonic();
    let best: Entry | undefined;
    for (const entry of this.#waiting) {
      if (dueAt(entry) > now) continue;
      if (!best || isMoreUrgent(entry, best)) best = entry;
    }
    return best;
  }

  #start(entry: Entry, signal: AbortSignal): void {
    entry.state = whileWriting(entry);
    this.#waiting.delete(entry);
    this.#queue.started(entry.uid);
    const running = this.#write(entry, signal).finally(() => {
      entry.state = afterWriting(entry.state);
      this.#queue.done(entry.uid);
      const wasFull = this.#running.size >= PARALLEL;
      this.#running.delete(running);
      this.#wait(entry);
      if (wasFull) this.#wakeup.wake();
    });
    this.#running.add(running);
  }

  /** One step for one pod; what follows from it is another step. */
  async #write(entry: Entry, signal: AbortSignal): Promise<void> {
    const step = this.#step(entry);
    try {
      if (step?.kind === "patch") await this.#patch(entry, step, signal);
      else if (step) {
        await this.#delete(step.target, signal);
        entry.life = "released";
      }
      entry.state = withResult(entry.state, undefined);
      if (step && this.#step(entry)) this.#touch(entry);
    } catch (error) {
      if (step && !signal.aborted) this.#failed(entry, step, error);
    }
  }

  /** The next request for a pod: its status or its deletion; `undefined` when there is none. */
  #step(entry: Entry): Step | undefined {
    const target = this.#targetOf(entry);
    if (!target) return undefined;
    const { known, latest } = entry;
    const uid = target.metadata.uid;
    const isThere =
      known.kind === "written" &&
      known.target === uid &&
      isSame(ownPart(known.sent), ownPart(latest.status)) &&
      isSame(known.kept, ownPart(target.status));
    if (!isThere) {
      const { status: writable, heldBack } = writableStatus(target, latest.status);
      const body = statusPatch(target, writable);
      if (body) return { kind: "patch", target, body, heldBack };
    }
    const mayGo =
      entry.life === "finished" &&
      !isMirrorPod(target) &&
      target.metadata?.deletionTimestamp !== undefined &&
      isTerminalPhase(target.status?.phase);
    return mayGo ? { kind: "delete", target } : undefined;
  }

  /** The object whose status it is: the pod itself, or the mirror of this very static pod. */
  #targetOf({ uid, pod }: Entry): IdentifiedPod | undefined {
    const { api } = this.#deps;
    if (!isStaticPod(pod)) return api.get(uid);
    return api
      .mirrorsOf(pod)
      .find((mirror) => annotationOf(mirror, CONFIG_MIRROR_ANNOTATION) === uid);
  }

  async #patch(
    entry: Entry,
    { target, body, heldBack }: Extract<Step, { kind: "patch" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, api, clock, log } = this.#deps;
    const { status, changedAt } = entry.latest;
    const place = { ...placeOf(target), subresource: "status" };
    const reply = await client.patch(PODS, place, { kind: "strategic", body }, signal);
    api.learn(reply);
    this.#unwritten.written(entry.uid);
    entry.known = {
      kind: "written",
      target: target.metadata.uid,
      sent: status,
      kept: ownPart(reply.status),
    };
    for (const problem of heldBack)
      log.error("omitting part of a pod's status that the API would reject", {
        pod: podDisplayName(target),
        error: problem,
      });
    this.#latency.observe((clock.monotonic() - changedAt) / 1000);
  }

  async #delete(target: IdentifiedPod, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#deps;
    const preconditions = { uid: target.metadata.uid };
    const options = { gracePeriodSeconds: 0, preconditions };
    await client.delete(PODS, placeOf(target), options, signal);
    log.verbose(2, "pod was taken from the API", { pod: podDisplayName(target) });
  }

  #failed(entry: Entry, step: Step, error: unknown): void {
    const { clock, log } = this.#deps;
    if (!isOutside(error)) throw error;
    // The watch reports it.
    const isGone = isApiError(error, 404);
    const count = (failureOf(entry)?.count ?? 0) + 1;
    const notBefore = after(clock.monotonic(), retryDelayMs(count, RETRY));
    entry.state = withResult(entry.state, { count, problem: messageOf(error), notBefore });
    if (!isGone) this.#queue.retried();
    if (!isGone) this.#touch(entry);
    const fields = { pod: podDisplayName(entry.pod), step: step.kind, error };
    if (isGone || count > 1 || error.retryable)
      log.verbose(2, "failed to update the status of a pod", fields);
    else log.warn("failed to update the status of a pod", fields);
  }

  /** Until something is to be done, at the latest until the next full pass. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const isFull = this.#running.size >= PARALLEL;
    const ms = isFull ? this.#untilFullPassMs() : this.#dueInMs();
    if (ms === 0) return;
    if (!isFull) this.#waitsUntil = after(clock.monotonic(), ms);
    await this.#wakeup.wait({ clock, ms }, signal);
    this.#waitsUntil = 0 as MonotonicMs;
  }

  #dueInMs(): number {
    const now = this.#deps.clock.monotonic();
    let due = this.#untilFullPassMs();
    for (const entry of this.#waiting) due = Math.min(due, Math.max(0, dueAt(entry) - now));
    return due;
  }

  /** Counted from the last one: what is written in between does not put it off. */
  #untilFullPassMs(): number {
    return Math.max(0, this.#nextPassAt - this.#deps.clock.monotonic());
  }

  #passAfterThis(): MonotonicMs {
    const { clock } = this.#deps;
    return (clock.monotonic() + clock.coalesced.delayMs(FULL_PASS_MS)) as MonotonicMs;
  }

  #compareAll(): void {
    this.#nextPassAt = this.#passAfterThis();
    const unwritten: UnwrittenStatus[] = [];
    for (const entry of this.#entries.values()) {
      const { latest, life } = entry;
      const compared = { target: this.#targetOf(entry), status: latest.status, life };
      if (isUnchanged(entry.settled, compared)) continue;
      const step = this.#step(entry);
      const reason = this.#whyUnwritten(entry, step);
      if (!step && reason === undefined) entry.settled = compared;
      else delete entry.settled;
      if (reason !== undefined) unwritten.push({ uid: entry.uid, pod: entry.pod, reason });
      if (step && entry.state.kind === "idle") this.#touch(entry);
    }
    this.#unwritten.check(unwritten);
  }

  /** Why the pod's status is not in the API; `undefined` when it is, or when the pod is not there. */
  #whyUnwritten(entry: Entry, step: Step | undefined): string | undefined {
    const target = this.#targetOf(entry);
    if (!target)
      return isStaticPod(entry.pod) ? "the API server has no mirror pod of it" : undefined;
    const { heldBack } = writableStatus(target, entry.latest.status);
    if (heldBack.length === 0 && step?.kind !== "patch") return undefined;
    if (!this.#deps.reachable.get()) return "the API server does not answer";
    if (heldBack.length > 0) return heldBack.join("; ");
    const failure = failureOf(entry);
    if (failure) return failure.problem;
    return entry.state.kind === "writing" ? "a request is under way" : "others go first";
  }
}

function placeOf({ metadata: { namespace, name } }: IdentifiedPod) {
  return { namespace, name };
}
