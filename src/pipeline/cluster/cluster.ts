/**
 * The pipeline's side towards the API server. In: pods of the node as the API has them, statuses and
 * records. Out: desired pods, statuses in the API, mirror pods. Invariants: one write under way for each pod;
 * nothing is deleted from the API before nothing of it is left here; while the API is away pods keep running,
 * and what it missed is brought to it later.
 *
 *     const cluster = new ClusterPods(deps);
 *     cluster.start(); // desired pods to the pipeline, statuses and mirror pods to the API
 */
import type { Node, Pod } from "../../api/generated/types.ts";
import { isMirrorPod, podDisplayName, podFullName } from "../../api/pod/pod.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import { Cell, type Reading, until } from "../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import { allValues, inParallel } from "../../kit/in-parallel.ts";
import { after } from "../../kit/instant.ts";
import type { Log } from "../../kit/log.ts";
import { runControlLoop } from "../../kit/loops/control-loop.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Random } from "../../kit/random.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { isApiError, type KubeClient, PODS } from "../../outside/kube/kube.ts";
import type { PodsView } from "../pods/pods.ts";
import { isReleasable } from "../pods/record/observed.ts";
import { isStatic } from "../pods/record/record.ts";
import type { Statuses } from "../status/status.ts";
import { ApiPods } from "./api-pods.ts";
import { type MirrorAction, planMirrors } from "./plan-mirrors.ts";
import { StatusWriter } from "./status-writer.ts";

export type { ApiPods } from "./api-pods.ts";

interface FollowedPodsDeps {
  readonly client: KubeClient;
  /** The node's own object, as soon as the API has it. */
  readonly node: Reading<Node | undefined>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface ClusterPodsDeps extends FollowedPodsDeps {
  readonly api: ApiPods;
  readonly reachable: Reading<boolean>;
  readonly metrics: MetricsRegistry;
  readonly scope: TaskScope;
  readonly pods: PodsView;
  readonly statuses: Pick<Statuses, "subscribe">;
  /** Whether every source was seen. */
  readonly seen: Reading<boolean>;
}

const MIRROR_PERIOD_MS = 10_000;
/** Mirrors made or deleted at once. */
const MIRROR_WRITES = 4;
/** Pause after a mirror could not be made or deleted. */
const MIRROR_RETRY_MS = 2_000;
/** Of one that the API refuses, e.g. in a namespace that is being deleted. */
const REFUSED_RETRY = { initialMs: 2_000, maxMs: 60_000 };

/** The pods of the node in the API: a source of pods, and what statuses are written beside. */
export function followApiPods(nodeName: string, deps: FollowedPodsDeps): ApiPods {
  const { client, clock, random, log, node } = deps;
  return new ApiPods(nodeName, {
    client,
    clock,
    random,
    log: log.child("cluster"),
    ready: (signal) => until(node, (now) => now !== undefined, signal),
  });
}

/** Brings statuses and mirror pods of one node to the API; made and started before the first record is. */
export class ClusterPods {
  readonly #deps: ClusterPodsDeps;
  readonly #api: ApiPods;
  readonly #writer: StatusWriter;
  /** Rises when mirror pods may have to be reconciled. */
  readonly #mirrorsChanged = new Cell(0);
  /** Mirrors that the API has refused, by full name; only of static pods that there are. */
  readonly #refused = new Map<string, Refused>();

  constructor(deps: ClusterPodsDeps) {
    this.#deps = deps;
    const { client, clock, metrics, reachable, api } = deps;
    this.#api = api;
    const log = deps.log.child("cluster");
    this.#writer = new StatusWriter({ client, reachable, clock, log, metrics, api });
  }

  /** Begins to bring statuses and mirror pods to the API. */
  start(): void {
    const { scope, pods, statuses } = this.#deps;
    const stops = [
      statuses.subscribe((uid, now) => this.#writer.set(uid, now)),
      pods.subscribe((record) => {
        if (isReleasable(record)) this.#writer.setFinished(record.uid);
        if (isStatic(record)) this.#checkMirrors();
      }),
      this.#api.subscribe((pod) => {
        this.#writer.apiChanged(pod);
        if (isMirrorPod(pod)) this.#checkMirrors();
      }),
    ];
    scope.defer("joined modules", () => {
      for (const stop of stops) stop();
    });
    scope.spawn("statuses to the API", "restart", (signal) => this.#writer.run(signal));
    scope.spawn("mirror pods", "restart", (signal) => this.#keepMirrors(signal));
  }

  #checkMirrors(): void {
    this.#mirrorsChanged.set(this.#mirrorsChanged.get() + 1);
  }

