// pure
/** Limits on what a folder holds, so that it can be taken in at a glance. */
import type { Violation } from "./violation.ts";

/** Source files directly in one folder below src/. */
export const MAX_FILES = 20;

const TEST = /\.(?:test|vectors)\.ts$/;
const ELSEWHERE = /\/(?:generated|testdata)\//;

/** Folders below src/ with too many source files; tests, vectors and generated code are not counted. */
export function checkFolders(paths: Iterable<string>): Violation[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    if (!path.startsWith("src/") || !path.endsWith(".ts")) continue;
    if (TEST.test(path) || ELSEWHERE.test(path)) continue;
    const folder = path.slice(0, path.lastIndexOf("/"));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MAX_FILES)
    .map(([path, count]) => ({
      rule: "size",
      path,
      line: 0,
      message: `has ${count} source files, ${MAX_FILES} are allowed: group them by topic`,
    }));
}
