/**
 * Whether a pod may have its devices now, later or never. A pod whose plugin is known but not there waits
 * for it for a bounded time; a slow plugin delays only the pod.
 */

import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { NumaPlacement } from "../../api/ports/hint-provider.ts";
import type { ResourceGrant } from "../../api/resource-grant.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { Clock, MonotonicMs, WallMs } from "../../kit/clock.ts";
import { largest } from "../../kit/limits/lists.ts";
import { NEVER_ABORTED, withTimeout } from "../../kit/within.ts";
import type { GrantResult, Grants } from "./grants.ts";
import type { ResourceRecord } from "./inventory.ts";
import { holdingsOf } from "./ledger/ledger.ts";
import { deviceRequests } from "./requests.ts";
import type { DeviceState } from "./state.ts";

interface DeviceAdmissionDeps {
  readonly clock: Clock;
  readonly state: DeviceState;
  readonly grants: Grants;
  /** It is worth while to ask again for a pod that was deferred. */
  readonly onWorthRetry: (podUid: PodUid) => void;
  /** How long a pod waits for a plugin that is known; 0 refuses at once, as the Go kubelet. */
  readonly deferMs: number;
}

const REASON = "WaitingForDevices";
/** How long an answer is waited for before others get their turn, when nobody waits for the same already. */
const ANSWER_MS = 250;
/** A pod whose plugin is slow is asked for again after this at the latest. */
const SLOW_RETRY_MS = 10_000;
/** A pod that waits is asked for again at most this often. */
const RETRY_PAUSE_MS = 500;

/** The result for a pod that was observed ended meanwhile. */
const GONE = {
  kind: "refused",
  reason: "UnexpectedAdmissionError",
  message: "the pod is gone",
} as const;

interface Attempt {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  result: GrantResult | { readonly kind: "threw"; readonly error: unknown } | undefined;
  /** The caller was asked to retry. */
  late: boolean;
}

interface Waiting {
  readonly since: MonotonicMs;
  /** The resource that was waited for, as it was; `undefined` when it is something else. */
  resource: string | undefined;
  record: ResourceRecord | undefined;
  cancelRetry: (() => void) | undefined;
}

/** Devices at admission, one attempt per pod at a time. */
export class DeviceAdmission {
  readonly #deps: DeviceAdmissionDeps;
  readonly #attempts = new Map<PodUid, Attempt>();
  readonly #waiting = new Map<PodUid, Waiting>();

