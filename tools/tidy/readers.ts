// pure
/** What a file exports is read by another one: otherwise it is the file's own. */
import { isTestFile } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/** Code that may read what `src/` exports, beside the sources themselves: scripts, examples and pages. */
const CODE = /\.(?:ts|tsx|mts|mjs)$/;

/** Every export of `sources` that no other file of `files` names. The library's own exports are its interface. */
export function checkReaders(
  sources: readonly SourceFile[],
  files: ReadonlyMap<string, string>,
): Violation[] {
  const readers = readersByWord(files);
  return sources
    .filter(({ path }) => path.startsWith("src/") && !isTestFile(path) && !isOwn(path))
    .flatMap(({ path, exports }) =>
      exports
        .filter(({ name }) => !readers.get(name)?.some((reader) => reader !== path))
        .map(({ name, line }): Violation => {
          const message = `${name} is exported and read by no other file: keep it in this one`;
          return { rule: "readers", path, line, message };
        }),
    );
}

const isOwn = (path: string): boolean =>
  path === "src/library.ts" || /\/generated\/|\.vectors\.ts$/.test(path);

/** The first two files that name each word: more are not asked for. */
function readersByWord(files: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const readers = new Map<string, string[]>();
  for (const [path, text] of files) {
    if (!CODE.test(path)) continue;
    for (const word of new Set(text.match(/[\w$]+/g))) {
      const known = readers.get(word);
      if (!known) readers.set(word, [path]);
      else if (known.length < 2) known.push(path);
    }
  }
  return readers;
}
