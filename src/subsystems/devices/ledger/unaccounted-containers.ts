/**
 * Containers that ran when the agent began and may have devices that are written down nowhere: after a
 * checkpoint was lost, of pods that another agent started. While one runs, no device it may have is given
 * to anybody else.
 */
import type { PodUid } from "../../../api/observation.ts";
import type { ContainerRequests } from "../requests.ts";

interface UnaccountedPod {
  containers: ReadonlySet<string>;
  /** Requests of its containers; `undefined` until a source names the pod. */
  requests: readonly ContainerRequests[] | undefined;
  name: string;
}

/** The list of them; see above. */
export class UnaccountedContainers {
  readonly #pods = new Map<PodUid, UnaccountedPod>();

  /** Whether there are no unaccounted containers. */
  get none(): boolean {
    return this.#pods.size === 0;
  }

  add(containers: ReadonlyMap<PodUid, ReadonlySet<string>>): void {
    for (const [podUid, names] of containers)
      this.#pods.set(podUid, { containers: names, requests: undefined, name: `pod ${podUid}` });
  }

  /** State of a pod: its requests once a source has named it, and its running containers. */
  learn(
    podUid: PodUid,
    known: {
      readonly name: string;
      readonly requests: readonly ContainerRequests[] | undefined;
      readonly running: ReadonlySet<string>;
    },
  ): boolean {
    const unaccounted = this.#pods.get(podUid);
    if (!unaccounted) return false;
    unaccounted.name = `pod ${known.name}`;
    unaccounted.requests = known.requests ?? unaccounted.requests;
    const before = unaccounted.containers.size;
    unaccounted.containers = new Set(
      [...unaccounted.containers].filter(
        (name) => known.running.has(name) && mayHoldAny(unaccounted, name),
      ),
    );
    if (unaccounted.containers.size === 0) this.#pods.delete(podUid);
    return unaccounted.containers.size !== before;
  }

  /** The pod is gone, and its containers with it. */
  forget(podUid: PodUid): boolean {
    return this.#pods.delete(podUid);
  }

  /** The pod that may hold unrecorded devices of the resource. */
  holderOf(resource: string): string | undefined {
    for (const unaccounted of this.#pods.values())
      if ([...unaccounted.containers].some((name) => mayHold(unaccounted, name, resource)))
        return unaccounted.name;
    return undefined;
  }
}

function mayHoldAny({ requests }: UnaccountedPod, container: string): boolean {
  return !requests || requests.some((request) => request.container === container);
}

function mayHold({ requests }: UnaccountedPod, container: string, resource: string): boolean {
  if (!requests) return true;
  return requests.some(
    (request) =>
      request.container === container &&
      request.resources.some((each) => each.resource === resource),
  );
}
