// pure
/** Words: the terms of docs/GLOSSARY.md, in every identifier, string, comment, test name and page. */
import type { Violation } from "./violation.ts";

const GLOSSARY = "docs/GLOSSARY.md";

/** Words for which engineers have others. The second column is what to write. */
const INSTEAD: Readonly<Record<string, string>> = {
  ...all("report, notify, name, record, explain", ["tell", "tells", "told", "telling"]),
  ...all("check, read, inspect, observe, attempt", ["look", "looks", "looked", "looking"]),
  ...all("receive, learn, observe", ["hear", "hears", "heard", "hearing"]),
  ...all("request, need, expect", ["want", "wants", "wish", "wishes", "wished"]),
  ...all("module, capacity, space", ["room", "rooms", "house", "houses"]),
  ...all("entry point", ["door", "doors"]),
  ...all("again", ["anew"]),
  ...all("is missing, has no, is short of", ["lack", "lacks", "lacked", "lacking"]),
  ...all("timeout, limit", ["patience"]),
  ...all("problem, failure", ["trouble", "troubles"]),
  ...all("fault injection, action", ["deed", "deeds", "storm", "storms"]),
  ...all("observation, snapshot", ["sight", "sights"]),
  ...all("unaccounted container, unauthenticated peer", ["stranger", "strangers"]),
  ...all("state", ["mood", "moods"]),
  ...all("workers", ["crew", "crews"]),
  ...all("prerequisites", ["footing", "footings"]),
};

/** Common English, and directives of other programs, in which the words stand rightly. */
const ALLOWED =
  /\b(?:look|looks|looked|looking)[ -]?(?:up|ups|around|like|alike)\b|\bwants? to\b|\bwantTrailers\b|\bWants[=":`]|\.wants\//gi;

/** The glossary and the rules themselves name what they refuse; messages of Kubernetes' suites are not ours. */
const EXCEPT =
  /^(?:docs\/GLOSSARY\.md|docs\/conformance(?:\.md|\/[^/]+\.json)|CHANGELOG\.md|tools\/tidy\/words(?:\.test)?\.ts)$|\/(?:testdata|generated)\//;
const READ = /\.(?:ts|tsx|mts|mjs|cjs|sh|md|css|html|json|service)$/;

function all(instead: string, words: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(words.map((word) => [word, instead]));
}

/** Every banned word of a text, however it is joined to others (`lookedAt`, `NODE_ROOM`). */
export function checkPlainWords(path: string, text: string): Violation[] {
  if (EXCEPT.test(path) || !READ.test(path)) return [];
  // The path itself is line 0.
  return [path, ...text.split("\n")].flatMap((content, line) =>
    wordsOf(content).flatMap((word): Violation[] => {
      const instead = Object.hasOwn(INSTEAD, word) ? INSTEAD[word] : undefined;
      if (instead === undefined) return [];
      const message = `says "${word}": write ${instead} (${GLOSSARY})`;
      return [{ rule: "words", path, line, message }];
    }),
  );
}

function wordsOf(content: string): readonly string[] {
  return content
    .replace(ALLOWED, " ")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
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
    const phrase = EXCEPT.test(path) ? undefined : REPLACED.exec(content);
    if (phrase) add(`says "${phrase[0]}": see ${GLOSSARY}`);
    const word = machineWords.find((each) => mentions(content, each));
    if (word !== undefined) add(`names something of this machine: ${word}`);
  });
  return [...found, ...checkPlainWords(path, text)];
}