  constructor(deps: DeviceAdmissionDeps) {
    this.#deps = deps;
    deps.state.inventory.subscribe((inventory) => {
      for (const [podUid, waiting] of this.#waiting)
        if (waiting.resource !== undefined && inventory.get(waiting.resource) !== waiting.record)
          this.#retrySoon(podUid, waiting);
    });
  }

  /** Whether an answer for the pod is waited for. */
  isUnderWay(podUid: PodUid): boolean {
    return this.#attempts.has(podUid);
  }

  /** Allocates the requested devices, or returns why not. A retry continues where it was. */
  async grant(pod: IdentifiedPod, placement: NumaPlacement): Promise<ResourceGrant> {
    const podUid = pod.metadata.uid;
    const requests = deviceRequests(pod);
    if (requests.length === 0) return { kind: "granted" };
    const attempt = this.#attempts.get(podUid) ?? this.#begin(pod, placement);
    // Others wait for their turn: a pod whose answer is known to be late comes back when it is there.
    if (!attempt.late) await this.#awaitAnswer(podUid, attempt);
    const { result } = attempt;
    if (!result) {
      attempt.late = true;
      const resources = [
        ...new Set(requests.flatMap((each) => each.resources.map((w) => w.resource))),
      ];
      const message = `waiting for an answer of the plugins of ${resources.join(", ")}`;
      return { kind: "deferred", reason: REASON, message, retryInMs: SLOW_RETRY_MS };
    }
    this.#attempts.delete(podUid);
    switch (result.kind) {
      case "granted":
        this.#stopWaiting(podUid);
        return result;
      case "refused":
        this.#stopWaiting(podUid);
        return result;
      case "wait":
        return this.#defer(podUid, result);
      case "threw":
        if (attempt.abort.signal.aborted) return GONE;
        throw result.error;
      default:
        return result satisfies never;
    }
  }

  /** The pod is gone: its pending allocation is aborted. */
  cancel(podUid: PodUid): void {
    this.#attempts.get(podUid)?.abort.abort(new Error("the pod is gone"));
    this.#attempts.delete(podUid);
    this.#stopWaiting(podUid);
  }

  /** Something changed that may help any pod that waits. */
  retryAll(): void {
    for (const [podUid, waiting] of this.#waiting) this.#retrySoon(podUid, waiting);
  }

  close(): void {
    for (const podUid of [...this.#attempts.keys(), ...this.#waiting.keys()]) this.cancel(podUid);
  }

  #begin(pod: IdentifiedPod, placement: NumaPlacement): Attempt {
    const podUid = pod.metadata.uid;
    const abort = new AbortController();
    const request = { pod, requests: deviceRequests(pod), placement };
    const attempt: Attempt = {
      abort,
      result: undefined,
      late: false,
      done: this.#deps.grants.give(request, abort.signal).then(
        (result) => this.#settle(podUid, attempt, result),
        (error: unknown) => this.#settle(podUid, attempt, { kind: "threw", error }),
      ),
    };
    this.#attempts.set(podUid, attempt);
    return attempt;
  }

  #settle(podUid: PodUid, attempt: Attempt, result: NonNullable<Attempt["result"]>): void {
    attempt.result = result;
    if (attempt.late && this.#attempts.get(podUid) === attempt) this.#deps.onWorthRetry(podUid);
  }

  async #awaitAnswer(podUid: PodUid, { done }: Attempt): Promise<void> {
    const timeout = { clock: this.#deps.clock, ms: this.#answerMs(podUid) };
    await withTimeout(timeout, NEVER_ABORTED, () => done);
  }

  /**
   * Half as long with each pod that already waits for an answer of the same plugin, so that all pods of a plugin
   * that hangs take less than twice the timeout together. Its answers restore the timeout.
   */
  #answerMs(podUid: PodUid): number {
    const asked = this.#askedFor(podUid);
    const late = new Map<string | undefined, number>();
    for (const [other, attempt] of this.#attempts) {
      if (!attempt.late || attempt.result) continue;
      const [resource] = this.#askedFor(other);
      late.set(resource, (late.get(resource) ?? 0) + 1);
    }
    // After the last answer the checkpoint is written, for everybody on the same disk.
    const most = largest([undefined, ...asked].map((resource) => late.get(resource) ?? 0));
    return Math.floor(ANSWER_MS / 2 ** most);
  }

  /** Resources whose plugins have yet to answer for the pod; the first is being asked. */
  #askedFor(podUid: PodUid): readonly string[] {
    return holdingsOf(this.#deps.state.ledger, podUid)
      .filter(({ state }) => state === "asked")
      .map(({ resource }) => resource);
  }

  #defer(podUid: PodUid, wait: Extract<GrantResult, { kind: "wait" }>): ResourceGrant {
    const { clock, state, deferMs } = this.#deps;
    const now = clock.monotonic();
    const waiting = this.#waiting.get(podUid) ?? {
      since: now,
      resource: undefined,
      record: undefined,
      cancelRetry: undefined,
    };
    const leftMs = waiting.since + deferMs - now;
    if (leftMs <= 0) {
      this.#stopWaiting(podUid);
      return wait.otherwise;
    }
    waiting.cancelRetry?.();
    waiting.cancelRetry = undefined;
    waiting.resource = wait.resource;
    waiting.record =
      wait.resource === undefined ? undefined : state.inventory.get().get(wait.resource);
    this.#waiting.set(podUid, waiting);
    const until = rfc3339((clock.wall() + Math.round(leftMs)) as WallMs);
    return {
      kind: "deferred",
      reason: REASON,
      message: `${wait.message} (until ${until})`,
      retryInMs: leftMs,
    };
  }

  #retrySoon(podUid: PodUid, waiting: Waiting): void {
    waiting.cancelRetry ??= this.#deps.clock.alarm(RETRY_PAUSE_MS, () => {
      waiting.cancelRetry = undefined;
      this.#deps.onWorthRetry(podUid);
    });
  }

  #stopWaiting(podUid: PodUid): void {
    this.#waiting.get(podUid)?.cancelRetry?.();
    this.#waiting.delete(podUid);
  }
}
