// Runs the tests of the access code against every generated mutant of it:
//   node tools/mutants/run-all.ts [--jobs n] [part of path…]
// A mutant that no test notices is listed; it is a failure unless `equivalents.ts` says why nobody can.
// The last line is always `N killed, N equivalent, N survived`.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { EQUIVALENTS } from "./equivalents.ts";
import { applied, type GeneratedMutant, generateMutants } from "./generate.ts";
import { ROOT, runMutant } from "./run-mutant.ts";
import { TARGETS } from "./targets.ts";

interface Job {
  readonly file: string;
  readonly tests: readonly string[];
  readonly source: string;
  readonly mutant: GeneratedMutant;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: "string", default: String(availableParallelism()) } },
});

const jobs: Job[] = Object.entries(TARGETS)
  .filter(([file]) => positionals.length === 0 || positionals.some((part) => file.includes(part)))
  .flatMap(([file, tests]) => {
    const source = readFileSync(join(ROOT, file), "utf8");
    return generateMutants(source).map((mutant) => ({ file, tests, source, mutant }));
  });
const count = { killed: 0, equivalent: 0, survived: 0 };
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
  if (outcome.kind === "killed") {
    count.killed += 1;
    if (known !== undefined) wrong.push(`not equivalent, killed by "${outcome.by}": ${place}`);
  } else if (known === undefined) {
    count.survived += 1;
    console.log(`survived: ${place}`);
  } else count.equivalent += 1;
}

await Promise.all(Array.from({ length: Number(values.jobs) }, work));
for (const [file, named] of Object.entries(EQUIVALENTS)) {
  const there = jobs.filter((job) => job.file === file).map(({ mutant }) => mutant.shown);
  if (there.length === 0) continue;
  for (const shown of Object.keys(named))
    if (!there.includes(shown)) wrong.push(`no such mutant: ${file}: ${shown}`);
}
for (const line of wrong) console.log(line);
console.log(`${jobs.length} mutants in ${Math.round((performance.now() - started) / 1000)} s`);
console.log(`${count.killed} killed, ${count.equivalent} equivalent, ${count.survived} survived`);
process.exitCode = count.survived > 0 || wrong.length > 0 ? 1 : 0;
