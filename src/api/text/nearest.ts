// pure

/** Names longer than this are not compared: they are not typing errors. */
const MAX_NAME = 80;

/** A name cut short counts as one edit, e.g. `clientCA` for `clientCAFile`. */
const MIN_STEM = 5;

/**
 * The candidate that `name` was most likely meant to be, for "did you mean": equal but for case and separators, or a
 * few edits away. `undefined` when nothing is near.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_NAME) return undefined;
  const wanted = plain(name);
  let best: string | undefined;
  let bestDistance = editsAllowed(wanted.length) + 1;
  for (const candidate of candidates) {
    const distance = distanceOf(wanted, plain(candidate), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `did you mean X?`, or nothing. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const found = nearest(name, candidates);
  return found === undefined ? "" : `did you mean ${found}?`;
}

/** One of four letters; in two or fewer there is nothing to compare. */
function editsAllowed(length: number): number {
  return length < 3 ? 0 : Math.max(1, Math.floor(length / 4));
}

function distanceOf(wanted: string, candidate: string, limit: number): number {
  const cut = wanted.length >= MIN_STEM && candidate.startsWith(wanted);
  return cut && wanted !== candidate ? Math.min(1, limit) : editDistance(wanted, candidate, limit);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, "");
}

/** Inserts, removals, replacements and swaps of neighbours between two texts; `limit` or more is `limit`. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + same,
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      }
      current.push(cost);
    }
    before = previous;
    previous = current;
  }
  return Math.min(previous[b.length] ?? limit, limit);
}
