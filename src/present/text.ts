// pure
import fastStringWidth from "fast-string-width";

/** Texts as a terminal shows them: width in columns, cut, padded, and without anything that steers it. */

/** Styles of a text; the `Paint` renders them. */
export type Style = "bold" | "dim" | "green" | "yellow" | "red" | "cyan";

/** Colours a text, or leaves it as it is where there are no colours. */
export type Paint = (style: Style, text: string) => string;

/** No colours. */
export const plainPaint: Paint = (_, text) => text;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it matches
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Shows nothing and takes no column: soft hyphen, spaces and joiners without width, byte order mark. */
const INVISIBLE = /[\u00ad\u180e\u200b\u200c\u2060-\u2064\ufeff]/g;
/** A text of these is cut between any two. */
const PLAIN = /^[\x20-\x7e]*$/;

/**
 * The text without characters that steer a terminal: what a container or a file reported must not move the
 * cursor, change colours or turn the direction of writing. Line breaks stay, tabs become a blank, invisible
 * characters are removed.
 */
export function withoutControls(text: string): string {
  return text
    .replaceAll("\t", " ")
    .replaceAll("\r\n", "\n")
    .replace(INVISIBLE, "")
    .replace(CONTROL, "\ufffd");
}

/** The text on one line, without controls: breaks become blanks. */
export function oneLine(text: string): string {
  return withoutControls(text)
    .replace(/\s*\n\s*/g, " ")
    .trim();
}

/** The last line that is not blank, where programs say why they failed; empty when there is none. */
export function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}

/** Columns that the text takes; it must contain no escape sequences and no line breaks. */
export function textWidth(text: string): number {
  return fastStringWidth(text);
}

/** Splits into grapheme clusters: an emoji of several parts is never cut in two. */
function* charactersOf(text: string): Iterable<string> {
  for (const { segment } of new Intl.Segmenter().segment(text)) yield segment;
}

/** The text within `columns`; what is cut off is shown by `…`. */
export function cutText(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  if (columns <= 0) return "";
  let kept = "";
  for (const character of PLAIN.test(text) ? text : charactersOf(text)) {
    if (textWidth(kept + character) > columns - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/** The text with blanks behind it, or before it, up to `columns`. */
export function padText(text: string, columns: number, align: "left" | "right" = "left"): string {
  const blanks = " ".repeat(Math.max(0, columns - textWidth(text)));
  return align === "left" ? text + blanks : blanks + text;
}

/** The text in lines of at most `columns`, broken at blanks; a longer word has a line of its own. */
export function wrapText(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").filter((each) => each !== "")) {
    if (line !== "" && textWidth(line) + 1 + textWidth(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, line];
}

/** `1 pod`, `2 pods`. */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
