import type { EventText } from "../../../api/event-text.ts";
import type { PodCertificateProjection } from "../../../api/generated/types.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { PodEvents } from "../../../api/ports/events.ts";
import { retryDelayMs } from "../../../kit/backoff.ts";
import type { MonotonicMs, WallMs } from "../../../kit/clock.ts";
import { isOutside, messageOf } from "../../../kit/errors.ts";
import { Wakeup } from "../../../kit/loops/wakeup.ts";
import {
  type Answer,
  type CertificateRefusal,
  freshness,
  OVERDUE_MS,
  refusalEvent,
  refusalText,
  type StateName,
} from "./answer.ts";
import { atWall, untilWall } from "./at-wall.ts";
import { requestFromSigner, type SignerOutcome, type SignerRequestDeps } from "./signer-request.ts";

/** A key and the certificates about it, both PEM; the key is PKCS #8. */
export interface CertificateWithKey {
  readonly privateKeyPem: string;
  readonly chainPem: string;
}

/** An event about a pod. */
type CertificateEvent = EventText<
  "CertificateExpired" | "CertificateOverdueForRefresh" | "Denied" | "Failed",
  "Warning"
>;

export interface KeepDeps extends SignerRequestDeps {
  readonly events: PodEvents;
}

/** The certificate to keep, and its change callback. */
interface KeepOptions {
  readonly pod: IdentifiedPod;
  readonly source: PodCertificateProjection;
  readonly onChange: () => void;
}

type State =
  | { readonly kind: "waiting"; readonly why: string }
  | CertificateRefusal
  | (CertificateWithKey & {
      readonly kind: "issued";
      readonly refreshAt: WallMs;
      readonly notAfter: WallMs;
    });

/** Between attempts that failed; the Go kubelet comes back after one to two minutes at the latest. */
const RETRY = { initialMs: 500, maxMs: 60_000 };
/** However short the lives of certificates are, no more is asked for. */
const BETWEEN_REQUESTS_MS = 60_000;
/** Sources whose certificates came together do not ask together (jitterDuration). */
const JITTER_MS = 300_000;
/** Signers answer within moments: that is nothing to complain of. */
const TIMEOUT_MS = 2_000;
const NOT_YET = "credential bundle is not issued yet";

/** The certificate of one source: asked for, and asked for again in time, until it is stopped. */
export class KeptCertificate {
  readonly #options: KeepOptions;
  readonly #deps: KeepDeps;
  readonly #since: MonotonicMs;
  readonly #stop = new AbortController();
  readonly #waiting = new Set<Wakeup>();
  #state: State = { kind: "waiting", why: "" };
  #askedAt: MonotonicMs | undefined;
  #warnings: readonly (() => void)[] = [];

  constructor(options: KeepOptions, deps: KeepDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#since = deps.clock.monotonic();
  }

  /** Name of the signer. */
  get signerName(): string {
    return this.#options.source.signerName;
  }

