// pure
/** Rules of names, exports and comments. */

import { lineAt } from "./mask.ts";
import { isTestFile } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/** Words that say nothing, and words that Kubernetes has better ones for (docs/GLOSSARY.md). */
const BANNED = new Set([
  ...["manager", "helper", "helpers", "util", "utils", "common", "misc"],
  ...["anew", "because", "hurry", "lack", "wanted"],
  ...["crew", "deed", "door", "duty", "face", "footing", "footings", "house", "looks", "mood"],
  ...["mortal", "patience", "room", "said", "say", "sight", "storm", "stranger", "strangers"],
  ...["trouble", "troubles", "wish", "wishes"],
]);
/** Kubernetes' own words for things that we did not name. */
const KUBERNETES_WORDS = /(?:cpu|memory|topology|controller)-manager/g;

/** Names of files and of what they export, default exports, `index.ts`, missing docstrings, open ends. */
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

/** Phrases that docs/GLOSSARY.md replaces. */
const REPLACED = new RegExp(
  [
    ...["\\bearlier li(?:fe|ves)\\b", "\\bin the reference\\b", "\\bthe reference's\\b"],
    ...["control groups?\\b", "\\bruns already\\b", "\\bno leave to\\b", "\\bline of titles\\b"],
    ...[
      "\\bgo on and show\\b",
      "\\bof no use without\\b",
      "\\bis no JSON\\b",
      "\\bis made anew\\b",
    ],
    ...[
      "\\bfor want of\\b",
      "\\bnot taken well\\b",
      "\\bpods run on\\b",
      "\\bsomebody else listens\\b",
    ],
  ].join("|"),
  "i",
);
const GLOSSARY = "docs/GLOSSARY.md";

/** Words that stand for unfinished work, in any tracked text file. */
const UNFINISHED = /\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b/;

/** Whether `word` stands there by itself, not as the middle of a longer path or name. */
function mentions(content: string, word: string): boolean {
  for (let at = content.indexOf(word); at >= 0; at = content.indexOf(word, at + 1)) {
    const [before, after] = [content[at - 1] ?? "", content[at + word.length] ?? ""];
    if (!/[\w.~/-]/.test(before) && !/[\w-]/.test(after)) return true;
  }
  return false;
}

/** `machineWords` are names that belong to this machine and must not be published, longest first. */
export function checkWords(
  path: string,
  text: string,
  machineWords: readonly string[],
): Violation[] {
  const found: Violation[] = [];
  text.split("\n").forEach((content, index) => {
    const add = (message: string) => found.push({ rule: "words", path, line: index + 1, message });
    const unfinished = /\.(?:ts|mjs|cjs|sh)$/.test(path) ? UNFINISHED.exec(content) : undefined;
    if (unfinished) add(`says ${unfinished[0]}`);
    const phrase =
      path === GLOSSARY || path.startsWith("tools/tidy/") ? undefined : REPLACED.exec(content);
    if (phrase) add(`says "${phrase[0]}": see ${GLOSSARY}`);
    const word = machineWords.find((each) => mentions(content, each));
    if (word !== undefined) add(`names something of this machine: ${word}`);
  });
  return found;
}
