// pure
/** One word, one thing: no name is declared and exported by two files of src/. */
import { isTestFile } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/** Every export whose name an earlier file, by path, exports too. There are no exceptions. */
export function checkTwice(files: readonly SourceFile[]): Violation[] {
  const first = new Map<string, string>();
  const found: Violation[] = [];
  for (const { path, exports } of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    if (!path.startsWith("src/") || isTestFile(path)) continue;
    for (const { name, line } of exports) {
      const elsewhere = first.get(name);
      if (elsewhere === undefined) first.set(name, path);
      else {
        const message = `${name} is exported by ${elsewhere} too: share it, or name it after what it is`;
        found.push({ rule: "twice", path, line, message });
      }
    }
  }
  return found;
}
