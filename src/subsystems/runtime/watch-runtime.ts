import { isSame } from "../../api/decode/strategic-diff.ts";
import type { NodeFeatures, NodeRuntimeHandler } from "../../api/generated/types.ts";
import { deprecationsOf } from "../../api/node/runtime-deprecations.ts";
import { conditionText, nodeHandlers } from "../../api/node/runtime-status.ts";
import type { FoundPod, PodUid } from "../../api/observation.ts";
import type { PodFacts } from "../../api/pod-facts.ts";
import { asPodUid } from "../../api/pod-identity.ts";
import type { PodNews } from "../../api/pod-news.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Publisher } from "../../kit/topic.ts";
import type { RuntimeEvent, RuntimeService } from "../../outside/cri/cri.ts";
import { DegradedPods } from "./degraded-pods.ts";
import { type WatchMeasures, watchMeasures } from "./instrument.ts";
import type { Observer } from "./observe.ts";
import { type PodHandler, PodObservations } from "./pod-observations.ts";

/**
 * How the runtime is, as far as pods and the node must know. While it does not answer, it is not ready and all else
 * stays as it last was.
 */
export interface RuntimeHealth {
  readonly ready: boolean;
  /** Why not, where the runtime itself says so, with the Go kubelet's text for the node's condition; else empty. */
  readonly problem: string;
  readonly networkReady: boolean;
  /** Why not, in the runtime's words. */
  readonly message: string;
  readonly networkMessage: string;
  /** The same as the Go kubelet says it in events and conditions. */
  readonly networkProblem: string;
  /** Handlers and features, as the node shows them. */
  readonly handlers: readonly NodeRuntimeHandler[];
  readonly features: NodeFeatures | undefined;
  /** Whether pods in the node's network can have users of their own. */
  readonly userNamespacesHostNetwork: boolean;
  /** Options of bind mounts that a pod says (CRI `RuntimeFeatures.mount_options`). */
  readonly mountOptions: boolean;
  /** What the runtime warns of: settings and requests that a later version of it will not support. */
  readonly deprecations: readonly string[];
}

/** Before the runtime has answered for the first time. */
const RUNTIME_UNKNOWN: RuntimeHealth = {
  ready: false,
  problem: "",
  networkReady: false,
  message: "container runtime status check may not have completed yet",
  networkMessage: "container runtime network not ready",
  networkProblem: "container runtime network not ready",
  handlers: [],
  features: undefined,
  userNamespacesHostNetwork: false,
  mountOptions: false,
  deprecations: [],
};

/** Period of the runtime's status check (kubelet updateRuntimeUp). */
const STATUS_PERIOD_MS = 5_000;
/** Pauses between checks after the runtime was given a network: it loads that in moments, and has no event for it. */
const NETWORK_CHECKS_MS = [100, 200, 400, 800, 1_600] as const;
/** Period of full listings with and without an event stream (generic PLEG: 1 s). */
const RELIST_WITH_EVENTS_MS = 30_000;
const RELIST_WITHOUT_EVENTS_MS = 1_000;
/** Least pause between the end of one full listing and the beginning of the next, also after it failed. */
const LISTING_PAUSE_MS = 1_000;
/** Time an event of an unknown container waits: mostly it is the notification of our own creation. */
const UNKNOWN_CONTAINER_MS = 250;
/** Delays of the observations after an end was announced, doubled each time. */
const FIRST_END_CHECK_MS = 10;
const LAST_END_CHECK_MS = 5_000;
/** Pause before the event stream is opened again. */
const REOPEN_EVENTS_MS = 1_000;
/** A runtime that cannot stream says so well before this. */
const STREAM_SETTLED_MS = 2_000;

export interface RuntimeWatchDeps {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly observer: Observer;
  /** Called for every pod that changed. */
  readonly news: Publisher<PodNews>;
  /** Of a pod for which something is being done an event need not be followed: it is observed after that. */
  readonly pods: Pick<PodFacts, "get">;
}

