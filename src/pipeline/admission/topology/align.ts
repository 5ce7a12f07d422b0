// pure
/**
 * Merging hints: a policy takes one set of NUMA nodes out of the hints of all resources, or refuses.
 * Source: topology manager.
 */
import { countNodes, type NodeMask } from "../../../api/node/numa.ts";
import type { Hint, Hints } from "../../../api/ports/hint-provider.ts";
import type { TopologySettings } from "../../../config/topology.ts";
import { largest, smallest } from "../../../kit/limits/lists.ts";
import { intersectionsOf } from "./intersections.ts";

/** Result of merging hints by a policy. */
type Alignment =
  | { readonly kind: "refused" }
  | {
      readonly kind: "admitted";
      /** `undefined` where placement does not matter. */
      readonly mask: NodeMask | undefined;
      /** Whether every resource is where it is best off. */
      readonly preferred: boolean;
    };

/** Merges the hints of all resources as the policy requires it. */
export function align(hints: readonly Hints[], settings: TopologySettings): Alignment {
  const { policy } = settings;
  if (policy === "none") return { kind: "admitted", mask: undefined, preferred: false };
  const everywhere = 2 ** settings.nodes.length - 1;
  const lists = hints.map(asList);
  const narrow = policy === "single-numa-node" ? lists.map((list) => list.filter(isSingle)) : lists;
  const { mask, preferred } = merge(narrow, everywhere, settings.distances);
  if (policy !== "best-effort" && !preferred) return { kind: "refused" };
  const anywhere = policy === "single-numa-node" && mask === everywhere;
  return { kind: "admitted", mask: anywhere ? undefined : mask, preferred };
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

type Distances = TopologySettings["distances"];

/**
 * The best of all combinations of one hint per resource. A combination is preferred when all its hints are and name
 * the same set; any such combination is better than all others, so the others are worked out only without one. The work
 * does not grow with the product of the lists.
 */
function merge(
  lists: readonly (readonly Hint[])[],
  everywhere: NodeMask,
  distances: Distances,
): Merged {
  const agreed = agreedMasks(lists, everywhere);
  const [first, ...others] = agreed;
  if (first !== undefined) {
    const mask = others.reduce((a, b) => (isFitter(b, a, distances) ? b : a), first);
    return { mask, preferred: true };
  }
  const masks = lists.map((list) => list.map(({ mask }) => mask ?? everywhere));
  const wanted = largest(lists.map(smallestCount), 0);
  let best: NodeMask | undefined;
  for (const mask of intersectionsOf(masks, everywhere))
    if (best === undefined || isBetter(mask, best, { wanted, distances })) best = mask;
  return { mask: best ?? everywhere, preferred: false };
}

/** The sets that every resource prefers; all nodes where none cares. */
function agreedMasks(
  lists: readonly (readonly Hint[])[],
  everywhere: NodeMask,
): readonly NodeMask[] {
  const preferred = lists.map(
    (list) => new Set(list.filter((hint) => hint.preferred).map(({ mask }) => mask)),
  );
  const named = new Set([undefined, ...preferred.flatMap((masks) => [...masks])]);
  return [...named].flatMap((mask) => {
    const isAgreed = preferred.every((masks) => masks.has(mask) || masks.has(undefined));
    return isAgreed && mask !== 0 ? [mask ?? everywhere] : [];
  });
}

function smallestCount(list: readonly Hint[]): number {
  const counts = list.flatMap(({ mask }) => (mask === undefined ? [] : [countNodes(mask)]));
  return counts.length === 0 ? 0 : smallest(counts);
}

/**
 * Of sets that not everybody prefers: the one whose size comes closest to `wanted` (what the most demanding resource
 * needs at least) without exceeding it.
 */
function isBetter(
  candidate: NodeMask,
  current: NodeMask,
  { wanted, distances }: { readonly wanted: number; readonly distances: Distances },
): boolean {
  const [now, then] = [countNodes(candidate), countNodes(current)];
  if (then > wanted) return isFitter(candidate, current, distances);
  if (then === wanted) return now === wanted && isFitter(candidate, current, distances);
  if (now > wanted) return false;
  return now > then || (now === then && isFitter(candidate, current, distances));
}

/** Fewer nodes; of as many, those closest to one another where that counts, then the lower ones. */
function isFitter(a: NodeMask, b: NodeMask, distances: Distances): boolean {
  const [countA, countB] = [countNodes(a), countNodes(b)];
  if (countA !== countB) return countA < countB;
  const [wayA, wayB] = distances ? [totalWay(a, distances), totalWay(b, distances)] : [0, 0];
  return wayA === wayB ? a < b : wayA < wayB;
}

/** The distances between all pairs of the set, both ways, and of each node to itself. */
function totalWay(mask: NodeMask, distances: NonNullable<Distances>): number {
  let total = 0;
  for (const [from, row] of distances.entries())
    for (const [to, distance] of row.entries())
      if ((mask >> from) & (mask >> to) & 1) total += distance;
  return total;
}
