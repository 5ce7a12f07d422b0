import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { LimitHits, PodMemoryPort } from "../ports.ts";

/** How often the memory limit of the pod was reached since this was last asked; what was before is not counted. */
export class PodLimitHits {
  readonly #memory: PodMemoryPort;
  #counted: number;

  constructor(memory: PodMemoryPort, pod: IdentifiedPod) {
    this.#memory = memory;
    // A pod that is new has no group yet.
    this.#counted = isLimited(pod) ? (memory.limitHits(pod)?.count ?? 0) : 0;
  }

  since(pod: IdentifiedPod): LimitHits | undefined {
    const hits = isLimited(pod) ? this.#memory.limitHits(pod) : undefined;
    if (!hits) return undefined;
    // A group that was made again counts from zero.
    const before = hits.count < this.#counted ? 0 : this.#counted;
    this.#counted = hits.count;
    return { ...hits, count: hits.count - before };
  }
}

function isLimited({ spec }: IdentifiedPod): boolean {
  return spec?.resources?.limits?.["memory"] !== undefined;
}
