// pure
/** Completion candidates at the cursor of a command line, from the tree of commands. */

/** A command as completion uses it; commander's `Command` has this shape. */
interface CommandTree {
  name(): string;
  summary(): string;
  readonly commands: readonly CommandTree[];
  readonly options: readonly OptionShape[];
  readonly registeredArguments: readonly ArgumentShape[];
}

/** An option as completion uses it. */
interface OptionShape {
  readonly short?: string | undefined;
  readonly long?: string | undefined;
  readonly description: string;
  readonly hidden?: boolean;
  /** Takes a value. */
  readonly required: boolean;
  readonly optional: boolean;
  readonly argChoices?: readonly string[] | undefined;
}

/** A positional argument as completion uses it. */
interface ArgumentShape {
  name(): string;
  readonly variadic: boolean;
  readonly argChoices?: readonly string[] | undefined;
}

/** Something that can stand at the cursor. */
export interface CompletionCandidate {
  readonly text: string;
  /** Description; may be empty. */
  readonly about: string;
}

/** The words to complete; values that only the running agent knows are supplied by the caller. */
export type Completion =
  | { readonly kind: "candidates"; readonly candidates: readonly CompletionCandidate[] }
  | { readonly kind: "files" }
  | {
      readonly kind: "ask";
      /** Command, argument or option whose value is completed, e.g. `logs`, `pod`. */
      readonly command: string;
      readonly value: string;
      readonly before: Before;
      /** To be put before every value, for `--option=value`. */
      readonly prefix: string;
      readonly word: string;
    };

/** Words before the cursor. */
export interface Before {
  readonly positional: readonly string[];
  /** Values of options by their long name. */
  readonly options: Readonly<Record<string, string>>;
}

const NOTHING: Completion = { kind: "candidates", candidates: [] };

/** Values that are paths. */
const PATHS = new Set(["file", "folder", "path"]);

/** `words` are those behind the program's name, the last one being the one at the cursor, maybe empty. */
export function complete(root: CommandTree, words: readonly string[]): Completion {
  const joined = joinEquals(words);
  const word = joined.at(-1) ?? "";
  if (joined[0] === "help" && joined.length === 2) return ofCommands(root, root, word);
  const { command, before, pending, ended } = readWords(root, joined.slice(0, -1));
  if (pending !== undefined && isValueOf(pending, word))
    return ofOption(command, pending, { before, prefix: "", word });
  if (!ended && word.startsWith("-")) return ofOptions(command, before, word);
  const position = before.positional.length;
  if (command.commands.length > 0 && position === 0) return ofCommands(root, command, word);
  const argument = command.registeredArguments[position] ?? command.registeredArguments.at(-1);
  if (
    argument === undefined ||
    (position >= command.registeredArguments.length && !argument.variadic)
  )
    return NOTHING;
  if (argument.argChoices !== undefined) return matching(argument.argChoices.map(bare), word);
  if (PATHS.has(argument.name())) return { kind: "files" };
  return {
    kind: "ask",
    command: command.name(),
    value: argument.name(),
    before,
    prefix: "",
    word,
  };
}

/** bash takes `--option=value` for three words. */
function joinEquals(words: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? "";
    const last = joined.at(-1);
    if (word === "=" && last?.startsWith("--")) {
      joined[joined.length - 1] = `${last}=${words[i + 1] ?? ""}`;
      i += 1;
    } else joined.push(word);
  }
  return joined;
}

interface Place {
  readonly command: CommandTree;
  readonly before: Before;
  /** The option whose value the cursor is at. */
  readonly pending: OptionShape | undefined;
  /** Behind `--`. */
  readonly ended: boolean;
}

function readWords(root: CommandTree, words: readonly string[]): Place {
  let command = root;
  let pending: OptionShape | undefined;
  let ended = false;
  const positional: string[] = [];
  const options: Record<string, string> = {};
  const readOption = (word: string) => {
    const [name = "", value] = word.split("=", 2);
    const option = optionNamed(command, name);
    if (option === undefined || !takesValue(option)) return;
    if (value === undefined) pending = option;
    else options[option.long ?? ""] = value;
  };
  for (const word of words) {
    const waiting = pending;
    pending = undefined;
    if (waiting !== undefined && isValueOf(waiting, word)) options[waiting.long ?? ""] = word;
    else if (ended) positional.push(word);
    else if (word === "--") ended = true;
    else if (word.startsWith("-") && word !== "-") readOption(word);
    else {
      const next = positional.length === 0 ? commandNamed(command, word) : undefined;
      if (next === undefined) positional.push(word);
      else command = next;
    }
  }
  return { command, before: { positional, options }, pending, ended };
}

function commandNamed(command: CommandTree, name: string): CommandTree | undefined {
  return command.commands.find((each) => each.name() === name);
}

function optionNamed(command: CommandTree, name: string): OptionShape | undefined {
  return command.options.find(({ short, long }) => short === name || long === name);
}

/** An option that may go without a value leaves the next option alone. */
function isValueOf({ optional }: OptionShape, word: string): boolean {
  return !(optional && word.startsWith("-"));
}

function takesValue({ required, optional }: OptionShape): boolean {
  return required || optional;
}

interface At {
  readonly before: Before;
  readonly prefix: string;
  readonly word: string;
}

/** Values of an option. */
function ofOption(command: CommandTree, option: OptionShape, at: At): Completion {
  const { prefix, word } = at;
  if (option.argChoices !== undefined) {
    const values = option.argChoices.map((text) => bare(prefix + text));
    return matching(values, prefix + word);
  }
  const value = /<(.*?)(\.\.\.)?>/.exec(valueName(option))?.[1] ?? "";
  if (PATHS.has(value)) return { kind: "files" };
  const name = (option.long ?? "").slice(2);
  return { kind: "ask", command: command.name(), value: name, ...at };
}

/** commander keeps the placeholder in the flags' text only. */
function valueName(option: OptionShape): string {
  return (option as { readonly flags?: string }).flags ?? "";
}

function ofOptions(command: CommandTree, before: Before, word: string): Completion {
  const equals = word.indexOf("=");
  if (equals > 0) {
    const option = optionNamed(command, word.slice(0, equals));
    if (option === undefined || !takesValue(option)) return NOTHING;
    const prefix = word.slice(0, equals + 1);
    return ofOption(command, option, { before, prefix, word: word.slice(equals + 1) });
  }
  const options = command.options
    .filter(({ hidden }) => hidden !== true)
    .map(({ long, short, description }) => ({ text: long ?? short ?? "", about: description }));
  return matching([...options, { text: "--help", about: "show help" }], word);
}

function ofCommands(root: CommandTree, command: CommandTree, word: string): Completion {
  const commands = command.commands
    .filter((each) => !each.name().startsWith("__"))
    .map((each) => ({ text: each.name(), about: each.summary() }));
  const help = { text: "help", about: "show help for a command" };
  return matching(command === root ? [...commands, help] : commands, word);
}

function bare(text: string): CompletionCandidate {
  return { text, about: "" };
}

/** Those of the candidates that go on from `word`. */
export function matching(candidates: readonly CompletionCandidate[], word: string): Completion {
  return {
    kind: "candidates",
    candidates: candidates.filter(({ text }) => text.startsWith(word)),
  };
}
