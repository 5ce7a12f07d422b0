/** Outcome of the work on one item. */
export type Outcome<R> =
  | { readonly kind: "done"; readonly value: R }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * Works on every item, on at most `width` at once, and resolves with what became of each, in the order of
 * the items. One that throws fails alone. Never rejects; a deadline is the business of `work`.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<readonly Outcome<R>[]> {
  const outcomes = new Array<Outcome<R>>(items.length);
  // One iterator for all: each worker takes the next item.
  const left = items.entries();
  const worker = async () => {
    for (const [i, item] of left) outcomes[i] = await outcomeOf(work, item);
  };
  const workers = Math.min(Math.max(1, width), items.length);
  await Promise.all(Array.from({ length: workers }, worker));
  return outcomes;
}

/** The values of what was done, in order; what failed is left out. */
export function doneValues<R>(outcomes: readonly Outcome<R>[]): readonly R[] {
  return outcomes.flatMap((outcome) => (outcome.kind === "done" ? [outcome.value] : []));
}

/** The values of all, in order. Throws the failure of the first that failed. */
export function allValues<R>(outcomes: readonly Outcome<R>[]): readonly R[] {
  return outcomes.map((outcome) => {
    if (outcome.kind === "failed") throw outcome.error;
    return outcome.value;
  });
}

async function outcomeOf<T, R>(work: (item: T) => Promise<R>, item: T): Promise<Outcome<R>> {
  try {
    return { kind: "done", value: await work(item) };
  } catch (error) {
    return { kind: "failed", error };
  }
}
