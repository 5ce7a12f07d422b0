import type { Pod } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import { podDisplayName } from "../../api/pod/pod.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";

/** A status that the API does not have, and what keeps it from there. */
export interface UnwrittenStatus {
  readonly uid: PodUid;
  readonly pod: Pod;
  readonly reason: string;
}

/** Statuses unwritten for longer are reported. */
const LIMIT_MS = 10_000;

interface Episode {
  readonly since: MonotonicMs;
  reported?: string;
}

/** Reports why each status stays unwritten, once for each reason. Holds what is unwritten now, no more. */
export class UnwrittenStatuses {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #episodes = new Map<PodUid, Episode>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** A status of the pod has got there. */
  written(uid: PodUid): void {
    this.#episodes.delete(uid);
  }

  /** Takes all that is unwritten now. */
  check(unwritten: readonly UnwrittenStatus[]): void {
    const now = this.#clock.monotonic();
    const uids = new Set(unwritten.map(({ uid }) => uid));
    for (const uid of this.#episodes.keys()) if (!uids.has(uid)) this.#episodes.delete(uid);
    for (const { uid, pod, reason } of unwritten) {
      const episode = this.#episodes.get(uid) ?? { since: now };
      this.#episodes.set(uid, episode);
      const forMs = now - episode.since;
      if (forMs < LIMIT_MS || episode.reported === reason) continue;
      episode.reported = reason;
      this.#log.warn("the API server does not have a pod's status", {
        pod: podDisplayName(pod),
        reason,
        forSeconds: Math.round(forMs / 1000),
      });
    }
  }
}
