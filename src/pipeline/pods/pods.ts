/**
 * The pods module. Owns: one actor per pod UID and its record. In: pods that sources name, what the runtime
 * has, what admission, probes and the node report. Out: records, by view. Invariants: a record has one
 * writer; life only goes forward; a static pod starts only after its predecessor of the same name is
 * released; nothing is ended before every source was seen.
 *
 *     const pods = new Pods({ orphanGraceSeconds: 30, keepOrphans: false }, deps);
 *     pods.accept({ kind: "desired", uid, pod, source: "file" });
 *     pods.subscribe(({ uid, life }) => log.info("pod", { uid, life: life.kind }));
 *     pods.accept({ kind: "removed", uid });
 */

import { makeDecision } from "../../api/decisions.ts";
import type { PodStatus } from "../../api/generated/types.ts";
import type { FoundPod, ObservedPod, PodUid } from "../../api/observation.ts";
import { graceSecondsOf, podDisplayName } from "../../api/pod/pod.ts";
import type { PodFact } from "../../api/pod-facts.ts";
import { podSubject } from "../../api/ports/decisions.ts";
import type { CellMap } from "../../kit/cell-map.ts";
import { InvariantError } from "../../kit/errors.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { PodActor } from "./actor.ts";
import { Admissions } from "./admissions.ts";
import type { Admit } from "./admit.ts";
import type { PlanContext } from "./plan/plan-draft.ts";
import type { RecordedPodDeps } from "./ports.ts";
import { causeOf, hasEnded } from "./record/ended-before.ts";
import { keptVerdicts } from "./record/kept-verdicts.ts";
import { lostBefore } from "./record/lost-containers.ts";
import { livingContainers } from "./record/observed.ts";
import { factOf } from "./record/pod-fact.ts";
import { NOTHING_OBSERVED, type PodRecord, type TerminationCause } from "./record/record.ts";
import { keptResize } from "./record/resize-state.ts";
import type { PodSignal } from "./record/signals.ts";
import { newRecord } from "./record/transition.ts";
import { recordDegraded, signalOf } from "./run/record-degraded.ts";
import { type DesiredChange, type PodChange, Successors } from "./waiting/successors.ts";
import { knownBefore, nameOf, UnobservedPods } from "./waiting/unobserved-pods.ts";

interface PodsDeps extends RecordedPodDeps {
  readonly scope: TaskScope;
  /** Facts about pods for other modules; written by this module alone. */
  readonly facts: CellMap<PodUid, PodFact>;
  readonly admit: Admit;
  readonly context: () => Omit<PlanContext, "now" | "wallNow">;
  /** Status of the pod that a previous run of the agent published. */
  readonly publishedBefore: (uid: PodUid) => PodStatus | undefined;
  /** Whether a pod that no source names is to be left alone. */
  readonly isSpared: (namespace: string, name: string) => boolean;
  /** Whether a previous run of the agent handled the pod, whatever the outcome. */
  readonly knownBefore: (uid: PodUid) => boolean;
}

/** How orphaned pods are terminated. */
interface PodsOptions {
  /** Grace period of orphaned pods, which run but no source names; the Go kubelet gives them 1 s. */
  readonly orphanGraceSeconds: number | "own";
  /** They are only stopped: what belongs to them stays for the next agent. */
  readonly keepOrphans: boolean;
}

/** Read-only view of all records. */
export interface PodsView {
  list(): readonly PodRecord[];
  get(uid: PodUid): PodRecord | undefined;
  /** Called with every new record, released ones last. */
  subscribe(onRecord: (record: PodRecord) => void): () => void;
}

/** Hands changes and observations to the actor of their pod. */
export class Pods implements PodsView {
  readonly #deps: PodsDeps;
  readonly #options: PodsOptions;
  readonly #actors = new Map<PodUid, PodActor>();
  readonly #found = new Map<PodUid, ObservedPod>();
  readonly #unobserved = new UnobservedPods();
  readonly #successors = new Successors();
  /** Pods that were removed; their actors may not have taken it in yet. */
  readonly #removed = new Set<PodUid>();
  readonly #listeners = new Set<(record: PodRecord) => void>();
  readonly #admissions: Admissions;
  #sourcesSeen = false;

