import { isSame } from "../../api/decode/strategic-diff.ts";
import type { Pod } from "../../api/generated/types.ts";
import { isMirrorPod, podFullName } from "../../api/pod/pod.ts";
import { type IdentifiedPod, identifyPod } from "../../api/pod-identity.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { ageCheck, type HealthCheck } from "../../kit/health/health.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import {
  followObjects,
  type KubeClient,
  type ObjectChange,
  PODS,
  withoutManagedFields,
} from "../../outside/kube/kube.ts";
import type { PodSink, PodSource } from "../sources/sources.ts";
import { isOwnCondition } from "../status/pod-conditions.ts";

interface ApiPodsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Resolves when pods may be judged: the node itself must be known before. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
}

/** An API server that restarts is back by then. */
const STALE_LIMIT_MS = 60_000;

/**
 * The pods of this node as the API has them, mirror pods included. Owns: the latest object of each. Out:
 * desired pods to the pipeline (without mirror pods), with a notification of every change. What the API was seen to have
 * is never replaced by an older object.
 */
export class ApiPods implements PodSource {
  readonly name = "the API server";
  readonly mayBeLater = true;
  readonly #nodeName: string;
  readonly #deps: ApiPodsDeps;
  readonly #latest = new Map<string, IdentifiedPod>();
  /** UIDs of `#latest` by full name: mostly one, more while a pod is replaced. */
  readonly #uidsOf = new Map<string, ReadonlySet<string>>();
  /** Desired pods already passed on, by UID. */
  readonly #desired = new Map<string, IdentifiedPod>();
  readonly #listeners = new Set<(pod: IdentifiedPod) => void>();
  #synced = false;
  /** Since when what is known may be out of date; undefined while every change is reported. */
  #staleSince: MonotonicMs | undefined;

  constructor(nodeName: string, deps: ApiPodsDeps) {
    this.#nodeName = nodeName;
    this.#deps = deps;
    this.#staleSince = deps.clock.monotonic();
  }

  /** Fails while the API server cannot be reached. Pods keep running, so the node stays Ready. */
  get healthCheck(): HealthCheck {
    const { clock } = this.#deps;
    return ageCheck({
      name: "source-api",
      severity: "warning",
      clock,
      limitMs: STALE_LIMIT_MS,
      since: () => this.#staleSince ?? clock.monotonic(),
      missing: "failed to watch the pods of this node",
    });
  }

  /** Whether the first list was read. */
  get synced(): boolean {
    return this.#synced;
  }

  get(uid: string): IdentifiedPod | undefined {
    return this.#latest.get(uid);
  }

  /** Mirror pods of a static pod, by its name and namespace. */
  mirrorsOf(pod: IdentifiedPod): readonly IdentifiedPod[] {
    const fullName = podFullName(pod);
    return this.mirrors().filter((mirror) => podFullName(mirror) === fullName);
  }

