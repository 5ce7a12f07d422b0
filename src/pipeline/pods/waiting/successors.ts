import { podDisplayName } from "../../../api/pod/pod.ts";
import type { IdentifiedPod, PodUid } from "../../../api/pod-identity.ts";
import type { PodOrigin } from "../record/record.ts";

/** The desired state of one pod, as its source has it. */
export type PodChange =
  | {
      readonly kind: "desired";
      readonly uid: PodUid;
      readonly pod: IdentifiedPod;
      readonly source: PodOrigin;
    }
  | {
      readonly kind: "removed";
      readonly uid: PodUid;
      /** In place of the spec's own. */
      readonly graceSeconds?: number;
    };

/** A pod that a source names. */
export type DesiredChange = Extract<PodChange, { kind: "desired" }>;

/** Pods that wait until another one has gone, by full name; the latest desired state counts. */
export class Successors {
  readonly #byName = new Map<string, DesiredChange>();

  list(): readonly DesiredChange[] {
    return [...this.#byName.values()];
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  hasUid(uid: PodUid): boolean {
    return this.list().some((change) => change.uid === uid);
  }

  set(change: DesiredChange): void {
    this.#byName.set(podDisplayName(change.pod), change);
  }

  drop(uid: PodUid): void {
    for (const [name, change] of this.#byName) if (change.uid === uid) this.#byName.delete(name);
  }

  /** Takes out who waited for the pod: one of its name, or one of its UID that has another name now. */
  take(name: string, uid: PodUid | undefined): readonly DesiredChange[] {
    const taken = this.list().filter(
      (change) => podDisplayName(change.pod) === name || change.uid === uid,
    );
    for (const change of taken) this.#byName.delete(podDisplayName(change.pod));
    return taken;
  }
}
