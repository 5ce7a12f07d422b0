/** The results that are kept in the repository, and the page that is written from them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { conformancePage, type KnownReason } from "./page.ts";
import { countedResult, type KeptResult, mergedResult, resultName } from "./result.ts";

const DOCS = join(import.meta.dirname, "../../../docs");
const FOLDER = join(DOCS, "conformance");
const REASONS = "reasons.json";

/**
 * Writes the result's file, a part into what is kept of the same kubelet; gives its path below the checkout. `completes`: every spec
 * of the group has a result then. `again`: what is kept counts the runs.
 */
export function keepResult(
  result: KeptResult,
  { completes, again }: { readonly completes: boolean; readonly again: boolean },
): string {
  const name = `${resultName(result)}.json`;
  const file = join(FOLDER, name);
  mkdirSync(FOLDER, { recursive: true });
  const before: KeptResult | undefined = existsSync(file)
    ? JSON.parse(readFileSync(file, "utf8"))
    : undefined;
  const merged = before ? resultAfter(before, result, again) : result;
  const kept = { ...merged, whole: merged.whole || completes };
  writeFileSync(file, `${JSON.stringify(kept, null, 1)}\n`);
  return `docs/conformance/${name}`;
}

/** Notes that every spec of the group has a result, and writes the page; gives the result's path below the checkout. */
export function completeResult(facts: Parameters<typeof resultName>[0]): string {
  const name = `${resultName(facts)}.json`;
  const file = join(FOLDER, name);
  const kept: KeptResult = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, `${JSON.stringify({ ...kept, whole: true }, null, 1)}\n`);
  writePage();
  return `docs/conformance/${name}`;
}

function resultAfter(before: KeptResult, result: KeptResult, again: boolean): KeptResult {
  if (!result.whole) return mergedResult(before, result);
  return again ? countedResult(before, result) : result;
}

/** Writes docs/conformance.md; gives its path below the checkout. */
export function writePage(): string {
  writeFileSync(join(DOCS, "conformance.md"), pageOfKept());
  return "docs/conformance.md";
}

/** What docs/conformance.md must be. */
export function pageOfKept(): string {
  return conformancePage(keptResults(), knownReasons());
}

/** All results in docs/conformance/. */
export function keptResults(): KeptResult[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith(".json") && name !== REASONS)
    .sort()
    .map((name) => JSON.parse(readFileSync(join(FOLDER, name), "utf8")));
}

/** What is known of specs that the Go kubelet passes and nodelet does not. */
export function knownReasons(): KnownReason[] {
  return JSON.parse(readFileSync(join(FOLDER, REASONS), "utf8"));
}
