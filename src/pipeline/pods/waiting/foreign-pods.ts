/**
 * Keeps pods of other agents away from the pods module, which would take them for orphans. In: pods that were found in the
 * runtime. Out: those that are nobody else's. Invariants: a pod that a source names is handed over at once; nothing is handed
 * over before it is known whose it is; what an agent has left that does not come back is handed over in the end.
 */
import type { FoundPod, PodUid } from "../../../api/observation.ts";
import { podDisplayName } from "../../../api/pod/pod.ts";
import type { PodOwner } from "../../../api/pod-owner.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import { Wakeup } from "../../../kit/loops/wakeup.ts";
import type { TaskScope } from "../../../kit/scope.ts";

interface ForeignPodsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly pods: {
    knows(uid: PodUid): boolean;
    found(pods: readonly FoundPod[]): void;
  };
  /** The owners of those of the pods that are another agent's; absent where there are no other agents. */
  readonly ownersOf?: (uids: readonly PodUid[]) => Promise<ReadonlyMap<string, PodOwner>>;
  /** How long an agent that does not run keeps its pods; it may be being restarted. */
  readonly goneMs: number;
}

/** Until owners are determined again. */
const PERIOD_MS = 10_000;

/** See the head of this file. */
export class ForeignPods {
  readonly #deps: ForeignPodsDeps;
  /** What was found last of pods whose owner is not known yet, and of those of others. */
  readonly #withheld = new Map<PodUid, FoundPod>();
  /** Root folders of owners that the log has named. */
  readonly #named = new Set<string>();
  readonly #wakeup = new Wakeup();

  constructor(deps: ForeignPodsDeps) {
    this.#deps = deps;
  }

  /** Takes what was found of pods; those of which it is not known whose they are wait for `judge`. */
  take(found: readonly FoundPod[]): void {
    const { pods, ownersOf } = this.#deps;
    for (const pod of found) {
      const isKnown = !ownersOf || pods.knows(pod.uid);
      if (isKnown || isEmpty(pod)) {
        this.#withheld.delete(pod.uid);
        pods.found([pod]);
      } else {
        this.#withheld.set(pod.uid, pod);
        this.#wakeup.wake();
      }
    }
  }

  /** A source names the pod: whatever it was taken for, it is this agent's. */
  claim(uid: PodUid): void {
    const found = this.#withheld.get(uid);
    if (!found) return;
    this.#withheld.delete(uid);
    this.#deps.pods.found([found]);
  }

  /** Determines once the owners of all pods that wait. */
  async judge(): Promise<void> {
    const { ownersOf, pods, goneMs } = this.#deps;
    const asked = [...this.#withheld.keys()];
    if (!ownersOf || asked.length === 0) return;
    const owners = await ownersOf(asked);
    for (const uid of asked) {
      const found = this.#withheld.get(uid);
      if (!found) continue;
      const owner = owners.get(uid);
      const isFree = owner === undefined || (owner.kind === "gone" && owner.forMs >= goneMs);
      if (owner) this.#name(owner, found);
      if (!isFree) continue;
      this.#withheld.delete(uid);
      pods.found([found]);
    }
  }

  /** Judges for as long as the scope is open. */
  follow(scope: TaskScope): void {
    if (!this.#deps.ownersOf) return;
    scope.spawn("pods of other agents", "restart", async (signal) => {
      while (!signal.aborted) {
        await this.judge();
        const ms = this.#withheld.size > 0 ? PERIOD_MS : Number.POSITIVE_INFINITY;
        await this.#wakeup.wait({ clock: this.#deps.clock.coalesced, ms }, signal);
      }
    });
  }

  /** Says once of each owner that its pods are left alone. */
  #name(owner: PodOwner, found: FoundPod): void {
    if (owner.kind === "unknown") return;
    const key = `${owner.kind} ${owner.root}`;
    if (this.#named.has(key)) return;
    this.#named.add(key);
    const { log, goneMs } = this.#deps;
    const fields = { root: owner.root, example: podDisplayName(found.describe()) };
    if (owner.kind === "running") log.info("leaving alone the pods of another agent", fields);
    else
      log.warn("pods of an agent that is not running: those no source names are ended later", {
        ...fields,
        waitMs: goneMs,
      });
  }
}

function isEmpty(found: FoundPod): boolean {
  if (found.kind === "unobserved") return false;
  const { sandboxes, containers } = found.observed;
  return sandboxes.length + containers.length === 0;
}
