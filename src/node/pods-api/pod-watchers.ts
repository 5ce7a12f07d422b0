import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { Clock } from "../../kit/clock.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { NamedPod } from "./served-pods.ts";

/** A change of one pod, with the pod as it was right after it. */
export type ServedChange =
  | { readonly kind: "added" | "modified"; readonly now: NamedPod }
  | { readonly kind: "deleted"; readonly last: IdentifiedPod };

/** Whoever follows the changes of pods. */
interface PodWatcher {
  /** The next change; `undefined` once there will be none, `ended` says why. Resolves when `signal` is aborted, too. */
  next(signal: AbortSignal): Promise<ServedChange | undefined>;
  leave(): void;
}

interface WatchersDeps {
  readonly clock: Clock;
  /** Called for each change that a watcher did not get. */
  readonly onDropped: () => void;
}

/** Changes that wait for all watchers, and for one of them. */
const MAX_INBOUND = 1_000;
const MAX_QUEUED = 100;
/** How often a watcher whose queue is full is found so, having read nothing, before it is ended; the others wait meanwhile. */
const FULL_CHECKS = 10;
const CHECK_MS = 10;

class Watcher {
  readonly queue: ServedChange[] = [];
  readonly wakeup = new Wakeup();
  fullChecks = 0;
  isEnded = false;
}

/**
 * Hands changes of pods to watchers, each at its own pace. Who does not keep up is ended rather than left with a gap: it
 * lists the pods again.
 */
export class PodWatchers {
  readonly #deps: WatchersDeps;
  readonly #watchers = new Set<Watcher>();
  readonly #inbound: ServedChange[] = [];
  readonly #wakeup = new Wakeup();

  constructor(deps: WatchersDeps) {
    this.#deps = deps;
  }

  /** From now on every change is kept for the watcher, until it leaves. */
  watch(): PodWatcher {
    const watcher = new Watcher();
    this.#watchers.add(watcher);
    return {
      next: async (signal) => {
        while (watcher.queue.length === 0 && !watcher.isEnded && !signal.aborted)
          await watcher.wakeup.wait(undefined, signal);
        watcher.fullChecks = 0;
        return signal.aborted ? undefined : watcher.queue.shift();
      },
      leave: () => void this.#watchers.delete(watcher),
    };
  }

  publish(change: ServedChange): void {
    if (this.#watchers.size === 0) return;
    if (this.#inbound.length >= MAX_INBOUND) {
      this.#inbound.length = 0;
      for (const watcher of [...this.#watchers]) this.#drop(watcher);
      return;
    }
    this.#inbound.push(change);
    this.#wakeup.wake();
  }

  /** Hands out changes until `signal` is aborted; then every watcher ends. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const change = this.#inbound[0];
      if (!change) await this.#wakeup.wait(undefined, signal);
      else if (this.#mayWait()) await this.#deps.clock.sleep(CHECK_MS, signal).catch(() => {});
      else {
        this.#inbound.shift();
        this.#deliver(change);
      }
    }
    for (const watcher of [...this.#watchers]) this.#end(watcher);
  }

  /** Whether a watcher is full and still has time to read. */
  #mayWait(): boolean {
    let isWaiting = false;
    for (const watcher of this.#watchers) {
      if (watcher.queue.length < MAX_QUEUED) continue;
      watcher.fullChecks += 1;
      if (watcher.fullChecks < FULL_CHECKS) isWaiting = true;
    }
    return isWaiting;
  }

  #deliver(change: ServedChange): void {
    for (const watcher of [...this.#watchers]) {
      if (watcher.queue.length >= MAX_QUEUED) {
        this.#drop(watcher);
        continue;
      }
      watcher.queue.push(change);
      watcher.wakeup.wake();
    }
  }

  #drop(watcher: Watcher): void {
    this.#deps.onDropped();
    this.#end(watcher);
  }

  /** It still gets what waits for it. */
  #end(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    watcher.isEnded = true;
    watcher.wakeup.wake();
  }
}

/** The pods that sources name. */
export interface NamedPods {
  list(): readonly NamedPod[];
  get(uid: string): NamedPod | undefined;
  /** Calls `onChange` whenever something of a pod may have changed. */
  subscribe(onChange: (uid: PodUid) => void): () => void;
}

/** Publishes what becomes of pods; the result ends that. */
export function followPods(pods: NamedPods, publish: (change: ServedChange) => void): () => void {
  const known = new Map<string, NamedPod>(pods.list().map((each) => [each.pod.metadata.uid, each]));
  return pods.subscribe((uid) => {
    const before = known.get(uid);
    const now = pods.get(uid);
    if (now) {
      if (before && before.pod === now.pod && before.status === now.status) return;
      known.set(uid, now);
      publish({ kind: before ? "modified" : "added", now });
    } else if (before) {
      known.delete(uid);
      publish({ kind: "deleted", last: before.pod });
    }
  });
}
