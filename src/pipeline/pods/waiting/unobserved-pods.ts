import type { PodStatus } from "../../../api/generated/types.ts";
import type { PodUid, UnobservedPod } from "../../../api/observation.ts";
import { podDisplayName } from "../../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { parseTimestamp } from "../../../api/text/timestamps.ts";
import type { Clock, WallMs } from "../../../kit/clock.ts";
import { NOTHING_OBSERVED, type PodOrigin, type PodRecord } from "../record/record.ts";
import { newRecord } from "../record/transition.ts";

/** Facts about a pod from a previous run of the agent. */
interface KnownBefore {
  readonly published: PodStatus | undefined;
  readonly known: boolean;
  /** Start time of the pod, as far as known. */
  readonly startedAt: WallMs;
}

/** Facts about a desired pod, kept until it can be observed. */
export function knownBefore(
  { uid, pod }: DesiredChange,
  { clock, ...kept }: KnownBeforeDeps,
): KnownBefore {
  const published = kept.publishedBefore(uid) ?? pod.status;
  const startedAt = parseTimestamp(published?.startTime ?? "") ?? clock.wall();
  return { published, startedAt, known: kept.knownBefore(uid) };
}

/** Known facts about pods from a previous run of the agent. */
interface KnownBeforeDeps {
  readonly clock: Pick<Clock, "wall">;
  readonly publishedBefore: (uid: PodUid) => PodStatus | undefined;
  readonly knownBefore: (uid: PodUid) => boolean;
}

/** The desired pod and its source. */
interface DesiredChange {
  readonly kind: "desired";
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  readonly source: PodOrigin;
}

/** A pod that is handled once it was observed. */
interface HeldPod {
  readonly found: UnobservedPod;
  /** Absent while no source has named it. */
  readonly desired?: { readonly change: DesiredChange; readonly before: KnownBefore };
  /** The source has dropped it since. */
  readonly removed?: { readonly graceSeconds?: number };
}

/**
 * Pods that were found when the agent began and cannot be read yet. The runtime has something of them, so they
 * must not be started as new ones, and what it has is not known, so they must not be ended either: what sources
 * say of them is kept until they are observed. Meanwhile they show the status that they had.
 */
export class UnobservedPods {
  readonly #held = new Map<PodUid, HeldPod>();
  readonly #records = new Map<PodUid, PodRecord>();

  has(uid: PodUid): boolean {
    return this.#held.has(uid);
  }

  /** Records of those that a source names. */
  records(): readonly PodRecord[] {
    return [...this.#records.values()];
  }

  record(uid: PodUid): PodRecord | undefined {
    return this.#records.get(uid);
  }

  /** Records that the pod cannot be observed; returns its record if a source names it. */
  note(found: UnobservedPod): PodRecord | undefined {
    this.#held.set(found.uid, { ...this.#held.get(found.uid), found });
    return this.#refresh(found.uid);
  }

  /** A source names the pod; `before` counts the first time. */
  setDesired(change: DesiredChange, before: () => KnownBefore): PodRecord | undefined {
    const held = this.#held.get(change.uid);
    if (!held) return undefined;
    const { found, desired } = held;
    this.#held.set(change.uid, { found, desired: { change, before: desired?.before ?? before() } });
    return this.#refresh(change.uid);
  }

  /** The source has dropped the pod: once it can be observed, it is to go. */
  drop(uid: PodUid, removed: { readonly graceSeconds?: number }): PodRecord | undefined {
    const held = this.#held.get(uid);
    if (!held?.desired) return undefined;
    this.#held.set(uid, { ...held, removed });
    return this.#refresh(uid);
  }

  /** A pod of that name other than `uid`, as far as known. */
  named(name: string, uid: PodUid): PodRecord | undefined {
    for (const held of this.#held.values())
      if (held.found.uid !== uid && nameOf(held) === name) return recordOf(held);
    return undefined;
  }

  /** The pod was observed, or is gone: it is held no more. */
  take(uid: PodUid): HeldPod | undefined {
    const held = this.#held.get(uid);
    this.#held.delete(uid);
    this.#records.delete(uid);
    return held;
  }

  #refresh(uid: PodUid): PodRecord | undefined {
    const held = this.#held.get(uid);
    if (!held?.desired) return undefined;
    const record = recordOf(held, this.#records.get(uid));
    this.#records.set(uid, record);
    return record;
  }
}

/** The name by which others may wait for it. */
export function nameOf({ found, desired }: HeldPod): string {
  return podDisplayName(desired?.change.pod ?? found.describe());
}

/** Not shown for an orphaned pod. */
const UNKNOWN_START = 0 as WallMs;

/** It was admitted once, else the runtime had nothing of it; on a stale observation nothing is done about it. */
function recordOf({ found, desired, removed }: HeldPod, before?: PodRecord): PodRecord {
  const pod = desired?.change.pod ?? found.describe();
  const record = newRecord({
    uid: found.uid,
    pod,
    source: desired?.change.source ?? "runtime",
    observed: { asOf: found.asOf, ...NOTHING_OBSERVED },
    startedAt: desired?.before.startedAt ?? UNKNOWN_START,
    mayHavePrerequisites: true,
  });
  return {
    ...record,
    life: { kind: "running" },
    admission: { kind: "admitted" },
    desired: { ...record.desired, removed: removed !== undefined },
    sync: {
      ...record.sync,
      freshness: "unobserved",
      degraded: found.problem ?? before?.sync.degraded,
    },
  };
}
