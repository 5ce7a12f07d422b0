// pure
/**
 * Assigning memory to the containers of one pod, one after the other. What an init container was assigned is used again by those after
 * it. Source: memory manager, policy Static.
 */
import { type NodeMask, nodesOf } from "../../api/node/numa.ts";
import {
  bestHint,
  breaksGroups,
  haveFree,
  isSameSet,
  memoryHints,
  type ReusableMemory,
  reuseKey,
} from "./memory-hints.ts";
import type { MemoryAmounts, MemoryRequest } from "./memory-requests.ts";
import {
  assign,
  blocksOf,
  type MemoryBlock,
  type MemoryState,
  releaseBlocks,
  withBlocks,
} from "./memory-state.ts";

/** Where the container is to be; without a set of nodes that does not matter. */
export interface NodePreference {
  readonly mask: NodeMask | undefined;
  /** Whether only the best sets of nodes will do. */
  readonly preferred: boolean;
}

/** A pod while its containers are assigned memory. */
export interface AssignedPod {
  readonly state: MemoryState;
  readonly uid: string;
  readonly reusable: ReusableMemory;
  /** Whether blocks follow a change in place (gate InPlacePodVerticalScalingExclusiveMemory). */
  readonly resizes?: boolean;
}

type Outcome =
  | { readonly kind: "assigned"; readonly pod: AssignedPod }
  | { readonly kind: "short"; readonly message: string };

/** Assigns one container its memory; one that has it keeps it. */
export function assignContainer(
  pod: AssignedPod,
  requests: readonly MemoryRequest[],
  request: MemoryRequest,
  wanted: NodePreference,
): Outcome {
  const { state, uid } = pod;
  const held = blocksOf(state, uid, request.container);
  if (pod.resizes && request.kind !== "init" && isOther(held, request.amounts))
    return resizeBlocks(pod, request, held);
  if (held.length > 0)
    return { kind: "assigned", pod: { ...pod, reusable: reusableAfter(pod, request, held) } };
  if (isPast(pod, requests, request)) return { kind: "assigned", pod };
  const chosen = chooseNodes(pod, request.amounts, wanted);
  if (typeof chosen === "string") return { kind: "short", message: `[memorymanager] ${chosen}` };
  const blocks = [...request.amounts].map(
    ([type, size]): MemoryBlock => ({ nodes: chosen, type, size }),
  );
  let { nodes } = state;
  for (const block of blocks) {
    const again = pod.reusable.get(reuseKey(chosen, block.type)) ?? 0;
    nodes = assign(nodes, block, Math.max(0, block.size - again));
  }
  const pods = withBlocks(shrinkEarlier(pod, requests, request, blocks), uid, {
    container: request.container,
    blocks,
  });
  return {
    kind: "assigned",
    pod: {
      ...pod,
      state: { ...state, nodes, pods },
      reusable: reusableAfter(pod, request, blocks),
    },
  };
}

const isOther = (held: readonly MemoryBlock[], amounts: MemoryAmounts): boolean =>
  held.length > 0 && held.some(({ type, size }) => amounts.get(type) !== size);

/** Other amounts from the same nodes: a container that runs is on these for good. */
function resizeBlocks(
  pod: AssignedPod,
  request: MemoryRequest,
  held: readonly MemoryBlock[],
): Outcome {
  const { container, amounts } = request;
  const ids = [...new Set(held.flatMap((block) => block.nodes))].sort((a, b) => a - b);
  const state = releaseBlocks(pod.state, pod.uid, [container]);
  let { nodes } = state;
  if (!haveFree(nodes, ids, amounts)) {
    const message = `[memorymanager] the NUMA nodes of container ${container}, ${ids.join()}, have not enough free memory`;
    return { kind: "short", message };
  }
  const blocks = [...amounts].map(([type, size]): MemoryBlock => ({ nodes: ids, type, size }));
  for (const block of blocks) nodes = assign(nodes, block, block.size);
  const pods = withBlocks(state.pods, pod.uid, { container, blocks });
  return { kind: "assigned", pod: { ...pod, state: { ...state, nodes, pods } } };
}

