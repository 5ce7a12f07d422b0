// Runs the tests and says what passed, what failed and what was left out and why:
//   node tools/run-tests.mjs [--only tidy,unit,sim,integration,soak] [--name pattern] [--shard 1/3] [--jobs n] [--quiet] [part of path…]
// The last line is always `N passed, N failed, N skipped`.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { KINDS, ROOT, testFiles } from "./testing/files.mjs";
import { createReport } from "./testing/report.mjs";
import { runFile } from "./testing/run-file.mjs";

const USAGE =
  "usage: node tools/run-tests.mjs [--only tidy,unit,sim,integration,soak] [--name pattern] [--shard i/n] [--jobs n] [--quiet] [part of path…]";

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: "string" },
      name: { type: "string" },
      shard: { type: "string" },
      jobs: { type: "string" },
      quiet: { type: "boolean" },
    },
  });
  const kinds =
    values.only?.split(",") ?? Object.keys(KINDS).filter((kind) => !KINDS[kind].onRequest);
  const unknown = kinds.find((kind) => !(kind in KINDS));
  if (unknown !== undefined) throw new Error(`unknown kind ${unknown}\n${USAGE}`);
  const files = shard(
    values.shard,
    testFiles().filter(
      ({ path, kind }) =>
        kinds.includes(kind) &&
        (positionals.length === 0 || positionals.some((part) => path.includes(part))),
    ),
  );
  const leave = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => leave.abort());

  const report = createReport(files.length, { quiet: values.quiet === true });
  const options = { namePattern: values.name, signal: leave.signal };
  const jobs = Number(values.jobs ?? availableParallelism());
  const together = files.filter(({ kind }) => KINDS[kind].parallel);
  await runAll(together, jobs, options, report);
  const integration = files.filter(({ kind }) => !KINDS[kind].parallel);
  const obstacle = integration.length > 0 ? await integrationObstacle() : undefined;
  if (obstacle) for (const file of integration) report.add(skipFile(file, obstacle));
  else await runAll(integration, Number(values.jobs ?? 1), options, report);
  report.close(leave.signal.aborted);
  process.exitCode = report.failed() || leave.signal.aborted ? 1 : 0;
}

async function runAll(files, jobs, options, report) {
  const waiting = [...files];
  const worker = async () => {
    for (let file = waiting.shift(); file && !options.signal.aborted; file = waiting.shift()) {
      report.start(file);
      report.add(await runFile(file, options));
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

/** Why integration tests cannot run here; the rule itself belongs to the box. */
async function integrationObstacle() {
  const { boxObstacle } = await import("../test/box/prerequisites.ts");
  return boxObstacle();
}

/** All tests of a file, as far as they can be seen without running it, counted as skipped. */
function skipFile({ path, kind }, reason) {
  const source = readFileSync(join(ROOT, path), "utf8");
  const names = [...source.matchAll(/^\s*(?:await )?(?:test|it)\(\s*["'`](.*?)["'`],/gm)].map(
    (match) => match[1],
  );
  const skips = (names.length > 0 ? names : ["the file"]).map((name) => ({ name, reason }));
  return { path, kind, passed: 0, failures: [], skips, output: "", seconds: 0 };
}

/** Every n-th file, beginning with the i-th. */
function shard(spec, files) {
  if (spec === undefined) return files;
  const match = /^(\d+)\/(\d+)$/.exec(spec);
  const [index, count] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || index < 1 || index > count)
    throw new Error(`--shard wants i/n, not ${spec}\n${USAGE}`);
  return files.filter((_, at) => at % count === index - 1);
}

await main().catch((error) => {
  console.error(error.message);
  process.exitCode = 2;
});
