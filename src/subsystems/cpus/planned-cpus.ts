/** CPUs that pods would get one after the other, by the same rules as in the agent, without an agent. */
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { HintDraft, HintProvider, NumaPlacement } from "../../api/ports/hint-provider.ts";
import type { ResourceGrant } from "../../api/resource-grant.ts";
import { type CpuState, type PodCpus, withoutPod } from "./cpu-state.ts";
import { freshState } from "./initial-state.ts";
import { cpuDraftOf } from "./pod-cpu-draft.ts";
import { givableCpus, type StaticPolicy } from "./static-policy.ts";

const NOTHING: PodCpus = new Map();

/** The plan of CPUs. */
export class PlannedCpus implements HintProvider {
  readonly #policy: StaticPolicy;
  #state: CpuState;

  constructor(policy: StaticPolicy) {
    this.#policy = policy;
    this.#state = freshState(policy);
  }

  draft(pod: IdentifiedPod, only: string | undefined): HintDraft | undefined {
    return cpuDraftOf(this.#policy, this.#state, pod, only);
  }

  async grant(pod: IdentifiedPod, placement: NumaPlacement): Promise<ResourceGrant> {
    const draft = cpuDraftOf(this.#policy, this.#state, pod);
    if (!draft) return { kind: "granted" };
    for (const container of draft.taking) {
      const refusal = draft.take(container, placement.get(container));
      if (refusal) return refusal;
    }
    this.#state = draft.state;
    return { kind: "granted" };
  }

  /** The pod was refused in the end. */
  forget(uid: PodUid): void {
    this.#state = withoutPod(this.#state, uid);
  }

  /** CPUs of the pod's containers that have some for themselves. */
  heldBy(uid: PodUid): PodCpus {
    return this.#state.pods.get(uid) ?? NOTHING;
  }

  /** The shared pool. */
  get shared(): readonly number[] {
    return this.#state.shared;
  }

  /** What may still be given. */
  get free(): readonly number[] {
    return givableCpus(this.#policy, this.#state);
  }
}