/**
 * Keeps observing the runtime: one pod when an event names it, all of them as often as the
 * quality of the event stream demands.
 */
export class RuntimeWatch {
  readonly #deps: RuntimeWatchDeps;
  readonly #degraded: DegradedPods;
  readonly #measures: WatchMeasures;
  readonly #observations: PodObservations;
  readonly #health = new Cell<RuntimeHealth>(RUNTIME_UNKNOWN);
  /** Pauses before the next checks of the status, instead of the usual one. */
  #soonMs: readonly number[] = [];
  readonly #checkNow = new Wakeup();
  #lastReady: MonotonicMs | undefined;
  #lastAnswer: MonotonicMs | undefined;
  readonly #lastListing = new Cell<MonotonicMs | undefined>(undefined);
  #listedUntil: MonotonicMs | undefined;
  /** Why the runtime cannot be listed, as last logged. */
  #listingProblem: string | undefined;
  readonly #streaming = new Cell(false);
  readonly #dirty = new Set<PodUid>();
  /** The latest report of each pod until `listOnce` returns them; `undefined` from then on. */
  #firstListing: Map<PodUid, FoundPod> | undefined;
  #everything = true;
  readonly #wakeup = new Wakeup();

  constructor(deps: RuntimeWatchDeps) {
    this.#deps = deps;
    this.#degraded = new DegradedPods(deps);
    this.#measures = watchMeasures(deps.metrics, deps.clock);
    this.#observations = new PodObservations({
      clock: deps.clock,
      log: deps.log,
      observer: deps.observer,
      degraded: this.#degraded,
      measures: this.#measures,
      onLate: (found) => {
        this.#report(found);
        this.#wakeup.wake();
      },
      onChangedMeanwhile: (uid) => this.#markDirty(uid),
      onUnlisted: () => this.requestListing(),
      onMayBegin: () => this.#wakeup.wake(),
    });
  }

  get health(): Reading<RuntimeHealth> {
    return this.#health;
  }

  /** When the runtime last answered that it is ready; `undefined` before the first time. */
  get lastReady(): MonotonicMs | undefined {
    return this.#lastReady;
  }

  /** When the runtime last answered what its status is; `undefined` before the first time. */
  get lastAnswer(): MonotonicMs | undefined {
    return this.#lastAnswer;
  }

  /** When the last complete listing began; `undefined` before the first. */
  get lastListing(): Reading<MonotonicMs | undefined> {
    return this.#lastListing;
  }

  get streaming(): Reading<boolean> {
    return this.#streaming;
  }

  /**
   * Lists everything once, so that the agent has observed before it acts. A pod that cannot be read, or not before the
   * listing ends, is among what is found as such; it is reported later. If it throws, call it again: what was
   * observed until then is among what the next call returns.
   */
  async listOnce(signal: AbortSignal): Promise<readonly FoundPod[]> {
    const found = this.#firstListing ?? new Map<PodUid, FoundPod>();
    this.#firstListing = found;
    await this.#listAll((pod) => this.#report(pod), signal);
    this.#firstListing = undefined;
    return [...found.values()];
  }

  /** Observes one pod for its caller; one that cannot be read is observed again later. */
  async observe(uid: PodUid, signal: AbortSignal): Promise<FoundPod> {
    const found = await this.#observations.one(uid, signal);
    if (found.kind === "unobserved") this.#wakeup.wake();
    return found;
  }

  /** Asks for a listing of everything soon. */
  requestListing(): void {
    this.#everything = true;
    this.#wakeup.wake();
  }

  /** The runtime was given what it makes a network of: whether that is ready is asked soon, and not a period later. */
  expectNetwork(): void {
    this.#soonMs = NETWORK_CHECKS_MS;
    this.#checkNow.wake();
  }

  /** Polls the runtime's own status; run it with policy `restart`. */
  async followHealth(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      await this.checkHealth(signal);
      const [soon, ...later] = this.#health.get().networkReady ? [] : this.#soonMs;
      this.#soonMs = later;
      const pause =
        soon === undefined ? { clock: clock.coalesced, ms: STATUS_PERIOD_MS } : { clock, ms: soon };
      await this.#checkNow.wait(pause, signal);
    }
  }

  async checkHealth(signal: AbortSignal): Promise<void> {
    try {
      const { status, runtimeHandlers, features } = await this.#deps.runtime.status(signal);
      const conditions = new Map(
        (status?.conditions ?? []).map((condition) => [condition.type, condition]),
      );
      const runtime = conditions.get("RuntimeReady");
      const network = conditions.get("NetworkReady");
      const ready = runtime?.status === true;
      this.#lastAnswer = this.#deps.clock.monotonic();
      if (ready) this.#lastReady = this.#lastAnswer;
      this.#setHealth({
        ready,
        problem: ready
          ? ""
          : `container runtime not ready: ${conditionText("RuntimeReady", runtime)}`,
        networkReady: network?.status === true,
        message: [runtime?.reason, runtime?.message].filter(Boolean).join(": "),
        networkMessage: [network?.reason, network?.message].filter(Boolean).join(": "),
        networkProblem: `container runtime network not ready: ${conditionText("NetworkReady", network)}`,
        handlers: nodeHandlers(runtimeHandlers),
        features: features && { supplementalGroupsPolicy: features.supplementalGroupsPolicy },
        userNamespacesHostNetwork: features?.userNamespacesHostNetwork ?? false,
        mountOptions: features?.mountOptions ?? false,
        deprecations: deprecationsOf(status?.conditions ?? []),
      });
    } catch (error) {
      if (signal.aborted) return;
      this.#setHealth({ ...this.#health.get(), ready: false, problem: "", message: String(error) });
    }
  }

  /** Reads the event stream, opening it again whenever it breaks; run it with policy `restart`. */
  async followEvents(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A server says nothing before its first event: a stream that has not failed by then is open.
      const settled = this.#deps.clock.alarm(STREAM_SETTLED_MS, () => this.#setStreaming(true));
      try {
        for await (const event of this.#deps.runtime.events(signal)) {
          this.#setStreaming(true);
          this.#measures.event(event);
          this.#onEvent(event);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#measures.streamBroke();
        this.#setStreaming(false);
        if (isOutside(error, "unimplemented")) {
          this.#deps.log.info("the runtime has no event stream; listing every second instead");
          return;
        }
        this.#deps.log.verbose(2, "event stream ended", { error });
      } finally {
        settled();
      }
      await this.#deps.clock.sleep(REOPEN_EVENTS_MS, signal).catch(() => {});
    }
  }

  /** Observes the pods that are due, in a loop; run it with policy `restart`. */
  async followPods(signal: AbortSignal): Promise<void> {
    const report = (found: FoundPod) => this.#report(found);
    while (!signal.aborted) {
      try {
        this.#observations.retryDue((uid) => this.#isBusy(uid), signal);
        if (this.#everything || this.#untilListingMs() <= 0) await this.#listAll(report, signal);
        else if (this.#dirty.size > 0 && this.#observations.mayBegin)
          this.#observeDirty(report, signal);
        else await this.#pause(signal);
      } catch (error) {
        if (signal.aborted) break;
        // Pending observations are not lost: the next listing makes them.
        this.#everything = true;
        this.#listingFailed(error);
        await this.#deps.clock.sleep(LISTING_PAUSE_MS, signal).catch(() => {});
      }
    }
    await this.#observations.ended();
  }

  #isBusy(uid: PodUid): boolean {
    return this.#deps.pods.get(uid)?.busy === true;
  }

  /** While the first listing is under way, a late observation replaces the earlier report in its result: published, it would overtake it. */
  #report(found: FoundPod): void {
    if (this.#firstListing) this.#firstListing.set(found.uid, found);
    else this.#deps.news.publish({ kind: "found", found });
  }

  async #listAll(report: PodHandler, signal: AbortSignal): Promise<void> {
    const began = this.#deps.clock.monotonic();
    this.#everything = false;
    const listed = this.#measures.listing(this.#lastListing.get());
    await this.#observations.all(report, signal);
    listed();
    this.#lastListing.set(began);
    this.#listedUntil = this.#deps.clock.monotonic();
    if (this.#listingProblem !== undefined) this.#deps.log.info("the runtime can be listed again");
    this.#listingProblem = undefined;
  }

  /** Without waiting: a pod that takes long to be read must not delay the next one. */
  #observeDirty(report: PodHandler, signal: AbortSignal): void {
    for (const uid of this.#dirty) {
      if (!this.#observations.mayBegin) return;
      this.#dirty.delete(uid);
      if (!this.#isBusy(uid)) this.#observations.begin(uid, report, signal);
    }
  }

  /** Until the next full listing is due: a period after the last one began, whatever events come in between. */
  #untilListingMs(): number {
    const periodMs = this.#streaming.get() ? RELIST_WITH_EVENTS_MS : RELIST_WITHOUT_EVENTS_MS;
    const began = this.#lastListing.get();
    if (began === undefined || this.#listedUntil === undefined) return 0;
    const due = Math.max(began + periodMs, this.#listedUntil + LISTING_PAUSE_MS);
    return due - this.#deps.clock.monotonic();
  }

  /** Reported once for each cause: it is tried again every second. */
  #listingFailed(error: unknown): void {
    const problem = messageOf(error);
    if (problem !== this.#listingProblem)
      this.#deps.log.warn("failed to list pods of the container runtime", { error: problem });
    this.#listingProblem = problem;
  }

  /** Waits for an event, the next full listing, or the next try of a pod that could not be observed. */
  #pause(signal: AbortSignal): Promise<void> {
    const ms = Math.min(this.#untilListingMs(), this.#degraded.untilDueMs());
    return this.#wakeup.wait({ clock: this.#deps.clock, ms }, signal);
  }

  #onEvent(event: RuntimeEvent): void {
    const uid = this.#deps.observer.podOf(event.containerId) ?? asPodUid(event.podUid);
    if (uid === undefined) {
      this.#deps.clock.alarm(UNKNOWN_CONTAINER_MS, () => this.#checkUnknown(event));
      return;
    }
    this.#markDirty(uid);
    if (event.kind === "stopped") this.#expectEnd(uid, event.containerId, FIRST_END_CHECK_MS);
  }

  /**
   * containerd's own events come before its CRI side has taken note of the end: what is then read still
   * says running. Observes it again, after ever longer delays, until the end is seen; also a container never observed before, since
   * its pod is still busy starting others.
   */
  #expectEnd(uid: PodUid, containerId: string, delayMs: number): void {
    if (delayMs > LAST_END_CHECK_MS) return;
    this.#deps.clock.alarm(delayMs, () => {
      if (!this.#deps.observer.mayRun(containerId)) return;
      if (!this.#observations.isUnderWay(uid)) this.#markDirty(uid);
      this.#expectEnd(uid, containerId, delayMs * 2);
    });
  }

  #checkUnknown(event: RuntimeEvent): void {
    if (this.#deps.observer.podOf(event.containerId) === undefined) this.requestListing();
    else this.#onEvent(event);
  }

  #markDirty(uid: PodUid): void {
    if (this.#isBusy(uid)) {
      this.#measures.discarded();
      return;
    }
    this.#dirty.add(uid);
    this.#wakeup.wake();
  }

  #setStreaming(streaming: boolean): void {
    if (this.#streaming.get() === streaming) return;
    this.#streaming.set(streaming);
    if (streaming) this.#measures.streamOpened();
    // Only a listing shows what happened while the stream was down.
    this.requestListing();
  }

  #setHealth(health: RuntimeHealth): void {
    if (!isSame(this.#health.get(), health)) this.#health.set(health);
  }
}