/** Whether it is an init container whose memory was released, as a later container was started: it needs none again. */
export function isPast(
  { state, uid }: AssignedPod,
  requests: readonly MemoryRequest[],
  { container, kind }: MemoryRequest,
): boolean {
  if (kind !== "init") return false;
  const place = requests.findIndex((each) => each.container === container);
  return requests
    .slice(place + 1)
    .some((later) => blocksOf(state, uid, later.container).length > 0);
}

/** The nodes to assign from, or why there are none. */
export function chooseNodes(
  { state, reusable }: Pick<AssignedPod, "state" | "reusable">,
  amounts: MemoryAmounts,
  { mask, preferred }: NodePreference,
): readonly number[] | string {
  const all = [...state.nodes.keys()];
  if (mask === undefined) {
    const best = bestHint(memoryHints(state, amounts, reusable));
    if (!best)
      return "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available";
    return preferred && !best.preferred
      ? "failed to find the default preferred hint"
      : nodesOf(best.mask, all);
  }
  const wanted = nodesOf(mask, all);
  // A node of a group serves no container alone.
  const isMember = wanted.length === 1 && breaksGroups(state.nodes, wanted);
  if (isMember || !haveFree(state.nodes, wanted, amounts)) {
    const wider = memoryHints(state, amounts, reusable).filter(
      (hint) => hint.mask !== undefined && (hint.mask & mask) === mask,
    );
    const best = bestHint(wider);
    if (!best) return "failed to find NUMA nodes to extend the current topology hint";
    return preferred && !best.preferred
      ? "failed to find the extended preferred hint"
      : nodesOf(best.mask, all);
  }
  return breaksGroups(state.nodes, wanted)
    ? "preferred hint violates NUMA node allocation"
    : wanted;
}

/** An init container leaves what it has to those after it; any other container uses some of that. */
function reusableAfter(
  { reusable }: AssignedPod,
  { kind }: MemoryRequest,
  blocks: readonly MemoryBlock[],
): ReusableMemory {
  const next = new Map(reusable);
  for (const { nodes, type, size } of blocks) {
    const key = reuseKey(nodes, type);
    const before = next.get(key) ?? 0;
    next.set(key, kind === "init" ? Math.max(before, size) : Math.max(0, before - size));
  }
  return next;
}

/** Blocks of earlier init containers without what the container uses of them: each byte is counted once. */
function shrinkEarlier(
  { state, uid }: AssignedPod,
  requests: readonly MemoryRequest[],
  { container }: MemoryRequest,
  blocks: readonly MemoryBlock[],
): MemoryState["pods"] {
  const place = requests.findIndex((each) => each.container === container);
  const earlier = requests.slice(0, place).filter(({ kind }) => kind === "init");
  let { pods } = state;
  for (const { nodes, type, size } of blocks) {
    let rest = size;
    for (const init of earlier) {
      const held = blocksOf({ ...state, pods }, uid, init.container);
      if (rest === 0 || held.length === 0) continue;
      const shrunk = held.map((block) => {
        if (block.type !== type || !isSameSet(block.nodes, nodes)) return block;
        const used = Math.min(rest, block.size);
        rest -= used;
        return { ...block, size: block.size - used };
      });
      pods = withBlocks(pods, uid, { container: init.container, blocks: shrunk });
    }
  }
  return pods;
}

/** Init containers that are done when this container starts; their memory is needed no more. */
export function initsBefore(
  requests: readonly MemoryRequest[],
  container: string,
): readonly string[] {
  const place = requests.findIndex((each) => each.container === container);
  return requests
    .slice(0, Math.max(0, place))
    .filter(({ kind }) => kind === "init")
    .map((each) => each.container);
}
