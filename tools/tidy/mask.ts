// pure
/**
 * A light scanner of TypeScript: what of a text is code, and what is comment, string or regular expression.
 * It needs no compiler, keeps every position, and knows just enough for rules about structure.
 */

/** A comment with its place in the text. */
export interface Comment {
  readonly start: number;
  /** First position after it. */
  readonly end: number;
  readonly text: string;
}

/** A text of the same length as the source, in which only code is left. */
export interface Masked {
  /** Comments and the insides of strings, templates and regular expressions are blanks; lines stay. */
  readonly code: string;
  readonly comments: readonly Comment[];
}

/** A word after which `/` begins a regular expression. */
const BEFORE_REGEX =
  /(?:^|[^\w$.])(?:return|typeof|case|in|of|delete|void|throw|do|else|await|yield)$/;

/** Masks a source text. Text that is not well-formed gives a mask that ends early, never an error. */
export function mask(source: string): Masked {
  return new Scanner(source).scan();
}

/** The line of a position, from 1. */
export function lineAt(text: string, position: number): number {
  let line = 1;
  for (let i = text.indexOf("\n"); i >= 0 && i < position; i = text.indexOf("\n", i + 1)) line += 1;
  return line;
}

class Scanner {
  readonly #source: string;
  readonly #code: string[];
  readonly #comments: Comment[] = [];
  /** For each template that is open around us: how many braces are open inside its `${`. */
  readonly #templates: number[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
    this.#code = source.split("");
  }

  scan(): Masked {
    while (this.#at < this.#source.length) this.#step();
    return { code: this.#code.join(""), comments: this.#comments };
  }

  #step(): void {
    const two = this.#source.slice(this.#at, this.#at + 2);
    const char = two[0];
    if (two === "//") this.#comment(this.#find("\n", this.#at));
    else if (two === "/*") this.#comment(this.#find("*/", this.#at + 2) + 2);
    else if (char === '"' || char === "'") this.#string(char);
    else if (char === "`") this.#template(this.#at + 1);
    else if (char === "/" && this.#regexMayBegin()) this.#regex();
    else this.#plain(char);
  }

  #plain(char: string | undefined): void {
    const depth = this.#templates.at(-1);
    if (depth !== undefined && char === "{")
      this.#templates[this.#templates.length - 1] = depth + 1;
    if (depth !== undefined && char === "}") {
      if (depth === 0) {
        this.#templates.pop();
        this.#template(this.#at + 1);
        return;
      }
      this.#templates[this.#templates.length - 1] = depth - 1;
    }
    this.#at += 1;
  }

  #comment(end: number): void {
    const stop = Math.min(end, this.#source.length);
    this.#comments.push({ start: this.#at, end: stop, text: this.#source.slice(this.#at, stop) });
    this.#blank(this.#at, stop);
    this.#at = stop;
  }

  #string(quote: string): void {
    let end = this.#at + 1;
    while (end < this.#source.length && this.#source[end] !== quote && this.#source[end] !== "\n")
      end += this.#source[end] === "\\" ? 2 : 1;
    this.#blank(this.#at + 1, end);
    this.#at = end + 1;
  }

  /** Blanks template text from `from` up to its end or to the next `${`. */
  #template(from: number): void {
    let end = from;
    while (end < this.#source.length) {
      if (this.#source[end] === "`") {
        this.#blank(from, end);
        this.#at = end + 1;
        return;
      }
      if (this.#source.startsWith("${", end)) {
        this.#blank(from, end);
        this.#templates.push(0);
        this.#at = end + 2;
        return;
      }
      end += this.#source[end] === "\\" ? 2 : 1;
    }
    this.#blank(from, this.#source.length);
    this.#at = this.#source.length;
  }

  #regexMayBegin(): boolean {
    const before = this.#code
      .slice(Math.max(0, this.#at - 40), this.#at)
      .join("")
      .trimEnd();
    return before === "" || /[([{,;=:?!&|+\-*%~^<>}]$/.test(before) || BEFORE_REGEX.test(before);
  }

  #regex(): void {
    let end = this.#at + 1;
    let inClass = false;
    while (end < this.#source.length && this.#source[end] !== "\n") {
      const char = this.#source[end];
      if (char === "[") inClass = true;
      if (char === "]") inClass = false;
      if (char === "/" && !inClass) break;
      end += char === "\\" ? 2 : 1;
    }
    this.#blank(this.#at + 1, end);
    this.#at = end + 1;
  }

  #find(text: string, from: number): number {
    const found = this.#source.indexOf(text, from);
    return found < 0 ? this.#source.length : found;
  }

  #blank(start: number, end: number): void {
    for (let i = start; i < end && i < this.#code.length; i++)
      if (this.#code[i] !== "\n") this.#code[i] = " ";
  }
}
