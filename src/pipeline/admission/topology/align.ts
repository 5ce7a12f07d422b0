// pure
/**
 * Merging hints: a policy takes one set of NUMA nodes out of the hints of all resources, or refuses.
 * Source: topology manager.
 */
import { countNodes, type NodeMask } from "../../../api/node/numa.ts";
import type { Hint, Hints } from "../../../api/ports/hint-provider.ts";
import type { TopologySettings } from "../../../config/topology.ts";
import { largest, smallest } from "../../../kit/limits/lists.ts";

/** Result of merging hints by a policy. */
type Alignment =
  | { readonly kind: "refused" }
  /** `mask` is `undefined` where placement does not matter. */
  | { readonly kind: "admitted"; readonly mask: NodeMask | undefined };

/** Merges the hints of all resources as the policy requires it. */
export function align(hints: readonly Hints[], settings: TopologySettings): Alignment {
  const { policy } = settings;
  if (policy === "none") return { kind: "admitted", mask: undefined };
  const everywhere = 2 ** settings.nodes.length - 1;
  const lists = hints.map(asList);
  const narrow = policy === "single-numa-node" ? lists.map((list) => list.filter(isSingle)) : lists;
  const best = merge(narrow, everywhere);
  if (policy !== "best-effort" && !best.preferred) return { kind: "refused" };
  const anywhere = policy === "single-numa-node" && best.mask === everywhere;
  return { kind: "admitted", mask: anywhere ? undefined : best.mask };
}

function asList(hints: Hints): readonly Hint[] {
  if (hints === "any") return [{ mask: undefined, preferred: true }];
  return hints.length === 0 ? [{ mask: undefined, preferred: false }] : hints;
}

function isSingle({ mask, preferred }: Hint): boolean {
  return preferred && (mask === undefined || countNodes(mask) === 1);
}

interface Merged {
  readonly mask: NodeMask;
  readonly preferred: boolean;
}

/** Hints of some resources put together: what they have in common, and whether they all named the same set. */
interface Partial {
  readonly mask: NodeMask;
  readonly named: NodeMask | "none" | "several";
  readonly preferred: boolean;
}

/**
 * The best of all combinations of one hint per resource. Combinations that are equivalent are
 * followed once, so that the work does not grow with the product of the lists.
 */
function merge(lists: readonly (readonly Hint[])[], everywhere: NodeMask): Merged {
  let combined: readonly Partial[] = [{ mask: everywhere, named: "none", preferred: true }];
  for (const list of lists) {
    const next = new Map<string, Partial>();
    for (const partial of combined)
      for (const hint of list) {
        const extended = extend(partial, hint);
        next.set(`${extended.mask} ${extended.named} ${extended.preferred}`, extended);
      }
    combined = [...next.values()];
  }
  const wanted = largest(lists.map(smallestCount), 0);
  let best: Merged | undefined;
  for (const { mask, named, preferred } of combined) {
    if (mask === 0) continue;
    const candidate = { mask, preferred: preferred && named !== "several" };
    if (!best || isBetter(candidate, best, wanted)) best = candidate;
  }
  return best ?? { mask: everywhere, preferred: false };
}

function extend(partial: Partial, { mask, preferred }: Hint): Partial {
  const allPreferred = partial.preferred && preferred;
  if (mask === undefined) return { ...partial, preferred: allPreferred };
  const named = partial.named === "none" || partial.named === mask ? mask : "several";
  return { mask: partial.mask & mask, named, preferred: allPreferred };
}

function smallestCount(list: readonly Hint[]): number {
  const counts = list.flatMap(({ mask }) => (mask === undefined ? [] : [countNodes(mask)]));
  return counts.length === 0 ? 0 : smallest(counts);
}

/**
 * Preferred before not; among preferred ones the narrower. Among others the one whose size comes closest
 * to `wanted` (what the most demanding resource needs at least) without exceeding it.
 */
function isBetter(candidate: Merged, current: Merged, wanted: number): boolean {
  if (candidate.preferred !== current.preferred) return candidate.preferred;
  if (candidate.preferred) return isNarrower(candidate.mask, current.mask);
  const [now, then] = [countNodes(candidate.mask), countNodes(current.mask)];
  if (then > wanted) return isNarrower(candidate.mask, current.mask);
  if (then === wanted) return now === wanted && isNarrower(candidate.mask, current.mask);
  if (now > wanted) return false;
  return now > then || (now === then && isNarrower(candidate.mask, current.mask));
}

/** Fewer nodes; of as many, the lower ones. */
function isNarrower(a: NodeMask, b: NodeMask): boolean {
  const [countA, countB] = [countNodes(a), countNodes(b)];
  return countA === countB ? a < b : countA < countB;
}
