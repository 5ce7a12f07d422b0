// pure
import type { PodUid } from "../../api/observation.ts";
import { CONFIG_SEEN_ANNOTATION, podDisplayName } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { changeOfPod } from "./change-of-pod.ts";

/** Kinds of sources of static pods. */
export type SourceKind = "file" | "http";

/** A pod as a source names it. */
export interface SourcedPod {
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  readonly source: SourceKind;
  /** File path or URL, for messages. */
  readonly origin: string;
}

/** An invalid item of a source; reported once, shown as long as it lasts. */
export interface SourceProblem {
  readonly origin: string;
  readonly message: string;
}

/** The set over all sources, and what did not fit in. */
export interface Merged {
  readonly pods: ReadonlyMap<PodUid, SourcedPod>;
  readonly problems: readonly SourceProblem[];
  /** Pods left out because another one has their name. */
  readonly duplicates: readonly SourcedPod[];
}

/** What is known beside the sources that are merged. */
interface MergeContext {
  /** The set as it was. */
  readonly before: ReadonlyMap<PodUid, SourcedPod>;
  /** Whether a pod of that UID is there, from before the agent was started. */
  readonly isRunning: (uid: PodUid) => boolean;
  /** Whether a source that is not one of manifests has a pod of that UID. */
  readonly isTaken: (uid: PodUid) => boolean;
}

/**
 * One set over all sources. A name, and a UID, belongs to the manifest that had it before, whatever that says now;
 * otherwise to the one whose pod is running, otherwise to the first by source and origin. Every other one is a problem.
 */
export function mergeSources(
  desired: readonly SourcedPod[],
  { before, isRunning, isTaken }: MergeContext,
): Merged {
  const held = new Set([...before.values()].map(placeOf));
  const rank = (pod: SourcedPod) => (held.has(placeOf(pod)) ? 0 : isRunning(pod.uid) ? 1 : 2);
  const ordered = desired
    .map((pod) => ({ pod, rank: rank(pod) }))
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        compare(a.pod.source, b.pod.source) ||
        compare(a.pod.origin, b.pod.origin),
    )
    .map(({ pod }) => pod);
  const byName = new Map<string, SourcedPod>();
  const pods = new Map<PodUid, SourcedPod>();
  const problems: SourceProblem[] = [];
  const duplicates: SourcedPod[] = [];
  for (const candidate of ordered) {
    const { origin, uid } = candidate;
    const name = podDisplayName(candidate.pod);
    const namesake = byName.get(name);
    const twin = pods.get(uid);
    if (namesake) {
      duplicates.push(candidate);
      const message = `a pod named ${name} is already defined by ${namesake.origin}; give one of them another name`;
      problems.push({ origin, message });
    } else if (twin || isTaken(uid)) {
      const other = twin
        ? `pod ${podDisplayName(twin.pod)} of ${twin.origin}`
        : "a pod of another source";
      const message = `metadata.uid ${uid} of pod ${name} is the UID of ${other}; remove it from one of them`;
      problems.push({ origin, message });
    } else {
      byName.set(name, candidate);
      pods.set(uid, candidate);
    }
  }
  return { pods, problems, duplicates };
}

/** A name in a manifest: an edit leaves both as they are. */
const placeOf = ({ source, origin, pod }: SourcedPod): string =>
  JSON.stringify([source, origin, podDisplayName(pod)]);

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Difference of two sets of pods. */
export interface Difference {
  readonly removed: readonly PodUid[];
  /** New ones, those that are to begin again after they were removed, and those that changed in place. */
  readonly desired: readonly SourcedPod[];
}

/**
 * Computes the difference of two merged sets. A changed static pod is another pod with another UID, unless its manifest
 * brings its own: what cannot be changed in place is then removed and begins again, as does every pod whose manifest was
 * deleted and made again (`recreated`).
 */
export function differenceOf(
  before: ReadonlyMap<PodUid, SourcedPod>,
  now: ReadonlyMap<PodUid, SourcedPod>,
  recreated: ReadonlySet<string> = new Set(),
): Difference {
  const changeOf = (uid: PodUid, pod: SourcedPod) => {
    const was = before.get(uid);
    if (!was) return "new";
    return recreated.has(was.origin) ? "recreate" : changeOfPod(was.pod, pod.pod);
  };
  const changes = [...now].map(([uid, pod]) => ({ uid, pod, change: changeOf(uid, pod) }));
  const again = changes.filter(({ change }) => change === "recreate").map(({ uid }) => uid);
  return {
    removed: [...[...before.keys()].filter((uid) => !now.has(uid)), ...again],
    desired: changes.flatMap(({ uid, pod, change }) =>
      change === "same" ? [] : [change === "inPlace" ? seenSince(pod, before.get(uid)) : pod],
    ),
  };
}

/** A pod that changes in place was first seen when it was new. */
function seenSince(now: SourcedPod, before: SourcedPod | undefined): SourcedPod {
  const seen = before?.pod.metadata.annotations?.[CONFIG_SEEN_ANNOTATION];
  if (seen === undefined) return now;
  const { pod } = now;
  const annotations = { ...pod.metadata.annotations, [CONFIG_SEEN_ANNOTATION]: seen };
  return { ...now, pod: { ...pod, metadata: { ...pod.metadata, annotations } } };
}
