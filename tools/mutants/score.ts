/** What the last run of all mutants of a file came to, kept beside the code, so that a change of the file is noticed. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./run-mutant.ts";
import { TARGETS } from "./targets.ts";

/** A file all of whose mutants were killed, or are named as equivalent. */
export interface FileScore {
  /** Checksum of the file and its tests, see `sumOf`. */
  readonly sum: string;
  readonly killed: number;
  readonly equivalent: number;
}

/** Scores by path below the checkout. */
export type Score = Readonly<Record<string, FileScore>>;

const FILE = join(import.meta.dirname, "score.json");
const SHOWN_DIGITS = 16;

/** Checksum of a target and of the tests that are to notice its mutants, the first 16 digits of their SHA-256. */
export function sumOf(file: string): string {
  const hash = createHash("sha256");
  for (const path of [file, ...(TARGETS[file] ?? [])]) hash.update(readFileSync(join(ROOT, path)));
  return hash.digest("hex").slice(0, SHOWN_DIGITS);
}

/** The score that is kept. */
export function readScore(): Score {
  return JSON.parse(readFileSync(FILE, "utf8")) as Score;
}

/** Keeps a score, without files that are no targets any more. */
export function writeScore(score: Score): void {
  const kept = Object.entries(score)
    .filter(([file]) => file in TARGETS)
    .toSorted(([a], [b]) => a.localeCompare(b));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`);
}

/** Targets that were changed since their mutants were run, or their tests were, or whose mutants were never run. */
export function outdatedFiles(score: Score): readonly string[] {
  return Object.keys(TARGETS).filter((file) => score[file]?.sum !== sumOf(file));
}
