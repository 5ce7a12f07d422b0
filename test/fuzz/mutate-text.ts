import type { Random } from "../../src/kit/random.ts";

/** Longest input; some become as long, so that limits are met. */
export const MAX_INPUT = 64 * 1024;

/** A whole number from 0 up to, not including, `end`. */
export const upTo = (random: Random, end: number): number => Math.floor(random.next() * end);

/** One of a list that is not empty. */
export function pick<T>(random: Random, list: readonly T[]): T {
  return list[upTo(random, list.length)] as T;
}

/** Numbers at the edges of what formats and machines hold. */
export const NUMBERS: readonly string[] = [
  ...["0", "-0", "1", "-1", "7", "8", "127", "128", "255", "256", "511", "512", "1023", "1024"],
  ...["32767", "32768", "65535", "65536", "2147483647", "2147483648", "-2147483648"],
  ...["4294967295", "4294967296", "9007199254740991", "9007199254740993", "-9007199254740992"],
  ...["9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615"],
  ...[
    "18446744073709551616",
    "1e3",
    "1e308",
    "1e309",
    "-1e400",
    "1e-400",
    "0.1",
    ".5",
    "5.",
    "NaN",
  ],
  ...["Infinity", "0x10", "0o17", "010", "1_000", "+1", "00000000000000000000001", "1000"],
];

/** Texts that programs treat in a special way, wherever they come. */
export const WORDS: readonly string[] = [
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "length", "then"],
  ...["", " ", "\t", "\n", "\r", "\r\n", "\0", "\u0001", "\u007f", "\u0085", "\u00a0", "\u2028"],
  ...["\ud800", "\udfff", "\ufeff", "\ufffd", "é", "e\u0301", "İ", "ß", "💥", "\u202e"],
  ...["/", "//", "..", "../", "./", "\\", "%", "%00", "%2f", "%zz", "%ff", "#", "?", "&", "=", ";"],
  ...[":", "::", ",", ",,", "-", "--", "_", "@", "*", "|", "'", '"', "`", "$", "$(x)", "$$"],
  ...[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "{}",
    "[]",
    "null",
    "true",
    "false",
    "undefined",
    "~",
  ],
];

type Change = (random: Random, text: string, other: string, words: readonly string[]) => string;

function slice(random: Random, text: string): readonly [from: number, to: number] {
  const from = upTo(random, text.length + 1);
  const longest = random.next() < 0.7 ? 8 : text.length;
  return [from, Math.min(text.length, from + upTo(random, longest + 1))];
}

const CHANGES: readonly Change[] = [
  (random, text) => {
    const [from, to] = slice(random, text);
    return text.slice(0, from) + text.slice(to);
  },
  (random, text) => {
    const [from, to] = slice(random, text);
    const times = random.next() < 0.02 ? upTo(random, 5_000) : 1 + upTo(random, 4);
    const space = Math.max(0, MAX_INPUT - text.length);
    const part = text.slice(from, to);
    const fitting = part.length === 0 ? 0 : Math.min(times, Math.floor(space / part.length));
    return text.slice(0, to) + part.repeat(fitting) + text.slice(to);
  },
  (random, text, _, words) => {
    const at = upTo(random, text.length + 1);
    return text.slice(0, at) + pick(random, words) + text.slice(at);
  },
  (random, text, _, words) => {
    const [from, to] = slice(random, text);
    return text.slice(0, from) + pick(random, words) + text.slice(to);
  },
  (random, text) => {
    const numbers = [...text.matchAll(/-?\d+/g)];
    if (numbers.length === 0) return text + pick(random, NUMBERS);
    const { index, 0: found } = pick(random, numbers);
    return text.slice(0, index) + pick(random, NUMBERS) + text.slice(index + found.length);
  },
  (random, text, other) => {
    const [from, to] = slice(random, other);
    const at = upTo(random, text.length + 1);
    return text.slice(0, at) + other.slice(from, to) + text.slice(at);
  },
  (random, text, other) =>
    text.slice(0, upTo(random, text.length + 1)) + other.slice(upTo(random, other.length + 1)),
  (random, text) => {
    const at = upTo(random, text.length);
    const code = text.charCodeAt(at) || 0;
    const changed = random.next() < 0.5 ? code ^ (1 << upTo(random, 8)) : upTo(random, 0x180);
    return text.slice(0, at) + String.fromCharCode(changed) + text.slice(at + 1);
  },
  (random, text) => {
    const lines = text.split("\n");
    const [a, b] = [upTo(random, lines.length), upTo(random, lines.length)];
    [lines[a], lines[b]] = [lines[b] ?? "", lines[a] ?? ""];
    if (random.next() < 0.3) lines.splice(a, 1);
    else if (random.next() < 0.4) lines.splice(a, 0, lines[b] ?? "");
    return lines.join("\n");
  },
];

/** A text that differs from `text` in one to four places; `other` lends parts. */
export function mutateText(
  random: Random,
  text: string,
  other: string,
  words: readonly string[],
): string {
  let result = text;
  const all = words.length > 0 && random.next() < 0.7 ? words : WORDS;
  for (let left = 1 + upTo(random, 4); left > 0; left -= 1)
    result = pick(random, CHANGES)(random, result, other, all);
  return result.length > MAX_INPUT ? result.slice(0, MAX_INPUT) : result;
}
