/** Memory that pods would be assigned one after the other, by the same rules as in the agent, without an agent. */
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type {
  HintDraft,
  HintProvider,
  NumaPlacement,
  PreferredContainers,
} from "../../api/ports/hint-provider.ts";
import type { ResourceGrant } from "../../api/resource-grant.ts";
import { type AssignedPod, assignContainer } from "./assign-memory.ts";
import { MemoryDraft } from "./memory-draft.ts";
import type { PodLevelMemory } from "./memory-requests.ts";
import {
  emptyState,
  MEMORY,
  type MemoryState,
  type NumaCapacity,
  type PodBlocks,
  releasePod,
} from "./memory-state.ts";
import { assignWholeMemory, memoryToAssign, WholeMemoryDraft } from "./whole-pod-memory.ts";

const NOTHING: PodBlocks = new Map();

/** The plan of memory. */
export class PlannedMemory implements HintProvider {
  readonly #podLevel: PodLevelMemory;
  #state: MemoryState;

  constructor(nodes: readonly NumaCapacity[], podLevel?: PodLevelMemory) {
    this.#state = emptyState(nodes);
    this.#podLevel = podLevel;
  }

  draft(pod: IdentifiedPod): HintDraft | undefined {
    const { whole, requests } = memoryToAssign(pod, this.#podLevel);
    if (whole) return new WholeMemoryDraft(this.#state, pod, whole);
    return requests.length === 0
      ? undefined
      : new MemoryDraft({ state: this.#state, uid: pod.metadata.uid }, requests);
  }

  async grant(
    pod: IdentifiedPod,
    placement: NumaPlacement,
    preferred: PreferredContainers,
  ): Promise<ResourceGrant> {
    const { whole, requests } = memoryToAssign(pod, this.#podLevel);
    if (whole) {
      const first = whole.members[0]?.name ?? "";
      const wanted = { mask: placement.get(first), preferred: preferred.has(first) };
      const outcome = assignWholeMemory(this.#state, pod, wanted);
      if (outcome.kind === "refused") return outcome;
      this.#state = outcome.state;
      return { kind: "granted" };
    }
    let assigned: AssignedPod = {
      state: this.#state,
      uid: pod.metadata.uid,
      reusable: new Map(),
    };
    for (const request of requests) {
      const { container } = request;
      const wanted = { mask: placement.get(container), preferred: preferred.has(container) };
      const outcome = assignContainer(assigned, requests, request, wanted);
      if (outcome.kind === "short") {
        const message = `Allocate failed due to ${outcome.message}, which is unexpected`;
        return { kind: "refused", reason: "UnexpectedAdmissionError", message };
      }
      assigned = outcome.pod;
    }
    this.#state = assigned.state;
    return { kind: "granted" };
  }

  /** The pod was refused in the end. */
  forget(uid: PodUid): void {
    this.#state = releasePod(this.#state, uid);
  }

  /** Memory of the pod's containers. */
  heldBy(uid: PodUid): PodBlocks {
    return this.#state.pods.get(uid) ?? NOTHING;
  }

  /** Bytes of ordinary memory that may still be assigned, by node. */
  get free(): ReadonlyMap<number, number> {
    return new Map(
      [...this.#state.nodes].map(([id, { memory }]) => [id, memory.get(MEMORY)?.free ?? 0]),
    );
  }
}
