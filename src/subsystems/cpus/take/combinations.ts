// pure

/** All sets of `size` of the items, in the order of their positions. */
export function* combinations<T>(
  items: readonly T[],
  size: number,
  from = 0,
): Generator<readonly T[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let at = from; at <= items.length - size; at += 1) {
    const first = items[at] as T;
    for (const others of combinations(items, size - 1, at + 1)) yield [first, ...others];
  }
}
