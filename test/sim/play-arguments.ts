/** Failures after which there is nothing more to learn from further seeds. */
const MAX_FAILURES = "3";

/**
 * Plays what `before` names and then COUNT seeds from FIRST, as the arguments FIRST COUNT FAILURES say. Prints the
 * first FAILURES (3) that fail and ends with 1 if there is one.
 */
export async function playArguments(
  play: (seed: number) => Promise<void>,
  before: readonly number[] = [],
): Promise<void> {
  const [first = "1", count = "100", failures = MAX_FAILURES] = process.argv.slice(2);
  let failed = 0;
  const fresh = Array.from({ length: Number(count) }, (_, i) => Number(first) + i);
  for (const seed of [...before, ...fresh]) {
    try {
      await play(seed);
    } catch (error) {
      failed += 1;
      console.log(failureText(error));
      if (failed >= Number(failures)) break;
    }
  }
  console.log(`${count} seeds from ${first}: ${failed === 0 ? "all pass" : `${failed} fail`}`);
  process.exitCode = failed === 0 ? 0 : 1;
}

/** The message of what a check found, which names the seed; everything about any other error. */
function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === "Error" ? error.message : (error.stack ?? error.message);
}
