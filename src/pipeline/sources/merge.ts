// pure
import type { PodUid } from "../../api/observation.ts";
import { podDisplayName } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";

/** Kinds of sources of static pods. */
export type SourceKind = "file" | "http";

/** A pod as a source wants it. */
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

/**
 * One set over all sources. Of two pods of one name the one that was wanted before stays, otherwise the
 * first by source and origin; the other is a problem.
 */
export function mergeSources(
  desired: readonly SourcedPod[],
  before: ReadonlyMap<PodUid, SourcedPod>,
): Merged {
  const byName = new Map<string, SourcedPod>();
  const problems: SourceProblem[] = [];
  const duplicates: SourcedPod[] = [];
  const ordered = [...desired].sort(
    (a, b) =>
      Number(isKept(b, before)) - Number(isKept(a, before)) ||
      compare(a.source, b.source) ||
      compare(a.origin, b.origin),
  );
  for (const candidate of ordered) {
    const name = podDisplayName(candidate.pod);
    const holder = byName.get(name);
    if (!holder) byName.set(name, candidate);
    else {
      duplicates.push(candidate);
      problems.push({
        origin: candidate.origin,
        message: `a pod named ${name} is already defined by ${holder.origin}; give one of them another name`,
      });
    }
  }
  const pods = new Map([...byName.values()].map((pod) => [pod.uid, pod]));
  return { pods, problems, duplicates };
}

function isKept(candidate: SourcedPod, before: ReadonlyMap<PodUid, SourcedPod>): boolean {
  return before.get(candidate.uid)?.origin === candidate.origin;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Difference of two sets of pods. */
export interface Difference {
  readonly removed: readonly PodUid[];
  readonly added: readonly SourcedPod[];
}

/** Computes the difference of two merged sets; a changed static pod is another pod with another UID. */
export function differenceOf(
  before: ReadonlyMap<PodUid, SourcedPod>,
  now: ReadonlyMap<PodUid, SourcedPod>,
): Difference {
  return {
    removed: [...before.keys()].filter((uid) => !now.has(uid)),
    added: [...now.values()].filter(({ uid }) => !before.has(uid)),
  };
}
