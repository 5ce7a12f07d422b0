// pure

import type { JsonValue } from "../../api/generated/types.ts";
import { parseDuration } from "../../api/text/duration.ts";
import { quoted } from "../../api/text/go-quote.ts";
import { didYouMean } from "../../api/text/nearest.ts";
import type { FieldPath } from "../fields/fields.ts";
import { type ConfigProblem, plain } from "../problem.ts";
import { FLAGS, flagNamed, flagOfLetter } from "./flag-table.ts";
import type { FlagSpec } from "./flag-types.ts";
import { readFlagValue } from "./flag-values.ts";
import { DEFAULT_FLAGS, type KubeletFlags } from "./kubelet-flags.ts";

/** A configuration field as a flag sets it, in file form. */
export interface FlagSetting {
  readonly path: FieldPath;
  readonly value: JsonValue;
  /** The flag's name without dashes. */
  readonly flag: string;
}

/** A command line, read. */
export interface ParsedFlags {
  readonly flags: KubeletFlags;
  /** In the order given; a later one wins. */
  readonly settings: readonly FlagSetting[];
  /** Names of all flags that were given. */
  readonly given: readonly string[];
  readonly warnings: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

/** The place of what was typed, in problems. */
const COMMAND_LINE = "command line";

/** More arguments than any command line has. */
const MAX_ARGUMENTS = 10_000;

/**
 * Reads a command line as pflag does: `--flag value`, `--flag=value`, `--bool`, `--bool=false` (never
 * `--bool false`), `-v 3`, `-v=3`, `-v3`; lists and maps repeated or with commas; `--` ends the flags;
 * `_` in a name is the same as `-`. Never throws; every problem is returned, not only the first.
 */
export function parseFlags(argv: readonly string[]): ParsedFlags {
  const reader = new FlagReader(argv.slice(0, MAX_ARGUMENTS));
  reader.readAll();
  return reader.result();
}

class FlagReader {
  readonly #argv: readonly string[];
  readonly #values = new Map<string, { readonly spec: FlagSpec; readonly value: JsonValue }>();
  readonly #warnings: string[] = [];
  readonly #warned = new Set<string>();
  readonly #problems: ConfigProblem[] = [];
  #at = 0;

  constructor(argv: readonly string[]) {
    this.#argv = argv;
  }

  readAll(): void {
    while (this.#at < this.#argv.length) {
      const argument = this.#argv[this.#at] ?? "";
      this.#at += 1;
      if (argument === "--") {
        for (const rest of this.#argv.slice(this.#at)) this.#refuseWord(rest);
        return;
      }
      if (argument.startsWith("--")) this.#readLong(argument);
      else if (argument.startsWith("-") && argument !== "-") this.#readLetters(argument);
      else this.#refuseWord(argument);
    }
  }

  result(): ParsedFlags {
    const settings: FlagSetting[] = [];
    const own: [string, JsonValue][] = [];
    for (const [name, { spec, value }] of this.#values) {
      if (spec.target.kind === "config") {
        settings.push({ path: spec.target.path, value, flag: name });
      } else if (spec.target.kind === "flag") {
        own.push([spec.target.key, spec.type === "duration" ? milliseconds(value) : value]);
      }
    }
    return {
      flags: { ...DEFAULT_FLAGS, ...Object.fromEntries(own) },
      settings,
      given: [...this.#values.keys()],
      warnings: this.#warnings,
      problems: this.#problems,
    };
  }

  #readLong(argument: string): void {
    const equals = argument.indexOf("=");
    const name = argument.slice(2, equals < 0 ? undefined : equals);
    if (name === "" || name.startsWith("-")) {
      this.#problem(argument, `bad flag syntax: ${argument}`, "");
      return;
    }
    const spec = flagNamed(name);
    if (spec === undefined) {
      this.#unknown(name, equals < 0);
      return;
    }
    if (equals >= 0) this.#set(spec, argument.slice(equals + 1));
    else if (hasValueWithoutEquals(spec)) this.#set(spec, "true");
    else this.#setFromNext(spec, `flag needs an argument: --${spec.name}`);
  }

  /** One dash and letters: `-h`, `-v=3`, `-v3`, `-v 3`, `-hv3`. */
  #readLetters(argument: string): void {
    let letters = argument.slice(1);
    while (letters !== "") {
      const letter = letters.charAt(0);
      const spec = flagOfLetter(letter);
      letters = letters.slice(1);
      if (spec === undefined) {
        const message = `unknown shorthand flag: '${letter}' in ${argument}`;
        const long = flagNamed(argument.slice(1).split("=")[0] ?? "");
        this.#problem(argument, message, long === undefined ? "" : `write --${long.name}`);
        return;
      }
      if (letters.startsWith("=")) {
        this.#set(spec, letters.slice(1));
        return;
      }
      if (hasValueWithoutEquals(spec)) {
        this.#set(spec, "true");
      } else if (letters !== "") {
        this.#set(spec, letters);
        return;
      } else {
        this.#setFromNext(spec, `flag needs an argument: '${letter}' in ${argument}`);
      }
    }
  }