  constructor(options: PodsOptions, deps: PodsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#admissions = new Admissions({
      ...deps,
      list: () => this.list(),
      get: (uid) => this.get(uid),
      post: (uid, signal) => this.post(uid, signal),
    });
  }

  list(): readonly PodRecord[] {
    return [
      ...[...this.#actors.values()].map(({ record }) => record),
      ...this.#unobserved.records(),
    ];
  }

  get(uid: PodUid): PodRecord | undefined {
    return this.#actors.get(uid)?.record ?? this.#unobserved.record(uid);
  }

  /** Whether the pod has an actor, was found running, or waits for its turn. */
  knows(uid: PodUid): boolean {
    return (
      this.#actors.has(uid) ||
      this.#found.has(uid) ||
      this.#unobserved.has(uid) ||
      this.#successors.hasUid(uid)
    );
  }

  /** Pods that wait until one of the same name has gone. */
  successors(): readonly Pick<PodRecord, "desired">[] {
    return this.#successors.list().map((each) => ({ desired: { ...each, removed: false } }));
  }

  subscribe(onRecord: (record: PodRecord) => void): () => void {
    this.#listeners.add(onRecord);
    return () => void this.#listeners.delete(onRecord);
  }

  /** Takes observations of pods; a pod that the runtime no longer has comes with an empty one. */
  found(pods: readonly FoundPod[]): void {
    for (const found of pods) {
      const actor = this.#actors.get(found.uid);
      if (actor) actor.post(signalOf(found));
      else if (found.kind === "unobserved") {
        this.#found.delete(found.uid); // It waits to be observed again, and is no orphan until then.
        this.#hold(found.uid, () => this.#unobserved.note(found));
      } else this.#observed(found);
    }
  }

  /** Takes in what is seen of a pod that has no actor. */
  #observed(found: ObservedPod): void {
    const { uid, observed } = found;
    const before = this.#unobserved.record(uid);
    const held = this.#unobserved.take(uid);
    const isEmpty = observed.sandboxes.length + observed.containers.length === 0;
    if (isEmpty) this.#found.delete(uid);
    else {
      this.#found.set(uid, found);
      if (this.#sourcesSeen && !held?.desired && !this.#isSpared(found)) this.#adoptOrphan(found);
    }
    if (held?.desired) {
      const actor = this.#start(held.desired.change, held.desired.before);
      recordDegraded(before?.sync.degraded, actor.record, this.#deps.ports);
      if (held.removed) actor.post({ kind: "removed", ...held.removed });
    } else if (held && isEmpty) this.#letIn(nameOf(held), uid);
  }

  /** Publishes a pod on which nothing is done until it can be observed. */
  #hold(uid: PodUid, change: () => PodRecord | undefined): void {
    const before = this.#unobserved.record(uid);
    const record = change();
    if (!record) return;
    this.#publish(record);
    recordDegraded(before?.sync.degraded, record, this.#deps.ports);
    for (const listener of this.#listeners) listener(record);
  }

  /** Every source has been seen once: a pod that none names is an orphan. */
  sourcesSeen(): void {
    if (this.#sourcesSeen) return;
    this.#sourcesSeen = true;
    for (const uid of this.#actors.keys()) this.#found.delete(uid);
    this.#adoptOrphans();
    this.#admissions.resizes.open();
  }

  accept(change: PodChange): void {
    // A pod that was spared may have a successor now.
    if (this.#sourcesSeen && this.#found.size > 0) this.#adoptOrphans(change.uid);
    if (change.kind === "removed") {
      const { kind: _, uid, ...how } = change;
      this.#successors.drop(uid);
      const actor = this.#actors.get(uid);
      if (actor) this.#removed.add(uid);
      actor?.post({ kind: "removed", ...how });
      this.#hold(uid, () => this.#unobserved.drop(uid, how));
      return;
    }
    if (this.#unobserved.has(change.uid)) {
      this.#hold(change.uid, () =>
        this.#unobserved.setDesired(change, () => knownBefore(change, this.#deps)),
      );
      return;
    }
    const actor = this.#actors.get(change.uid);
    // One that is removed for good goes first.
    if (actor && !actor.record.desired.removed && !this.#removed.has(change.uid)) {
      actor.post({ kind: "desired", pod: change.pod });
      return;
    }
    if (actor) this.#deps.ports.measures.recreated(actor.record);
    const predecessor = actor?.record ?? this.#predecessorOf(change);
    if (predecessor) {
      this.#successors.set(change);
      this.#deps.ports.decisions.record(
        podSubject(predecessor.pod),
        makeDecision("replace", "same name, another definition", {
          predecessorUid: predecessor.uid,
        }),
      );
      return;
    }
    this.#start(change);
  }

  /** Posts a signal to one pod; ignored when the pod is gone. */
  post(uid: PodUid, signal: PodSignal): void {
    this.#actors.get(uid)?.post(signal);
  }

  terminate(uid: PodUid, cause: TerminationCause, graceSeconds?: number): void {
    this.post(uid, {
      kind: "terminate",
      cause,
      ...(graceSeconds === undefined ? {} : { graceSeconds }),
    });
  }

  /** Asks admission again about pods that wait. */
  reconsider(uid: PodUid): void {
    if (this.get(uid)?.admission.kind === "deferred") this.#admissions.queue(uid);
  }

  /** Facts of the node changed: every pod plans again. */
  replan(): void {
    for (const actor of this.#actors.values()) actor.post({ kind: "tick" });
  }

  #predecessorOf(change: DesiredChange): PodRecord | undefined {
    if (change.source === "api") return undefined;
    const name = podDisplayName(change.pod);
    for (const { record } of this.#actors.values()) {
      if (
        podDisplayName(record.pod) === name &&
        record.uid !== change.uid &&
        record.desired.source !== "api"
      )
        return record;
    }
    // Found running under this name before anything started: it is ended first.
    for (const found of this.#found.values()) {
      if (found.uid !== change.uid && podDisplayName(found.describe()) === name)
        return this.#adoptOrphan(found).record;
    }
    return this.#unobserved.named(name, change.uid);
  }

  #start(
    change: DesiredChange,
    { published, known, startedAt } = knownBefore(change, this.#deps),
  ): PodActor {
    const found = this.#found.get(change.uid);
    this.#found.delete(change.uid);
    const { resizes } = this.#deps.ports;
    const pod = resizes.asAllocated(change.pod);
    const record = newRecord({
      uid: change.uid,
      pod,
      desired: change.pod,
      resize: keptResize({ pod, desired: change.pod }, resizes.actuated(pod), published),
      source: change.source,
      observed: found?.observed ?? { asOf: this.#deps.clock.monotonic(), ...NOTHING_OBSERVED },
      startedAt,
      mayHavePrerequisites: found !== undefined || known,
      lost: lostBefore(published, found?.observed ?? NOTHING_OBSERVED),
      ...(found ? { probes: keptVerdicts(found.observed, published) } : {}),
    });
    const actor = this.#launch(record);
    if (found && livingContainers(found.observed).length > 0) {
      const containers = livingContainers(found.observed).length;
      const sandboxId = found.observed.sandboxes[0]?.id ?? "";
      this.#deps.ports.decisions.record(
        podSubject(record.pod),
        makeDecision("adopt", "already running", { sandboxId, containers }),
      );
      resizes.admitted(record.pod);
      actor.post({ kind: "admitted" });
      // Now that it has an actor it can be terminated, if no source names it.
      actor.post({ kind: "desired", pod: change.pod });
      if (hasEnded(change.source, published))
        actor.post({ kind: "terminate", cause: causeOf(change.pod, published) });
    } else if (
      hasEnded(change.source, published) ||
      change.pod.metadata?.deletionTimestamp !== undefined
    )
      actor.post({ kind: "terminate", cause: causeOf(change.pod, published) });
    else this.#admissions.queue(change.uid);
    return actor;
  }

  #adoptOrphans(desired?: PodUid): void {
    for (const found of [...this.#found.values()])
      if (found.uid !== desired && !this.#isSpared(found)) this.#adoptOrphan(found);
  }

  #isSpared(found: ObservedPod): boolean {
    const { namespace, name } = found.describe().metadata;
    return this.#deps.isSpared(namespace, name);
  }

  #adoptOrphan(found: ObservedPod): PodActor {
    this.#found.delete(found.uid);
    const pod = found.describe();
    const record = newRecord({
      uid: found.uid,
      pod,
      source: "runtime",
      observed: found.observed,
      startedAt: this.#deps.clock.wall(),
      mayHavePrerequisites: !this.#options.keepOrphans,
    });
    const { orphanGraceSeconds } = this.#options;
    const graceSeconds = orphanGraceSeconds === "own" ? graceSecondsOf(pod) : orphanGraceSeconds;
    const actor = this.#launch(record);
    this.#deps.ports.measures.orphaned();
    this.#deps.ports.decisions.record(
      podSubject(record.pod),
      makeDecision("killPod", "no source names it", {
        graceSeconds,
        reason: "no manifest or API object names it",
      }),
    );
    actor.post({ kind: "terminate", cause: { kind: "orphaned" }, graceSeconds });
    if (!this.#options.keepOrphans) actor.post({ kind: "removed", graceSeconds });
    return actor;
  }

  #launch(record: PodRecord): PodActor {
    if (this.#actors.has(record.uid))
      throw new InvariantError(`pod ${record.uid} has an actor already`);
    const actor = new PodActor(record, {
      ...this.#deps,
      log: this.#deps.log.child("pod", { pod: podDisplayName(record.pod), uid: record.uid }),
      hasSuccessor: () => this.#successors.has(podDisplayName(record.pod)),
      onRecord: (now) => this.#publish(now),
      onChange: (now) => {
        for (const listener of this.#listeners) listener(now);
        this.#admissions.resizes.notice(now);
      },
    });
    this.#actors.set(record.uid, actor);
    this.#publish(record);
    this.#deps.scope.spawn(`pod ${record.uid}`, "restart", async (signal) => {
      await actor.run(signal);
      if (!signal.aborted) this.#released(actor.record);
    });
    return actor;
  }

  #publish(record: PodRecord): void {
    this.#deps.facts.set(record.uid, factOf(record));
  }

  #released(record: PodRecord): void {
    this.#actors.delete(record.uid);
    this.#removed.delete(record.uid);
    this.#deps.facts.delete(record.uid);
    this.#admissions.forget(record.uid);
    this.#deps.ports.decisions.record(
      podSubject(record.pod),
      makeDecision("release", "nothing is left of it", {
        cause: "cause" in record.life ? record.life.cause.kind : "removed",
      }),
    );
    this.#letIn(podDisplayName(record.pod), record.uid);
  }

  /** Nothing is left of a pod: the one that waits for it starts. */
  #letIn(name: string, uid: PodUid): void {
    for (const successor of this.#successors.take(name, uid)) this.accept(successor);
  }
}
