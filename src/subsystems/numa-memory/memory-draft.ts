// pure
import type { NodeMask } from "../../api/node/numa.ts";
import type { HintDraft, Hints, Unmet } from "../../api/ports/hint-provider.ts";
import { type AssignedPod, assignContainer, isPast } from "./assign-memory.ts";
import { heldHints, listForEach, memoryHints } from "./memory-hints.ts";
import { type MemoryAmounts, type MemoryRequest, totalRequest } from "./memory-requests.ts";
import { blocksOf } from "./memory-state.ts";

/** The memory of one pod while it is placed; nothing of it is kept. */
export class MemoryDraft implements HintDraft {
  readonly containers: ReadonlySet<string>;
  readonly #requests: readonly MemoryRequest[];
  #pod: AssignedPod;

  constructor(
    { state, uid, resizes = false }: Omit<AssignedPod, "reusable">,
    requests: readonly MemoryRequest[],
  ) {
    this.#requests = requests;
    this.#pod = { state, uid, resizes, reusable: new Map() };
    this.containers = new Set(requests.map(({ container }) => container));
  }

  hints(container: string): readonly Hints[] {
    const request = this.#requestOf(container);
    if (!request) return [];
    const blocks = blocksOf(this.#pod.state, this.#pod.uid, container);
    if (blocks.length > 0) return this.#held(container, request.amounts);
    return isPast(this.#pod, this.#requests, request) ? [] : this.#fresh(request.amounts);
  }

  podHints(): readonly Hints[] {
    const total = totalRequest(this.#requests);
    const { state, uid } = this.#pod;
    const held = this.#requests.find(({ container }) => blocksOf(state, uid, container).length > 0);
    return held ? this.#held(held.container, total) : this.#fresh(total);
  }

  place(container: string, mask: NodeMask | undefined, preferred: boolean): Unmet | undefined {
    const request = this.#requestOf(container);
    if (!request) return undefined;
    const outcome = assignContainer(this.#pod, this.#requests, request, { mask, preferred });
    if (outcome.kind === "short") return "refused";
    this.#pod = outcome.pod;
    return undefined;
  }

  #requestOf(container: string): MemoryRequest | undefined {
    return this.#requests.find((each) => each.container === container);
  }

  #held(container: string, amounts: MemoryAmounts): readonly Hints[] {
    const { state, uid } = this.#pod;
    return listForEach(
      amounts,
      heldHints(blocksOf(state, uid, container), amounts, [...state.nodes.keys()]),
    );
  }

  /** Without any set of nodes there is no preference: what is short shows when memory is assigned. */
  #fresh(amounts: MemoryAmounts): readonly Hints[] {
    const hints = memoryHints(this.#pod.state, amounts, this.#pod.reusable);
    return hints.length === 0 ? [] : listForEach(amounts, hints);
  }
}