  mirrors(): readonly IdentifiedPod[] {
    return [...this.#latest.values()].filter(isMirrorPod);
  }

  /** Calls `onChange` with every pod that came, changed or went. */
  subscribe(onChange: (pod: IdentifiedPod) => void): () => void {
    this.#listeners.add(onChange);
    return () => {
      this.#listeners.delete(onChange);
    };
  }

  /** Takes what the API answered to a write; older than what is known, it is left aside. */
  learn(written: Pod): void {
    const pod = this.#withKnownSpec(identifyPod(withoutManagedFields(written)));
    const { uid } = pod.metadata;
    const known = this.#latest.get(uid);
    if (known && isNewer(pod, known)) this.#latest.set(uid, pod);
  }

  async follow(sink: PodSink, signal: AbortSignal): Promise<void> {
    const { ready, ...deps } = this.#deps;
    await ready(signal);
    const options = { resource: PODS, fieldSelector: `spec.nodeName=${this.#nodeName}` };
    const onFollowing = (following: boolean) => {
      this.#staleSince = following ? undefined : (this.#staleSince ?? deps.clock.monotonic());
    };
    const changes = followObjects(options, { ...deps, onFollowing }, signal);
    for await (const change of changes) this.#take(change, sink);
  }

  #take(change: ObjectChange<Pod>, sink: PodSink): void {
    switch (change.kind) {
      case "all": {
        const listed = change.objects.map(identifyPod);
        const now = new Set<string>(listed.map(({ metadata }) => metadata.uid));
        for (const [uid, pod] of this.#latest) if (!now.has(uid)) this.#drop(pod, sink);
        for (const pod of listed) this.#set(pod, sink);
        this.#synced = true;
        sink.synced();
        return;
      }
      case "set":
        this.#set(identifyPod(change.object), sink);
        return;
      case "gone":
        this.#drop(identifyPod(change.object), sink);
        return;
      default:
        change satisfies never;
    }
  }

  #set(found: IdentifiedPod, sink: PodSink): void {
    const pod = this.#known(found) ?? this.#withKnownSpec(found);
    const { uid } = pod.metadata;
    // An object of the same name that was recreated: the end of the first may have been missed.
    const fullName = podFullName(pod);
    for (const other of this.#uidsOf.get(fullName) ?? []) {
      const known = this.#latest.get(other);
      if (other !== uid && known && !isNewer(known, pod)) this.#drop(known, sink);
    }
    const known = this.#latest.get(uid);
    if (!known) this.#uidsOf.set(fullName, new Set([...(this.#uidsOf.get(fullName) ?? []), uid]));
    if (!known || isNewer(pod, known)) this.#latest.set(uid, pod);
    const desired = this.#desired.get(uid);
    if (!isMirrorPod(pod) && !(desired && isSameDesired(desired, pod))) {
      this.#desired.set(uid, pod);
      sink.setDesired(pod);
    }
    this.#notify(pod);
  }

  /** The object that is held at this version already, as from the answer to our own write. */
  #known({ metadata }: IdentifiedPod): IdentifiedPod | undefined {
    const held = this.#latest.get(metadata.uid);
    return held?.metadata.resourceVersion === metadata.resourceVersion ? held : undefined;
  }

  /**
   * The pod with the spec that is known already where it is the same, as with nearly every change: one spec is held then,
   * and what was derived of it counts for both.
   */
  #withKnownSpec(pod: IdentifiedPod): IdentifiedPod {
    const { uid } = pod.metadata;
    const { spec } = this.#desired.get(uid) ?? this.#latest.get(uid) ?? {};
    return spec && isSame(spec, pod.spec) ? { ...pod, spec } : pod;
  }

  #drop(pod: IdentifiedPod, sink: PodSink): void {
    const { uid } = pod.metadata;
    this.#latest.delete(uid);
    const fullName = podFullName(pod);
    const others = [...(this.#uidsOf.get(fullName) ?? [])].filter((each) => each !== uid);
    if (others.length > 0) this.#uidsOf.set(fullName, new Set(others));
    else this.#uidsOf.delete(fullName);
    this.#desired.delete(uid);
    if (!isMirrorPod(pod)) sink.drop(uid, pod.metadata?.deletionGracePeriodSeconds);
    this.#notify(pod);
  }

  #notify(pod: IdentifiedPod): void {
    for (const listener of this.#listeners) listener(pod);
  }
}

/** Whether `a` is the later object; versions count up (KEP-5504), what is none is taken as it comes. */
export function isNewer(a: Pod, b: Pod): boolean {
  const [version, other] = [a, b].map(({ metadata }) => metadata?.resourceVersion ?? "");
  if (!version || !other || !/^\d+$/.test(version) || !/^\d+$/.test(other)) return true;
  return BigInt(version) > BigInt(other);
}

/** Whether nothing relevant to a pod's actor differs: mostly it is our own status update. */
function isSameDesired(a: IdentifiedPod, b: IdentifiedPod): boolean {
  return (
    isSame(a.spec, b.spec) &&
    isSame(withoutVersion(a), withoutVersion(b)) &&
    isSame(foreignConditions(a), foreignConditions(b))
  );
}

function withoutVersion({ metadata }: IdentifiedPod): object {
  const { resourceVersion: _, managedFields: __, ...rest } = metadata ?? {};
  return rest;
}

function foreignConditions({ status }: IdentifiedPod): readonly unknown[] {
  return (status?.conditions ?? []).filter(({ type }) => !isOwnCondition(type));
}
