/** Mutants of a source text by rules: each changes one operator, literal, condition or call. */
import { stripTypeScriptTypes } from "node:module";
import { lineAt, mask } from "../tidy/mask.ts";

/** One change of a text. */
export interface Change {
  readonly start: number;
  /** First position after what is replaced. */
  readonly end: number;
  readonly text: string;
}

/** A change with what it looks like, by which it is named in `equivalents.ts`. */
export interface GeneratedMutant extends Change {
  readonly line: number;
  /** `<line of the source> => <the same line, changed>`, both trimmed. */
  readonly shown: string;
}

/** Operators and words, and what takes their place. Only whole tokens count. */
const REPLACED: readonly (readonly [RegExp, readonly string[]])[] = [
  [/===/g, ["!=="]],
  [/!==/g, ["==="]],
  [/(?<= )<(?= )/g, ["<=", ">="]],
  [/(?<= )>(?= )/g, [">=", "<="]],
  [/(?<= )<=(?= )/g, ["<", ">"]],
  [/(?<= )>=(?= )/g, [">", "<"]],
  [/&&/g, ["||"]],
  [/\|\|/g, ["&&"]],
  [/\?\?(?!=)/g, ["&&"]],
  [/!(?=[\w(#])/g, [""]],
  [/\btrue\b/g, ["false"]],
  [/\bfalse\b/g, ["true"]],
  [/\bthrow\b/g, ["void"]],
  [/\bsome(?=\()/g, ["every"]],
  [/\bevery(?=\()/g, ["some"]],
  [/\bstartsWith(?=\()/g, ["endsWith"]],
  [/\bMath\.min\b/g, ["Math.max"]],
  [/\bMath\.max\b/g, ["Math.min"]],
  [/(?<=[\w)\]] )-(?= [\w(])/g, ["+"]],
  [/(?<=[\w)\]] )\+(?= [\w(])/g, ["-"]],
  [/(?<=[\w)] )\|(?= \w)/g, ["&"]],
  [/(?<=[\w)] )&(?= \w)/g, ["|"]],
];

/** All mutants of a TypeScript source, in its order. */
export function generateMutants(source: string): readonly GeneratedMutant[] {
  const code = mask(stripTypes(source)).code;
  const changes = [
    ...replacements(code),
    ...numbers(code),
    ...conditions(code),
    ...anchors(source, code),
    ...calls(code),
  ];
  return changes
    .sort((a, b) => a.start - b.start || a.end - b.end || (a.text < b.text ? -1 : 1))
    .map((change) => ({
      ...change,
      line: lineAt(source, change.start),
      shown: shown(source, change),
    }));
}

/** The text with the change made. */
export function applied(source: string, { start, end, text }: Change): string {
  return source.slice(0, start) + text + source.slice(end);
}

/** Types are blanked, so that `<` and `|` are operators, and positions stay. Node says once that this may change. */
function stripTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source, { mode: "strip" });
  } finally {
    process.emitWarning = emitWarning;
  }
}

function replacements(code: string): Change[] {
  return REPLACED.flatMap(([pattern, texts]) =>
    [...code.matchAll(pattern)].flatMap(({ index, 0: found }) =>
      texts.map((text) => ({ start: index, end: index + found.length, text })),
    ),
  );
}

/** A limit that has a name: that it is just so much is nobody's promise. */
const LIMIT = /^(?:export )?const [A-Z][A-Z_\d]* = [\w *+]+;/;

/** A number becomes the next one, unless it is a limit; permission bits become those of everybody. */
function numbers(code: string): Change[] {
  const isLimit = (at: number) =>
    /\.verbose\($/.test(code.slice(0, at)) ||
    (LIMIT.test(code.slice(code.lastIndexOf("\n", at) + 1)) &&
      !/^0o/i.test(code.slice(at, at + 2)));
  return [...code.matchAll(/(?<![\w.$])(?:0[ox][\da-f_]+|\d[\d_]*)(?![\w.n])/gi)]
    .filter(({ index }) => !isLimit(index))
    .map(({ index, 0: found }) => {
      const value = Number(found.replaceAll("_", ""));
      const text = /^0o/i.test(found) && value <= 0o777 ? "0o777" : String(value + 1);
      return { start: index, end: index + found.length, text };
    });
}

/** The condition of each `if` holds always, and never. */
function conditions(code: string): Change[] {
  return [...code.matchAll(/\bif \(/g)].flatMap(({ index }) => {
    const start = index + "if (".length;
    const end = closing(code, start);
    return end === undefined ? [] : ["true", "false"].map((text) => ({ start, end, text }));
  });
}

/** A regular expression that is not bound to the beginning or the end. */
function anchors(source: string, code: string): Change[] {
  return [...code.matchAll(/(?<![*/<])\/( +)\/(?![*/])/g)].flatMap(({ index, 0: found }) => {
    const inside = source.slice(index + 1, index + found.length - 1);
    const last = index + found.length - 2;
    return [
      ...(inside.startsWith("^") ? [{ start: index + 1, end: index + 2, text: "" }] : []),
      ...(/[^\\]\$$/.test(inside) ? [{ start: last, end: last + 1, text: "" }] : []),
    ];
  });
}

/** A call whose result nobody uses is left out; what is logged is not checked. */
function calls(code: string): Change[] {
  return [...code.matchAll(/^[ \t]+((?:await )?(?:this\.)?[#\w.]+\()/gm)].flatMap((match) => {
    const [whole, head = ""] = match;
    if (/^(?:[\w.#]+\.)?log\./.test(head)) return [];
    if (/^(?:if|for|while|switch|return|function|constructor|super)\b/.test(head)) return [];
    const start = match.index + whole.length - head.length;
    const end = closing(code, start + head.length);
    return end === undefined || code[end + 1] !== ";" ? [] : [{ start, end: end + 1, text: "" }];
  });
}

/** The position of the parenthesis that closes the one before `from`. */
function closing(code: string, from: number): number | undefined {
  let depth = 1;
  for (let at = from; at < code.length; at += 1) {
    if (code[at] === "(") depth += 1;
    if (code[at] === ")") depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}

function shown(source: string, change: Change): string {
  const from = source.lastIndexOf("\n", change.start - 1) + 1;
  const newline = source.indexOf("\n", change.end);
  const to = newline < 0 ? source.length : newline;
  const oneLine = (text: string) => text.trim().replaceAll(/\s+/g, " ");
  const before = source.slice(from, to);
  const after = applied(before, {
    start: change.start - from,
    end: change.end - from,
    text: change.text,
  });
  return `${oneLine(before)} => ${oneLine(after)}`;
}
