/** What the last run of a group has left in the folder of its reports. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sourceFolder } from "../go/build-programs.mjs";
import { UsageProblem } from "./options.ts";
import { type SourceLines, withSpecsBefore } from "./ordered.ts";
import { type KeptResult, pathInModule, type SuiteReport } from "./results/result.ts";
import { REPORT } from "./run-suite.ts";

/** The compact result of a run, among its reports. */
export const RESULT = "result.json";

/** Where the parts of a group that runs in parts leave their reports; `folder` is that of the whole. */
export function partsFolder(folder: string): string {
  return `${folder}-parts`;
}

/** Where one of the parts does, counted from 1. */
export function partFolder(parts: string, number: number): string {
  return join(parts, `part-${number}`);
}

/** Ginkgo's report of the run, or of its first part: each names every spec of the suite. */
export function lastReport(folder: string): SuiteReport {
  const own = join(folder, REPORT);
  const file = existsSync(own) ? own : join(partFolder(partsFolder(folder), 1), REPORT);
  const [suite] = JSON.parse(readFileSync(file, "utf8")) as SuiteReport[];
  if (suite === undefined) throw new Error(`${file} has no suite`);
  return suite;
}

/** The suite's sources, as its reports name them. */
export function suiteSources(): SourceLines {
  const sources = sourceFolder("e2e_node.test");
  return (path) => readFileSync(join(sources, pathInModule(path)), "utf8").split("\n");
}

/** Names of the specs that failed, and of those without which they cannot run. Throws `UsageProblem` for none. */
export function failedInLastRun(
  folder: string,
  group: string,
  lines: SourceLines = suiteSources(),
): string[] {
  const file = join(folder, RESULT);
  if (!existsSync(file)) throw new UsageProblem(`--failed: the group ${group} has not run yet`);
  const names = Object.keys((JSON.parse(readFileSync(file, "utf8")) as KeptResult).failed);
  if (names.length === 0) throw new UsageProblem(`--failed: nothing of ${group} failed`);
  return [...withSpecsBefore(names, lastReport(folder), lines)];
}
