// pure
/** Rules of names of files and exports. */

import { lineAt } from "./mask.ts";
import { isTestFile } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/** Words that say nothing, and words that Kubernetes has better ones for (docs/GLOSSARY.md). */
const BANNED = new Set([
  ...["manager", "helper", "helpers", "util", "utils", "common", "misc"],
  ...["because", "duty", "face", "hurry", "mortal", "said", "say", "wanted"],
]);
/** Kubernetes' own words for things that we did not name. */
const KUBERNETES_WORDS = /(?:cpu|memory|topology|controller)-manager/g;

/** Names of files and of what they export, default exports, `index.ts`, missing docstrings. */
export function checkNames(file: SourceFile): Violation[] {
  const { path } = file;
  const found: Violation[] = [];
  const add = (rule: Violation["rule"], line: number, message: string) =>
    found.push({ rule, path, line, message });
  if (/\/index\.ts$/.test(path))
    add("names", 0, "is a barrel: name the file after what it exports");
  for (const word of bannedWords(path.replace(/\.ts$/, "")))
    add("names", 0, `says "${word}": name it after what it does`);
  for (const { name, line } of file.exports)
    for (const word of bannedWords(name))
      add("names", line, `${name} says "${word}": name it after what it does`);
  for (const match of file.code.matchAll(/^export\s+default\b|\bas\s+default\b/gm))
    add("names", lineAt(file.code, match.index), "has a default export");
  if (!isTestFile(path))
    for (const { name, line, documented } of file.exports)
      if (!documented && !SAYS_ITSELF.test(name))
        add("docs", line, `${name} is exported without a docstring`);
  return found;
}

/** Types whose names say all that a docstring could: what the thing before the suffix depends on, or is called with. */
const SAYS_ITSELF = /[a-z](?:Deps|Options|Inputs)$/;

function bannedWords(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replace(KUBERNETES_WORDS, "")
    .split(/[^a-z]+/)
    .filter((word) => BANNED.has(word));
}
