/** Plays COUNT seeds from FIRST, as the arguments say. Prints the first three that fail and ends with 1 if there is one. */
export async function playArguments(play: (seed: number) => Promise<void>): Promise<void> {
  const [first = "1", count = "100"] = process.argv.slice(2);
  let failed = 0;
  for (let seed = Number(first); seed < Number(first) + Number(count) && failed < 3; seed += 1) {
    try {
      await play(seed);
    } catch (error) {
      failed += 1;
      console.log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  }
  console.log(`${count} seeds from ${first}: ${failed === 0 ? "all pass" : `${failed} fail`}`);
  process.exitCode = failed === 0 ? 0 : 1;
}
