import { makeDecision } from "../../api/decisions.ts";
import type { PodUid } from "../../api/observation.ts";
import { podSubject } from "../../api/ports/decisions.ts";
import { SerialQueue } from "../../kit/limits/serial-queue.ts";
import type { AdmissionVerdict, Admit } from "./admit.ts";
import type { PodDeps } from "./ports.ts";
import { isFinished } from "./record/phase.ts";
import type { PodRecord } from "./record/record.ts";
import type { PodSignal } from "./record/signals.ts";
import { standingsOf } from "./record/standing.ts";
import { Resizes } from "./resize/resizes.ts";

interface AdmissionsDeps extends PodDeps {
  readonly admit: Admit;
  readonly list: () => readonly PodRecord[];
  readonly get: (uid: PodUid) => PodRecord | undefined;
  readonly post: (uid: PodUid, signal: PodSignal) => void;
}

/**
 * Admits pods and allocates their resources. Admissions and resizes in place are decided one at a time, so that each
 * sees the allocation of the one before.
 */
export class Admissions {
  readonly #deps: AdmissionsDeps;
  readonly #retries = new Map<PodUid, () => void>();
  /** Pods that wait for their turn, with their rank: the least comes first. */
  readonly #queued = new Map<PodUid, string>();
  readonly resizes: Resizes;
  readonly #decisions = new SerialQueue();

  constructor(deps: AdmissionsDeps) {
    this.#deps = deps;
    this.resizes = new Resizes({
      ...deps,
      holders: (but) => this.#holders(but),
      inTurn: (work) => this.#inTurn(work, (error) => this.#failed("resize", error)),
    });
  }

  /** Decides on a new pod; the verdict is posted to the pod's actor. */
  queue(uid: PodUid): void {
    this.#queued.set(uid, this.#rankOf(uid));
    this.#inTurn(
      async () => {
        const next = this.#next();
        if (next !== undefined) await this.#admit(next);
      },
      (error) => this.#failed("admission", error),
    );
  }

  /** Pods that were given resources before have them; then the older one (kubelet HandlePodAdditions). */
  #rankOf(uid: PodUid): string {
    const { get, ports } = this.#deps;
    const isNew = ports.resizes.isAllocated(uid) ? 0 : 1;
    return `${isNew} ${get(uid)?.pod.metadata?.creationTimestamp ?? ""}`;
  }

  /** The first of the least rank; of many that come at once each goes through those that are left, so nothing else is done here. */
  #next(): PodUid | undefined {
    let next: PodUid | undefined;
    let least: string | undefined;
    for (const [uid, rank] of this.#queued) {
      if (least !== undefined && rank >= least) continue;
      next = uid;
      least = rank;
    }
    if (next !== undefined) this.#queued.delete(next);
    return next;
  }

  async #admit(uid: PodUid): Promise<void> {
    try {
      await this.#admitOne(uid);
    } catch (error) {
      this.#failed("admission", error, uid);
      this.#deps.post(uid, {
        kind: "rejected",
        reason: "UnexpectedAdmissionError",
        message: `Pod was rejected: ${String(error)}`,
      });
    }
  }

  /** A pod that is gone is not asked about again, and holds nothing. */
  forget(uid: PodUid): void {
    this.#cancelRetry(uid);
    this.#deps.ports.resizes.forget(uid);
  }

  #inTurn(work: () => Promise<void>, onError: (error: unknown) => void): void {
    void this.#decisions.run(work).catch(onError);
  }

  #failed(what: string, error: unknown, uid?: PodUid): void {
    this.#deps.log.error(`${what} failed`, { uid, error });
  }

  #cancelRetry(uid: PodUid): void {
    this.#retries.get(uid)?.();
    this.#retries.delete(uid);
  }

  #holders(but: PodUid): readonly PodRecord[] {
    const { list, ports } = this.#deps;
    const isAllocated = (uid: PodUid) => ports.resizes.isAllocated(uid);
    return list().filter((record) => record.uid !== but && holdsResources(record, isAllocated));
  }

  /** Devices last: what is granted need not be given back then. */
  async #judge(candidate: PodRecord): Promise<AdmissionVerdict> {
    const { uid, pod } = candidate;
    const verdict = await this.#deps.admit(candidate, this.#holders(uid));
    // A pod that is done, or was dropped meanwhile, would never give back what it gets now.
    const now = this.#deps.get(uid);
    if (verdict.kind !== "admit" || now?.life.kind !== "waiting" || isFinished(standingsOf(now)))
      return verdict;
    const devices = await this.#deps.ports.devices.grant(pod);
    if (devices.kind === "granted") return verdict;
    const { reason, message } = devices;
    return devices.kind === "refused"
      ? { kind: "reject", rule: "devices", reason, message }
      : { kind: "defer", rule: "devices", reason, message, retryInMs: devices.retryInMs };
  }

  async #admitOne(uid: PodUid): Promise<void> {
    this.#cancelRetry(uid);
    const candidate = this.#deps.get(uid);
    if (candidate?.life.kind !== "waiting") return;
    const verdict = await this.#judge(candidate);
    const subject = podSubject(candidate.pod);
    const { decisions, events, resizes } = this.#deps.ports;
    switch (verdict.kind) {
      case "admit":
        resizes.admitted(candidate.pod);
        decisions.record(
          subject,
          makeDecision("admit", "every rule agreed", { rules: verdict.rules }),
        );
        this.#deps.post(uid, { kind: "admitted" });
        return;
      case "reject": {
        const { rule, reason, message } = verdict;
        resizes.forget(uid);
        decisions.record(subject, makeDecision("reject", rule, { reason, message }));
        events.ofPod(candidate.pod, { type: "Warning", reason, message });
        this.#deps.post(uid, {
          kind: "rejected",
          reason,
          message: `Pod was rejected: ${message}`,
        });
        return;
      }
      case "defer": {
        const { rule, reason, message, retryInMs } = verdict;
        const { admission } = candidate;
        const isNews = admission.kind !== "deferred" || admission.message !== message;
        if (isNews) decisions.record(subject, makeDecision("defer", rule, { reason, message }));
        this.#deps.post(uid, { kind: "deferred", reason, message });
        this.#retries.set(
          uid,
          this.#deps.clock.alarm(retryInMs, () => this.queue(uid)),
        );
        return;
      }
      default:
        verdict satisfies never;
    }
  }
}

/**
 * Whether resources must be kept for the pod; one with an allocation holds it until it ends, or until no source names it any
 * more: whoever removed it counts on its place, and what is refused for its sake is refused for good (kubelet
 * getAllocatedPods counts what its sources name).
 */
function holdsResources(
  { uid, life, admission, desired }: PodRecord,
  isAllocated: (uid: PodUid) => boolean,
): boolean {
  if (desired.removed || desired.source === "runtime") return false;
  if (life.kind === "running" || life.kind === "terminating") return admission.kind !== "rejected";
  return life.kind === "waiting" && (admission.kind === "admitted" || isAllocated(uid));
}
