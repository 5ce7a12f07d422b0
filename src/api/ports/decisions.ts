// pure
import type { Decision, DecisionOutcome, DecisionRecord } from "../decisions.ts";
import { podDisplayName } from "../pod/pod.ts";
import type { IdentifiedPod } from "../pod-identity.ts";

/** Object of a decision: a pod, the node or an image. */
export type DecisionSubject = DecisionRecord["subject"];

/** Keeps decisions; never waits, never throws. */
export interface Decisions {
  /** Keeps a decision, made now unless `atMs` says when; the number is for `conclude`. */
  record(subject: DecisionSubject, decision: Decision, atMs?: number): number;
  /** Keeps the outcome of a decision; of several the last one counts. */
  conclude(subject: DecisionSubject, decision: number, outcome: DecisionOutcome): void;
}

/** The pod as the object of a decision. */
export function podSubject(pod: IdentifiedPod): DecisionSubject {
  return { kind: "pod", name: podDisplayName(pod), uid: pod.metadata.uid };
}
