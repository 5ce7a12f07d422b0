// pure
/** Output of containers for a terminal, with what steers a terminal shown instead of sent. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it matches
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Distance of a control character from the letter that stands for it behind `^`. */
const CARET = 0x40;

/**
 * Turns bytes, in whatever portions they come, into text that cannot move the cursor, ring, change colours or the title, or
 * turn the direction of writing: ESC becomes `^[`, NUL `^@` (as `cat -v` and `less` show them), others `\u009b`. Line
 * breaks and tabs stay, what is not UTF-8 becomes the replacement character.
 */
export class VisibleControls {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** A carriage return at the end of a portion, the next one decides whether it ends a line. */
  #pending = "";

  push(bytes: Uint8Array): string {
    return this.#shown(this.#decoder.decode(bytes, { stream: true }));
  }

  /** What is left when no more bytes come. */
  end(): string {
    const rest = this.#shown(this.#decoder.decode()) + this.#pending;
    this.#pending = "";
    return visible(rest);
  }

  #shown(text: string): string {
    if (text === "") return "";
    const whole = this.#pending + text;
    this.#pending = whole.endsWith("\r") ? "\r" : "";
    const kept = this.#pending === "" ? whole : whole.slice(0, -1);
    return visible(kept.replaceAll("\r\n", "\n"));
  }
}

function visible(text: string): string {
  return text.replace(STEERING, (character) => {
    const code = character.charCodeAt(0);
    if (code < CARET / 2 || code === 0x7f) return `^${String.fromCharCode(code ^ CARET)}`;
    return `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
