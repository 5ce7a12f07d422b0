// pure
/** Texts as a terminal shows them: width in columns, cut, padded, and without anything that steers it. */

/** Looks a text can have; what becomes of it is up to the `Paint`. */
export type Style = "bold" | "dim" | "green" | "yellow" | "red" | "cyan";

/** Colours a text, or leaves it as it is where there are no colours. */
export type Paint = (style: Style, text: string) => string;

/** No colours. */
export const plainPaint: Paint = (_, text) => text;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * The text without characters that steer a terminal: what a container or a file said must not move the
 * cursor, change colours or turn the direction of writing. Line breaks stay, tabs become a blank.
 */
export function withoutControls(text: string): string {
  return text.replaceAll("\t", " ").replaceAll("\r\n", "\n").replace(CONTROL, "\ufffd");
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

/** Ranges of characters that take two columns (East Asian wide, emoji). */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f900, 0x1f9ff],
  [0x1fa70, 0x1faff],
  [0x20000, 0x3fffd],
];

const COMBINING = /^\p{Mark}$|^\u200d$|^[\ufe00-\ufe0f]$/u;

/** Columns of one character. */
function columnsOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (COMBINING.test(character)) return 0;
  return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

/** Columns that the text takes; it must contain no escape sequences and no line breaks. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

/** The text within `columns`; what is cut off is shown by `…`. */
export function cutText(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  if (columns <= 0) return "";
  let kept = "";
  let width = 0;
  for (const character of text) {
    const next = width + columnsOf(character);
    if (next > columns - 1) break;
    kept += character;
    width = next;
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
