// Runs the tests of the access code against every generated mutant of it:
//   node tools/mutants/run-all.ts [--jobs n] [--changed] [part of path…]
// A mutant that no test notices is listed; it is a failure unless `equivalents.ts` says why nobody can. What holds is
// written into `score.json`, by which a test knows the files that were changed since; --changed runs only these.
// The last line is always `N killed, N equivalent, N survived`.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { EQUIVALENTS } from "./equivalents.ts";
import { applied, type GeneratedMutant, generateMutants } from "./generate.ts";
import { ROOT, runMutant } from "./run-mutant.ts";
import { type FileScore, outdatedFiles, readScore, sumOf, writeScore } from "./score.ts";
import { TARGETS } from "./targets.ts";

interface Job {
  readonly file: string;
  readonly tests: readonly string[];
  readonly source: string;
  readonly mutant: GeneratedMutant;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: "string", default: String(availableParallelism()) },
    changed: { type: "boolean", default: false },
  },
});
const score = readScore();
/** Of what is run, as it is when the run begins. */
const sums = new Map(Object.keys(TARGETS).map((file) => [file, sumOf(file)]));
const outdated = new Set(outdatedFiles(score));

const jobs: Job[] = Object.entries(TARGETS)
  .filter(([file]) => positionals.length === 0 || positionals.some((part) => file.includes(part)))
  .filter(([file]) => !values.changed || outdated.has(file))
  .flatMap(([file, tests]) => {
    const source = readFileSync(join(ROOT, file), "utf8");
    return generateMutants(source).map((mutant) => ({ file, tests, source, mutant }));
  });
const count = { killed: 0, equivalent: 0, survived: 0 };
/** By file, of those whose mutants are all through. */
const scores = new Map<string, FileScore>();
const survivors = new Set<string>();
const wrong: string[] = [];
const waiting = [...jobs];
const started = performance.now();

async function work(): Promise<void> {
  for (let job = waiting.shift(); job; job = waiting.shift()) await judge(job);
}

async function judge({ file, tests, source, mutant }: Job): Promise<void> {
  const known = EQUIVALENTS[file]?.[mutant.shown];
  const outcome = await runMutant(tests, { file, text: applied(source, mutant) });
  const place = `${file}:${mutant.line}: ${mutant.shown}`;
  const { killed = 0, equivalent = 0 } = scores.get(file) ?? {};
  if (outcome.kind === "killed") {
    count.killed += 1;
    scores.set(file, { sum: sums.get(file) ?? "", killed: killed + 1, equivalent });
    if (known !== undefined) wrong.push(`not equivalent, killed by "${outcome.by}": ${place}`);
  } else if (known === undefined) {
    count.survived += 1;
    survivors.add(file);
    console.log(`survived: ${place}`);
  } else {
    count.equivalent += 1;
    scores.set(file, { sum: sums.get(file) ?? "", killed, equivalent: equivalent + 1 });
  }
}

await Promise.all(Array.from({ length: Number(values.jobs) }, work));
for (const [file, named] of Object.entries(EQUIVALENTS)) {
  const there = jobs.filter((job) => job.file === file).map(({ mutant }) => mutant.shown);
  if (there.length === 0) continue;
  for (const shown of Object.keys(named))
    if (!there.includes(shown)) wrong.push(`no such mutant: ${file}: ${shown}`);
}
for (const line of wrong) console.log(line);
for (const file of survivors) scores.delete(file);
if (wrong.length === 0) writeScore({ ...score, ...Object.fromEntries(scores) });
console.log(`${jobs.length} mutants in ${Math.round((performance.now() - started) / 1000)} s`);
console.log(`${count.killed} killed, ${count.equivalent} equivalent, ${count.survived} survived`);
process.exitCode = count.survived > 0 || wrong.length > 0 ? 1 : 0;