  /** As metrics name it. */
  get stateName(): StateName {
    const state = this.#state;
    switch (state.kind) {
      case "waiting":
        return "not_yet_issued";
      case "issued":
        return freshness(state, this.#deps.clock.wall());
      default:
        return state.kind;
    }
  }

  /** Works until it is stopped or the signer has refused for good. */
  async run(signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#stop.signal]);
    try {
      for (;;) {
        const { request, privateKeyPem, answer } = await this.#answered(either);
        if (answer.kind !== "issued") {
          this.#refused(request, answer);
          return;
        }
        const refreshAt = this.#issued(privateKeyPem, answer);
        await untilWall(this.#deps.clock, refreshAt, either);
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  /** Asks for nothing any more and forgets the key. */
  stop(): void {
    this.#stop.abort(new Error("the volume is being removed"));
    this.#forgetWarnings();
    this.#state = { kind: "waiting", why: "" };
  }

  /** The credential bundle, or why there is none yet. Waits briefly for the first answer. */
  async credentials(signal: AbortSignal): Promise<CertificateWithKey | string> {
    if (this.#state.kind === "waiting") await this.#moment(signal);
    const state = this.#state;
    switch (state.kind) {
      case "waiting":
        return state.why === "" ? NOT_YET : `${NOT_YET}: ${state.why}`;
      case "issued":
        return state;
      default:
        return refusalText(state);
    }
  }

  /** Asks until there is an answer; a request that was lost or could not be made is made again. */
  async #answered(
    signal: AbortSignal,
  ): Promise<SignerOutcome & { readonly answer: Exclude<Answer, { readonly kind: "none" }> }> {
    const { pod, source } = this.#options;
    const { clock } = this.#deps;
    const onAsked = (request: string) => {
      this.#askedAt = clock.monotonic();
      this.#setReason(`PodCertificateRequest ${request} waits for signer ${source.signerName}`);
    };
    for (let failures = 0; ; failures += 1) {
      await this.#pause(failures, signal);
      try {
        const outcome = await requestFromSigner({ pod, source, onAsked }, this.#deps, signal);
        const { answer, request } = outcome;
        if (answer.kind !== "none") return { ...outcome, answer };
        this.#troubled(`PodCertificateRequest ${request} appears to have been deleted`, failures);
      } catch (error) {
        signal.throwIfAborted();
        if (!isOutside(error)) throw error;
        this.#troubled(messageOf(error), failures);
      }
    }
  }

  async #pause(failures: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const since =
      this.#askedAt === undefined ? BETWEEN_REQUESTS_MS : clock.monotonic() - this.#askedAt;
    const ms = Math.max(retryDelayMs(failures, RETRY), BETWEEN_REQUESTS_MS - since);
    if (ms > 0) await clock.sleep(ms, signal);
  }

  #troubled(problem: string, failures: number): void {
    const { pod } = this.#options;
    const { name, namespace } = pod.metadata;
    const fields = { pod: `${namespace}/${name}`, signer: this.signerName, error: problem };
    const words = "failed to get a certificate for a pod; will retry";
    if (failures === 0) this.#deps.log.warn(words, fields);
    else this.#deps.log.verbose(2, words, { ...fields, failures });
    this.#setReason(problem);
  }

  /** Why there is no certificate; of no interest once there is one. */
  #setReason(why: string): void {
    if (this.#state.kind !== "waiting" || this.#state.why === why) return;
    this.#state = { kind: "waiting", why };
    this.#options.onChange();
  }

  #issued(privateKeyPem: string, answer: Answer & { readonly kind: "issued" }): WallMs {
    const { clock, random } = this.#deps;
    const { chainPem, beginRefreshAt, notAfter } = answer;
    const refreshAt = (beginRefreshAt + random.next() * JITTER_MS) as WallMs;
    const overdueAt = (refreshAt + OVERDUE_MS) as WallMs;
    this.#settle({ kind: "issued", privateKeyPem, chainPem, refreshAt, notAfter });
    this.#warnings = [
      atWall(clock, overdueAt, () =>
        this.#event("CertificateOverdueForRefresh", "PodCertificate refresh overdue"),
      ),
      atWall(clock, notAfter, () => this.#event("CertificateExpired", "PodCertificate expired")),
    ];
    return refreshAt;
  }

  #refused(request: string, refusal: CertificateRefusal): void {
    const { reason, message } = refusalEvent(request, refusal);
    this.#settle(refusal);
    this.#event(reason, message);
  }

  #settle(state: State): void {
    this.#forgetWarnings();
    this.#state = state;
    for (const wakeup of this.#waiting) wakeup.wake();
    this.#options.onChange();
  }

  #event(reason: CertificateEvent["reason"], message: string): void {
    this.#deps.events.ofPod(this.#options.pod, { type: "Warning", reason, message });
  }

  #forgetWarnings(): void {
    for (const cancel of this.#warnings) cancel();
    this.#warnings = [];
  }

  async #moment(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const left = this.#since + TIMEOUT_MS - clock.monotonic();
    if (left <= 0) return;
    const wakeup = new Wakeup();
    this.#waiting.add(wakeup);
    const any = AbortSignal.any([signal, this.#stop.signal]);
    await wakeup.wait({ clock, ms: left }, any);
    this.#waiting.delete(wakeup);
    signal.throwIfAborted();
  }
}
