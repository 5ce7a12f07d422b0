// pure

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** Characters that Go prints unescaped: graphic ones, and the ASCII space (strconv.IsPrint). */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** Longer texts are cut in messages, which end up in events and logs. */
const MAX_SHOWN = 1024;

/** Text in Go's quotes, as its `%q` writes it. */
export function goQuote(text: string): string {
  let quoted = "";
  for (const character of text) quoted += SHORT[character] ?? escaped(character);
  return `"${quoted}"`;
}

function escaped(character: string): string {
  if (PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code < 0x20 || code === 0x7f) return `\\x${hex.padStart(2, "0")}`;
  // Half of a pair is no character; Go sees bytes that it cannot read there.
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** As `goQuote`; very long texts are cut. */
export function quoted(text: string): string {
  return goQuote(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}
