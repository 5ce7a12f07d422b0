import { makeDecision } from "../../../api/decisions.ts";
import type { PodUid } from "../../../api/observation.ts";
import { isSameAllocation, type ResizeVerdict } from "../../../api/pod/allocation.ts";
import { podSubject } from "../../../api/ports/decisions.ts";
import type { PodDeps, ResizeTrigger } from "../ports.ts";
import type { PodRecord, RequestedResize } from "../record/record.ts";
import type { PodSignal } from "../record/signals.ts";
import { requestsInShort, resizePending, resizeStarted } from "./resize-text.ts";

/** Resizes that wait are asked again after this, whatever happens (allocation_manager retryDelay). */
const RETRY_MS = 180_000;

interface ResizesDeps extends PodDeps {
  readonly get: (uid: PodUid) => PodRecord | undefined;
  /** Pods that hold resources beside the given one. */
  readonly holders: (but: PodUid) => readonly PodRecord[];
  readonly post: (uid: PodUid, signal: PodSignal) => void;
  /** Runs `work` when no admission is being decided, and keeps others waiting meanwhile. */
  readonly inTurn: (work: () => Promise<void>) => void;
}

/** A resize that waits, with the reason last recorded. */
interface Waiting extends RequestedResize {
  readonly verdict: ResizeVerdict["kind"] | undefined;
}

/**
 * Changes of resources in place: notices pods that request other resources than they were given, has them
 * judged one after the other in the Go kubelet's order, and again when resources may have become free.
 */
export class Resizes {
  readonly #deps: ResizesDeps;
  readonly #waiting = new Map<PodUid, Waiting>();
  /** By pod, what of it counts for others: a change may free resources. */
  readonly #weights = new Map<PodUid, string>();
  #open = false;
  #queued = false;
  #cancelAlarm: (() => void) | undefined;

  constructor(deps: ResizesDeps) {
    this.#deps = deps;
  }

  /** From now on it is known who holds what: nothing is judged before. */
  open(): void {
    this.#open = true;
    this.#queue("pod_updated");
  }

