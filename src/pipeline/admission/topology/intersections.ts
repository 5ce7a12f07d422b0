// pure
import type { NodeMask } from "../../../api/node/numa.ts";

/**
 * The sets, without the empty one, that remain when one set of each list is taken and what all of them have in common is
 * kept. Counted over supersets, where taking what two sets have in common is a product: the work grows with the number of
 * sets of nodes, not with the product of the lists.
 */
export function intersectionsOf(
  lists: readonly (readonly NodeMask[])[],
  everywhere: NodeMask,
): readonly NodeMask[] {
  let reached = countsOf([everywhere], everywhere);
  for (const list of lists) {
    const other = countsOf(list, everywhere);
    addSupersets(reached, everywhere);
    addSupersets(other, everywhere);
    for (let mask = 0; mask <= everywhere; mask += 1)
      reached[mask] = (reached[mask] ?? 0) * (other[mask] ?? 0);
    removeSupersets(reached, everywhere);
    // Only whether there is any counts: numbers stay small enough to be exact.
    reached = reached.map((count) => (count > 0 ? 1 : 0));
  }
  const found: NodeMask[] = [];
  for (let mask = 1; mask <= everywhere; mask += 1) if (reached[mask]) found.push(mask);
  return found;
}

function countsOf(masks: readonly NodeMask[], everywhere: NodeMask): Float64Array {
  const counts = new Float64Array(everywhere + 1);
  for (const mask of masks) counts[mask & everywhere] = 1;
  return counts;
}

/** Each set counts what every set that contains it counted. */
function addSupersets(counts: Float64Array, everywhere: NodeMask): void {
  for (let bit = 1; bit <= everywhere; bit <<= 1)
    for (let mask = 0; mask <= everywhere; mask += 1)
      if ((mask & bit) === 0) counts[mask] = (counts[mask] ?? 0) + (counts[mask | bit] ?? 0);
}

/** Undoes `addSupersets`. */
function removeSupersets(counts: Float64Array, everywhere: NodeMask): void {
  for (let bit = 1; bit <= everywhere; bit <<= 1)
    for (let mask = 0; mask <= everywhere; mask += 1)
      if ((mask & bit) === 0) counts[mask] = (counts[mask] ?? 0) - (counts[mask | bit] ?? 0);
}
