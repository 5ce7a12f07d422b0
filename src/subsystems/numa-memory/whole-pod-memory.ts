// pure
/**
 * Memory of pods that request it as a whole (gate PodLevelResourceManagers, topologyManagerScope `pod`): the pod is assigned what it
 * requests, from one set of nodes; containers with amounts of their own have these as a part of it, the others share the rest.
 * Source: KEP-2837, memory manager policy_static.go AllocatePod.
 */
import type { NodeMask } from "../../api/node/numa.ts";
import { allContainers, initContainerKind } from "../../api/pod/pod.ts";
import { qosClassOf } from "../../api/pod/qos.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { hasPodAmounts } from "../../api/pod-level.ts";
import type { HintDraft, Hints, Unmet } from "../../api/ports/hint-provider.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import { chooseNodes, type NodePreference } from "./assign-memory.ts";
import { heldHints, listForEach, memoryHints } from "./memory-hints.ts";
import {
  amountsOf,
  type MemoryAmounts,
  type MemoryRequest,
  memoryRequests,
  type PodLevelMemory,
} from "./memory-requests.ts";
import { assign, type MemoryBlock, type MemoryState, withBlocks } from "./memory-state.ts";

/** A container of such a pod; without amounts where it shares. */
interface Member {
  readonly name: string;
  readonly kind: "init" | "sidecar" | "regular";
  readonly amounts: MemoryAmounts | undefined;
}

/** A pod with memory of its own, in the order in which its containers start. */
interface WholeMemory {
  readonly amounts: MemoryAmounts;
  readonly members: readonly Member[];
}

/** The refusal of a pod, as its status says it. */
export interface MemoryRefusal {
  readonly kind: "refused";
  readonly reason: string;
  readonly message: string;
}

/** The pod as one that is assigned memory as a whole; `undefined` when it is not. */
export const wholeMemoryOf = derivedOnce((pod: IdentifiedPod): WholeMemory | undefined => {
  if (!hasPodAmounts(pod) || qosClassOf(pod) !== "Guaranteed") return undefined;
  const { requests, limits } = pod.spec?.resources ?? {};
  const amounts = amountsOf({ resources: { requests: { ...limits, ...requests } } });
  if (amounts.size === 0) return undefined;
  const own = new Map(memoryRequests(pod, "pod").map((each) => [each.container, each.amounts]));
  const members = allContainers(pod).flatMap(({ container: { name, ...rest }, kind }): Member[] => {
    if (kind === "ephemeral") return [];
    const its = kind === "init" ? initContainerKind(rest) : "regular";
    return [{ name, kind: its, amounts: own.get(name) }];
  });
  return { amounts, members };
});

/** What the pod is assigned: memory as a whole, or that of its containers. */
interface MemoryToAssign {
  readonly whole?: WholeMemory;
  readonly requests: readonly MemoryRequest[];
}

const NOTHING: MemoryToAssign = { requests: [] };

/** What the pod is assigned under the node's settings. */
export function memoryToAssign(pod: IdentifiedPod, podLevel: PodLevelMemory): MemoryToAssign {
  if (podLevel !== "pod" || !hasPodAmounts(pod)) return { requests: memoryRequests(pod, podLevel) };
  const whole = wholeMemoryOf(pod);
  return whole ? { whole, requests: [] } : NOTHING;
}

/** Why containers that share would have none of some type; `undefined` when they have. */
function emptyMemoryPool({ amounts, members }: WholeMemory): MemoryRefusal | undefined {
  const refuse = (why: string): MemoryRefusal => ({
    kind: "refused",
    reason: "EmptyPodSharedPoolError",
    message: `pod rejected, ${why}`,
  });
  for (const [type, total] of amounts) {
    let beside = 0;
    for (const { kind, amounts: own } of members) {
      if (kind === "init" && !own && beside >= total)
        return refuse(`pod has shared init containers but no ${type} available for them`);
      if (kind !== "init") beside += own?.get(type) ?? 0;
    }
    if (beside >= total && members.some(({ kind, amounts: own }) => kind !== "init" && !own))
      return refuse(
        `sum of exclusive container ${type} requests equals pod budget, leaving no memory for shared containers`,
      );
  }
  return undefined;
}

