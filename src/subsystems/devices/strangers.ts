/**
 * Containers that ran when the agent began and may have devices that are written down nowhere: after a
 * checkpoint was lost, of pods that another agent started. While one runs, no device it may have is given
 * to anybody else.
 */
import type { PodUid } from "../../api/observation.ts";
import type { ContainerWants } from "./requests.ts";

interface Stranger {
  containers: ReadonlySet<string>;
  /** What its containers want; `undefined` until a source has said so. */
  wants: readonly ContainerWants[] | undefined;
  name: string;
}

/** The list of them; see above. */
export class Strangers {
  readonly #pods = new Map<PodUid, Stranger>();

  /** Whether there is nobody to look out for. */
  get none(): boolean {
    return this.#pods.size === 0;
  }

  add(containers: ReadonlyMap<PodUid, ReadonlySet<string>>): void {
    for (const [podUid, names] of containers)
      this.#pods.set(podUid, { containers: names, wants: undefined, name: `pod ${podUid}` });
  }

  /** What is known of a pod by now: its wishes when a source has named it, and what of it still runs. */
  learn(
    podUid: PodUid,
    known: {
      readonly name: string;
      readonly wants: readonly ContainerWants[] | undefined;
      readonly running: ReadonlySet<string>;
    },
  ): boolean {
    const stranger = this.#pods.get(podUid);
    if (!stranger) return false;
    stranger.name = `pod ${known.name}`;
    stranger.wants = known.wants ?? stranger.wants;
    const before = stranger.containers.size;
    stranger.containers = new Set(
      [...stranger.containers].filter(
        (name) => known.running.has(name) && mayHoldAny(stranger, name),
      ),
    );
    if (stranger.containers.size === 0) this.#pods.delete(podUid);
    return stranger.containers.size !== before;
  }

  /** The pod is gone, and with it whatever it had. */
  forget(podUid: PodUid): boolean {
    return this.#pods.delete(podUid);
  }

  /** Who may have devices of the resource that nobody wrote down. */
  holderOf(resource: string): string | undefined {
    for (const stranger of this.#pods.values())
      if ([...stranger.containers].some((name) => mayHold(stranger, name, resource)))
        return stranger.name;
    return undefined;
  }
}

function mayHoldAny({ wants }: Stranger, container: string): boolean {
  return !wants || wants.some((want) => want.container === container);
}

function mayHold({ wants }: Stranger, container: string, resource: string): boolean {
  if (!wants) return true;
  return wants.some(
    (want) => want.container === container && want.wants.some((each) => each.resource === resource),
  );
}