  #setFromNext(spec: FlagSpec, missing: string): void {
    const next = this.#argv[this.#at];
    if (next === undefined) {
      this.#problem(`--${spec.name}`, missing, "");
      return;
    }
    this.#at += 1;
    this.#set(spec, next);
  }

  #set(spec: FlagSpec, text: string): void {
    const before = this.#values.get(spec.name);
    const { target } = spec;
    if (target.kind === "refused") {
      if (target.accepts?.includes(text) === true) this.#warnDeprecated(spec);
      else {
        const message = `the flag was removed from Kubernetes and ${quoted(text)} cannot be honoured`;
        this.#problem(`--${spec.name}`, message, target.instead);
      }
      return;
    }
    const read =
      target.kind === "ignored" ? IGNORED : readFlagValue(spec.type, text, before?.value);
    if (!read.ok) {
      const shown = spec.short === undefined ? "" : `-${spec.short}, `;
      const message = `invalid argument ${quoted(text)} for "${shown}--${spec.name}" flag: ${read.error}`;
      this.#problem(`--${spec.name}`, message, hintFor(spec, text));
      return;
    }
    this.#warnDeprecated(spec);
    // Taken out first, so that the order of `settings` is the order of the last occurrences.
    this.#values.delete(spec.name);
    this.#values.set(spec.name, { spec, value: read.value });
  }

  #warnDeprecated(spec: FlagSpec): void {
    if (this.#warned.has(spec.name)) return;
    this.#warned.add(spec.name);
    if (spec.noEffect !== undefined)
      this.#warnings.push(`Flag --${spec.name} has no effect in nodelet, ${spec.noEffect}`);
    if (spec.deprecated === undefined) return;
    const effect = spec.target.kind === "ignored" ? "has no effect" : "has been deprecated";
    this.#warnings.push(`Flag --${spec.name} ${effect}, ${spec.deprecated}`);
  }

  /** pflag does not know whether an unknown flag takes a value; a following word is taken as one. */
  #unknown(name: string, mayTakeNext: boolean): void {
    const names = FLAGS.map((flag) => flag.name);
    const near = didYouMean(name, names).replace("mean ", "mean --");
    this.#problem(`--${name}`, `unknown flag: --${name}`, near);
    const next = this.#argv[this.#at];
    if (mayTakeNext && next !== undefined && !next.startsWith("-")) this.#at += 1;
  }

  #refuseWord(word: string): void {
    const previous = this.#argv[this.#at - 2] ?? "";
    const spec = previous.startsWith("--") ? flagNamed(previous.slice(2)) : undefined;
    const fix =
      spec?.type === "bool"
        ? `write --${spec.name}=${word}: a boolean flag takes its value after =`
        : "unexpected argument: only flags are accepted";
    this.#problem("", `unknown command ${word}`, fix);
  }

  #problem(path: string, message: string, fix: string): void {
    this.#problems.push({ ...plain(path, message, fix), place: { source: COMMAND_LINE } });
  }
}

const IGNORED = { ok: true, value: "" } as const;

/** Types of flags that stand for `true` when no `=value` follows. */
const VALUE_OPTIONAL: readonly FlagSpec["type"][] = ["bool", "version", "inspector", "page"];

function hasValueWithoutEquals(spec: FlagSpec): boolean {
  return VALUE_OPTIONAL.includes(spec.type);
}

function milliseconds(value: JsonValue): number {
  const parsed = parseDuration(String(value));
  return parsed.ok ? parsed.ms : 0;
}

function hintFor(spec: FlagSpec, text: string): string {
  switch (spec.type) {
    case "duration":
      return /^\d+$/.test(text) ? `write ${text}s` : "e.g. 30s or 1h30m";
    case "bool":
      return `write --${spec.name}=true or --${spec.name}=false`;
    case "thresholds":
      return `e.g. --${spec.name}='memory.available<100Mi,nodefs.available<10%'`;
    case "map":
      return `e.g. --${spec.name}=name=value,name=value`;
    case "mapBool":
      return `e.g. --${spec.name}=SomeFeature=true`;
    default:
      return "";
  }
}