/** Assigns the pod its memory, and each container its part; one that has it keeps it. */
export function assignWholeMemory(
  state: MemoryState,
  pod: IdentifiedPod,
  wanted: NodePreference,
): { readonly kind: "assigned"; readonly state: MemoryState } | MemoryRefusal {
  const { uid } = pod.metadata;
  const whole = wholeMemoryOf(pod);
  if (!whole || state.wholePods?.has(uid)) return { kind: "assigned", state };
  const refused = emptyMemoryPool(whole);
  if (refused) return refused;
  const chosen = chooseNodes({ state, reusable: new Map() }, whole.amounts, wanted);
  if (typeof chosen === "string") {
    const message = `Allocate failed due to [memorymanager] ${chosen}, which is unexpected`;
    return { kind: "refused", reason: "UnexpectedAdmissionError", message };
  }
  const blocksOf = (amounts: MemoryAmounts): readonly MemoryBlock[] =>
    [...amounts].map(([type, size]) => ({ nodes: chosen, type, size }));
  const all = blocksOf(whole.amounts);
  let { nodes, pods } = state;
  for (const block of all) nodes = assign(nodes, block, block.size);
  for (const [container, amounts] of partsOf(whole))
    pods = withBlocks(pods, uid, { container, blocks: blocksOf(amounts) });
  return {
    kind: "assigned",
    state: { nodes, pods, wholePods: new Map(state.wholePods).set(uid, all) },
  };
}

/** What each container has of the pod's memory. */
function partsOf({ amounts, members }: WholeMemory): ReadonlyMap<string, MemoryAmounts> {
  const parts = new Map<string, MemoryAmounts>();
  let left = amounts;
  for (const { name, kind, amounts: own } of members) {
    if (own) parts.set(name, own);
    else if (kind === "init") parts.set(name, left);
    // What an init container has is used again by those after it.
    if (own && kind !== "init") left = lessBy(left, own);
  }
  for (const { name, kind, amounts: own } of members)
    if (!own && kind !== "init") parts.set(name, left);
  return parts;
}

const lessBy = (amounts: MemoryAmounts, own: MemoryAmounts): MemoryAmounts =>
  new Map([...amounts].map(([type, size]) => [type, Math.max(0, size - (own.get(type) ?? 0))]));

/** Such a pod while it is placed; nothing of it is kept. The first container takes the memory for all. */
export class WholeMemoryDraft implements HintDraft {
  readonly containers: ReadonlySet<string>;
  readonly #pod: IdentifiedPod;
  readonly #whole: WholeMemory;
  #state: MemoryState;

  constructor(state: MemoryState, pod: IdentifiedPod, whole: WholeMemory) {
    this.#state = state;
    this.#pod = pod;
    this.#whole = whole;
    this.containers = new Set(whole.members.map(({ name }) => name));
  }

  /** Hints are asked for the pod only, by the scope. */
  hints(): readonly Hints[] {
    return this.podHints();
  }

  podHints(): readonly Hints[] {
    const { amounts } = this.#whole;
    const held = this.#state.wholePods?.get(this.#pod.metadata.uid);
    if (held) return listForEach(amounts, heldHints(held, amounts, [...this.#state.nodes.keys()]));
    if (emptyMemoryPool(this.#whole)) return [[]];
    const hints = memoryHints(this.#state, amounts, new Map());
    return hints.length === 0 ? [] : listForEach(amounts, hints);
  }

  place(_container: string, mask: NodeMask | undefined, preferred: boolean): Unmet | undefined {
    const outcome = assignWholeMemory(this.#state, this.#pod, { mask, preferred });
    if (outcome.kind === "refused") return "refused";
    this.#state = outcome.state;
    return undefined;
  }
}
