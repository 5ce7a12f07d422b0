/** Streams and terminal of a command; tests pass their own. */
import type { Writable } from "node:stream";
import { styleText } from "node:util";
import type { OutputStream, TerminalStreams } from "../client/terminal-streams.ts";
import { encode } from "../present/output.ts";
import { type Paint, plainPaint } from "../present/text.ts";

/** Everything a command knows of its surroundings. */
export interface Io extends TerminalStreams {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths start at; absolute. */
  readonly cwd: string;
  /** Styles of standard output. */
  readonly paint: Paint;
  /** Unix milliseconds. */
  now(): number;
}

/** The process's own streams. */
export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process;
  return {
    stdin,
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    paint: hasColours(stdout, env) ? paintAnsi : plainPaint,
    now: () => Date.now(),
  };
}

/** Styles as ANSI sequences. */
const paintAnsi: Paint = (style, text) => styleText(style, text, { validateStream: false });

function hasColours(stdout: OutputStream, env: Io["env"]): boolean {
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  if (env["FORCE_COLOR"] !== undefined) return env["FORCE_COLOR"] !== "0";
  return stdout.isTTY === true && env["TERM"] !== "dumb";
}

/** Writes lines, each with its line break. */
export function writeLines(stream: Writable, lines: readonly string[]): void {
  if (lines.length > 0) stream.write(`${lines.join("\n")}\n`);
}

/** Writes a value as JSON or YAML where `form` asks for one of these, else the lines for people. */
export function writeAs(
  form: string | undefined,
  value: unknown,
  lines: () => readonly string[],
  { stdout }: Pick<Io, "stdout">,
): void {
  if (form === "json" || form === "yaml") stdout.write(encode(value, form));
  else writeLines(stdout, lines());
}
