// pure
/**
 * What is done to lists of any length without spreading them into a call: each element would be an argument on the stack,
 * which is full from some 100,000 on.
 */

/** Adds all of `items` to the end of `list`. */
export function appendAll<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}

/** The largest of the numbers, and `atLeast` when there is none that is larger. */
export function largest(numbers: Iterable<number>, atLeast = Number.NEGATIVE_INFINITY): number {
  let found = atLeast;
  for (const number of numbers) found = Math.max(found, number);
  return found;
}

/** The smallest of the numbers; infinite without any. */
export function smallest(numbers: Iterable<number>): number {
  let found = Number.POSITIVE_INFINITY;
  for (const number of numbers) found = Math.min(found, number);
  return found;
}
