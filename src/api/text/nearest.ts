// pure

/** Longer words are no typing mistakes of a name. */
const MAX_LENGTH = 64;

/** How many letters have to be changed, left out or put in to get from `a` to `b`. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/**
 * The name among `known` that `word` was probably meant to be: the same but for case, or at most two
 * of five letters (three in all) wrong.
 */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > MAX_LENGTH) return undefined;
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.max(1, Math.floor(word.length * 0.4))) + 1;
  for (const name of known) {
    if (Math.abs(name.length - word.length) >= bestDistance) continue;
    const letters = distance(wanted, name.toLowerCase());
    if (letters >= bestDistance) continue;
    best = name;
    bestDistance = letters;
  }
  return best;
}