  /** Takes a pod's new record. */
  notice(record: PodRecord): void {
    const { uid, life, resize } = record;
    const weight = `${life.kind} ${resize.inProgress?.generation ?? ""}`;
    const isNews = this.#weights.get(uid) !== weight;
    if (life.kind === "released") this.#weights.delete(uid);
    else this.#weights.set(uid, weight);
    if (life.kind !== "running" || !resize.requested) this.#waiting.delete(uid);
    else this.#request(uid, resize.requested);
    if (isNews && [...this.#waiting.values()].some(({ verdict }) => verdict === "deferred"))
      this.#queue(life.kind === "running" ? "pod_resized" : "pods_removed");
  }

  #request(uid: PodUid, now: RequestedResize): void {
    const known = this.#waiting.get(uid);
    if (known?.generation === now.generation && isSameAllocation(known.allocation, now.allocation))
      return;
    this.#waiting.set(uid, { ...now, verdict: undefined });
    const record = this.#deps.get(uid);
    if (record) this.#deps.ports.measures.resizeRequested(record, now.allocation);
    this.#queue("pod_updated");
  }

  #queue(trigger: ResizeTrigger): void {
    if (!this.#open || this.#queued || this.#waiting.size === 0) return;
    this.#queued = true;
    this.#deps.inTurn(async () => {
      this.#queued = false;
      await this.#askAll(trigger);
    });
  }

  /** An infeasible resize is not retried. */
  async #askAll(trigger: ResizeTrigger): Promise<void> {
    this.#cancelAlarm?.();
    this.#cancelAlarm = this.#deps.clock.alarm(RETRY_MS, () => this.#queue("periodic_retry"));
    const asking = [...this.#waiting].flatMap(([uid, { verdict }]) => {
      const record = verdict === "infeasible" ? undefined : this.#deps.get(uid);
      return record ? [record] : [];
    });
    for (const { uid } of this.#deps.ports.resizes.order(asking)) await this.#ask(uid, trigger);
    if ([...this.#waiting.values()].some(({ verdict }) => verdict !== "infeasible")) return;
    this.#cancelAlarm();
    this.#cancelAlarm = undefined;
  }

  async #ask(uid: PodUid, trigger: ResizeTrigger): Promise<void> {
    const record = this.#deps.get(uid);
    const waiting = this.#waiting.get(uid);
    const requested = record?.resize.requested;
    if (record?.life.kind !== "running" || !requested || !waiting) return;
    const verdict = await this.#judge(record);
    // It may have ended, or asks for something else by now.
    const now = this.#deps.get(uid);
    const asksNow = now?.life.kind === "running" ? now.resize.requested : undefined;
    if (!asksNow || !isSameAllocation(asksNow.allocation, requested.allocation)) return;
    if (verdict.kind === "fits") await this.#give(record, requested, trigger);
    else {
      this.#waiting.set(uid, { ...waiting, verdict: verdict.kind });
      this.#refuse(record, requested, verdict);
    }
  }

  /** CPUs and memory of NUMA nodes last: what is granted need not be given back then. */
  async #judge(record: PodRecord): Promise<ResizeVerdict> {
    const { resizes, devices } = this.#deps.ports;
    const verdict = resizes.judge(record, this.#deps.holders(record.uid));
    if (verdict.kind !== "fits") return verdict;
    const grant = await devices.resize(record.pod, record.desired.pod);
    if (grant.kind === "granted") return verdict;
    const { reason, message } = grant;
    return { kind: "deferred", rule: "topology", reason, message };
  }

  async #give(
    record: PodRecord,
    { allocation, generation }: RequestedResize,
    trigger: ResizeTrigger,
  ): Promise<void> {
    const { uid } = record;
    const desired = record.desired.pod;
    const { resizes, decisions, events } = this.#deps.ports;
    try {
      await resizes.allocate(record.pod, allocation);
    } catch (error) {
      this.#deps.log.warn("failed to apply a pod resize", { uid, error });
      await this.#deps.ports.devices.resize(desired, record.pod);
      return;
    }
    this.#waiting.delete(uid);
    if (record.resize.pending?.reason === "Deferred")
      this.#deps.ports.measures.resizeAccepted(trigger);
    const requests = requestsInShort(desired);
    decisions.record(
      podSubject(record.pod),
      makeDecision("allocateResize", "fits", { generation, requests }),
    );
    events.ofPod(desired, resizeStarted(desired, generation));
    const actuated = resizes.actuated(record.pod);
    this.#deps.post(uid, { kind: "resized", allocation, generation, actuated });
  }

  /** The event is recorded once for each generation and reason; the condition shows each message. */
  #refuse(
    record: PodRecord,
    { generation }: RequestedResize,
    verdict: Exclude<ResizeVerdict, { kind: "fits" }>,
  ): void {
    const { uid, resize } = record;
    const desired = record.desired.pod;
    const { decisions, events } = this.#deps.ports;
    const { kind, rule, message } = verdict;
    const reason = kind === "infeasible" ? "Infeasible" : "Deferred";
    const before = resize.pending;
    const pendingResize = { reason, message, generation } as const;
    const isReported = before?.reason === reason && before.generation === generation;
    if (isReported && before.message === message) return;
    if (kind === "infeasible") this.#deps.ports.measures.resizeRefused(rule);
    const decision = kind === "infeasible" ? "refuseResize" : "deferResize";
    decisions.record(podSubject(record.pod), makeDecision(decision, rule, { generation, message }));
    const refusal = kind === "deferred" ? verdict.reason : reason;
    if (!isReported) events.ofPod(desired, resizePending(desired, pendingResize, refusal));
    const sinceMs = before?.sinceMs ?? this.#deps.clock.wall();
    this.#deps.post(uid, { kind: "resizePending", pending: { ...pendingResize, sinceMs } });
  }
}
