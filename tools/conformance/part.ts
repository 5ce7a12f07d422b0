/**
 * The part of the node suite that a whole run of the tests plays: from every file the spec that does most within a
 * short time, and one more for every so many specs that a file has.
 *   node tools/conformance/part.ts    chooses again, from the last whole run of the group `node`, and writes the list
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lastReport, RESULT, suiteSources } from "./last-run.ts";
import { specsAfterOthers } from "./ordered.ts";
import { resultsFolder } from "./parts.ts";
import { type KeptResult, outcomesOf, type SpecOutcome } from "./results/result.ts";

const LIST = join(import.meta.dirname, "part.txt");
/** On a machine that runs many at once; alone they take about half of it. */
const LONGEST_SECONDS = 30;
const SPECS_A_CHOICE = 25;

/** The names in the list. */
export function partOfSuite(): string[] {
  return readFileSync(LIST, "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/**
 * Of each file the longest specs that passed in time, as many as its size asks for, spread over their times; none of
 * those that need another one.
 */
export function chooseSpecs(
  outcomes: readonly SpecOutcome[],
  afterOthers: ReadonlySet<string>,
): SpecOutcome[] {
  const files = Map.groupBy(outcomes, ({ file }) => file);
  return [...files.values()].flatMap((specs) => {
    const fit = specs
      .filter(({ outcome, seconds }) => outcome === "passed" && seconds <= LONGEST_SECONDS)
      .filter(({ name }) => !afterOthers.has(name))
      .sort((one, other) => other.seconds - one.seconds || (one.name < other.name ? -1 : 1));
    const count = Math.ceil(specs.length / SPECS_A_CHOICE);
    const step = Math.max(1, Math.floor(fit.length / count));
    return fit.filter((_, index) => index % step === 0).slice(0, count);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = resultsFolder("node-nodelet");
  const result: KeptResult = JSON.parse(readFileSync(join(folder, RESULT), "utf8"));
  if (!result.whole) throw new Error("the last run was of a part: npm run conformance");
  const suite = lastReport(folder);
  const chosen = chooseSpecs(outcomesOf(suite), specsAfterOthers(suite, suiteSources()));
  const names = chosen.map(({ name }) => name);
  writeFileSync(LIST, `# Chosen by part.ts.\n${names.sort().join("\n")}\n`);
  console.log(`${names.length} specs`);
}
