import type { Pod, PodStatus } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import { isStaticPod } from "../../api/pod/pod.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";

/** A pod that has ended, with what was last shown of it. */
export interface EndedPod {
  readonly uid: PodUid;
  readonly pod: Pod;
  readonly status: PodStatus;
}

/** The Go kubelet removes containers of a removed pod once a minute, and counts on from those that are there. */
const KEPT_MS = 60_000;
/** Pods that are kept at most; the oldest give way. */
const MAX_PODS = 256;

/**
 * Restart counts of static pods whose manifest was removed. Put back soon, it is the same pod, of the same UID, and its
 * containers are counted on.
 */
export class ContinuedCounts {
  readonly #clock: Clock;
  readonly #pods = new Map<
    PodUid,
    { readonly until: MonotonicMs; readonly next: ReadonlyMap<string, number> }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The pod is gone with all its containers. */
  released({ uid, pod, status }: EndedPod): void {
    if (!isStaticPod(pod)) return;
    const now = this.#clock.monotonic();
    for (const [known, { until }] of this.#pods)
      if (until <= now || this.#pods.size >= MAX_PODS) this.#pods.delete(known);
    const { containerStatuses = [], initContainerStatuses = [] } = status;
    const next = new Map(
      [...initContainerStatuses, ...containerStatuses].flatMap(
        ({ name, restartCount, containerID }) =>
          containerID ? [[name, restartCount + 1] as const] : [],
      ),
    );
    if (next.size > 0) this.#pods.set(uid, { until: (now + KEPT_MS) as MonotonicMs, next });
  }

  /** Number of the next attempt of a container that the runtime knows nothing of; 0 when nothing was kept. */
  next(uid: PodUid, container: string): number {
    const known = this.#pods.get(uid);
    if (!known || known.until <= this.#clock.monotonic()) return 0;
    return known.next.get(container) ?? 0;
  }
}