  async #keepMirrors(signal: AbortSignal): Promise<void> {
    const { node, clock, seen } = this.#deps;
    await runControlLoop<readonly MirrorAction[]>(
      {
        name: "mirror pods",
        wakeOn: [this.#mirrorsChanged, node, seen],
        everyMs: MIRROR_PERIOD_MS,
        plan: () => this.#planMirrors(),
        act: (actions, abort) => this.#applyMirrors(actions, abort),
      },
      clock.coalesced,
      signal,
    );
  }

  #planMirrors(): readonly MirrorAction[] | undefined {
    const { pods, seen } = this.#deps;
    if (!this.#api.synced) return undefined;
    const statics = pods
      .list()
      .filter((record) => isStatic(record) && record.life.kind !== "released")
      .map(({ pod, desired, life }) => ({
        pod,
        going: desired.removed,
        runs: life.kind === "running",
      }));
    const { metadata } = this.#deps.node.get() ?? {};
    const node =
      metadata?.name && metadata.uid && metadata.deletionTimestamp === undefined
        ? { name: metadata.name, uid: metadata.uid }
        : undefined;
    const mirrors = this.#api.mirrors();
    const names = new Set(statics.map(({ pod }) => podFullName(pod)));
    for (const name of this.#refused.keys()) if (!names.has(name)) this.#refused.delete(name);
    const now = this.#deps.clock.monotonic();
    const actions = planMirrors({ statics, mirrors, node, seen: seen.get() }).filter(
      (action) => (this.#refused.get(podFullName(objectOf(action)))?.notBefore ?? 0) <= now,
    );
    return actions.length === 0 ? undefined : actions;
  }

  async #applyMirrors(actions: readonly MirrorAction[], signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#deps;
    let failed = false;
    const apply = async (action: MirrorAction) => {
      try {
        await this.#applyMirror(action, signal);
        this.#refused.delete(podFullName(objectOf(action)));
      } catch (error) {
        if (signal.aborted) return;
        if (!isOutside(error)) throw error;
        failed ||= error.retryable;
        const isKnown = !error.retryable && this.#noteRefusal(action);
        const pod = podDisplayName(objectOf(action));
        const fields = { pod, step: action.kind, error };
        if (error.retryable || isKnown) log.verbose(2, "failed to reconcile a mirror pod", fields);
        else log.warn("failed to reconcile a mirror pod", fields);
      }
    };
    // One that the API does not answer (a webhook may hang) holds up no other.
    allValues(await inParallel(actions, MIRROR_WRITES, apply));
    // The watch brings what became of it; until then nothing is to be done twice.
    await clock.sleep(failed ? MIRROR_RETRY_MS : MIRROR_SETTLE_MS, signal).catch(() => {});
  }

  /** Puts off the next try; gives whether it was refused before. */
  #noteRefusal(action: MirrorAction): boolean {
    const name = podFullName(objectOf(action));
    const failures = (this.#refused.get(name)?.failures ?? 0) + 1;
    const delayMs = retryDelayMs(failures, REFUSED_RETRY);
    const notBefore = after(this.#deps.clock.monotonic(), delayMs);
    this.#refused.set(name, { failures, notBefore });
    return failures > 1;
  }

  async #applyMirror(action: MirrorAction, signal: AbortSignal): Promise<void> {
    const { client } = this.#deps;
    if (action.kind === "create") {
      const { namespace = "" } = action.pod.metadata ?? {};
      try {
        await client.create(PODS, { namespace }, action.pod, signal);
      } catch (error) {
        if (!isApiError(error, 409)) throw error;
      }
      return;
    }
    const { namespace = "", name = "", uid = "" } = action.mirror.metadata ?? {};
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    try {
      await client.delete(PODS, { namespace, name }, options, signal);
    } catch (error) {
      if (!isApiError(error, 404, 409)) throw error;
    }
  }
}

/** How often the API has refused a mirror, and when it is tried again. */
interface Refused {
  readonly failures: number;
  readonly notBefore: MonotonicMs;
}

const objectOf = (action: MirrorAction): Pod =>
  action.kind === "create" ? action.pod : action.mirror;

/** Time for the watch to bring what was just done. */
const MIRROR_SETTLE_MS = 200;
