// pure
import type { LabelSelector } from "../generated/types.ts";
import { labelValueFaults, qualifiedNameFaults } from "./names.ts";

/** Labels, annotations, or the fields of an object that can be selected by. */
export type LabelSet = Readonly<Record<string, string>>;

/** One condition on labels; all conditions of a selector must hold. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: "in" | "notIn" | "exists" | "doesNotExist" | "greaterThan" | "lessThan";
  /** One value for `greaterThan` and `lessThan`, none for the existence operators. */
  readonly values: readonly string[];
}

/** A parsed selector; an empty list selects everything. */
export type LabelRequirements = readonly LabelRequirement[];

/** A parse result: the selector, or what is wrong with the text. */
export type SelectorReading<T> =
  | { readonly kind: "selector"; readonly selector: T }
  | { readonly kind: "fault"; readonly message: string };

/** Longer selectors do not come from people. */
const MAX_SELECTOR_LENGTH = 65_536;

const fault = (message: string): { readonly kind: "fault"; readonly message: string } => ({
  kind: "fault",
  message,
});

const labelOf = (labels: LabelSet, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;

const INTEGER = /^[-+]?[0-9]{1,19}$/;

function compares(value: string | undefined, bound: string, greater: boolean): boolean {
  if (value === undefined || !INTEGER.test(value) || !INTEGER.test(bound)) return false;
  const difference = BigInt(value.replace(/^\+/, "")) - BigInt(bound.replace(/^\+/, ""));
  return greater ? difference > 0n : difference < 0n;
}

function holds({ key, operator, values }: LabelRequirement, labels: LabelSet): boolean {
  const value = labelOf(labels, key);
  switch (operator) {
    case "in":
      return value !== undefined && values.includes(value);
    case "notIn":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "doesNotExist":
      return value === undefined;
    case "greaterThan":
      return compares(value, values[0] ?? "", true);
    case "lessThan":
      return compares(value, values[0] ?? "", false);
  }
}

/** Whether labels fulfil every condition of the selector. */
export const matchesLabels = (selector: LabelRequirements, labels: LabelSet = {}): boolean =>
  selector.every((requirement) => holds(requirement, labels));

type Token =
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "symbol"; readonly text: string };

const SYMBOLS = ["==", "!=", "=", "!", ",", "(", ")", ">", "<"] as const;

function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const symbol = SYMBOLS.find((candidate) => text.startsWith(candidate, at));
    if (/\s/.test(text.charAt(at))) at++;
    else if (symbol !== undefined) {
      tokens.push({ kind: "symbol", text: symbol });
      at += symbol.length;
    } else {
      const start = at;
      while (at < text.length && !/[\s=!,()<>]/.test(text.charAt(at))) at++;
      tokens.push({ kind: "word", text: text.slice(start, at) });
    }
  }
  return tokens;
}

class SelectorFault extends Error {}

const shown = (token: Token | undefined): string => `'${token?.text ?? ""}'`;

/** Recursive descent without recursion: a selector is a flat list. */
class SelectorParser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokenize(text);
  }

  parse(): LabelRequirements {
    const requirements: LabelRequirement[] = [];
    if (this.#tokens.length === 0) return requirements;
    for (;;) {
      requirements.push(this.#requirement());
      const next = this.#next();
      if (next === undefined) return requirements;
      if (!isSymbol(next, ","))
        throw new SelectorFault(`found ${shown(next)}, expected: ',' or 'end of string'`);
    }
  }

  #next(): Token | undefined {
    return this.#tokens[this.#at++];
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #key(): string {
    const token = this.#next();
    if (token?.kind !== "word")
      throw new SelectorFault(`found ${shown(token)}, expected: identifier`);
    const faults = qualifiedNameFaults(token.text);
    if (faults.length > 0)
      throw new SelectorFault(`key: Invalid value: "${token.text}": ${faults.join("; ")}`);
    return token.text;
  }

  #requirement(): LabelRequirement {
    if (isSymbol(this.#peek(), "!")) {
      this.#at++;
      return { key: this.#key(), operator: "doesNotExist", values: [] };
    }
    const key = this.#key();
    const next = this.#peek();
    if (next === undefined || isSymbol(next, ",")) return { key, operator: "exists", values: [] };
    this.#at++;
    if (next.kind === "word") return this.#set(key, next);
    const operator = COMPARISONS.get(next.text);
    if (operator === undefined)
      throw new SelectorFault(`found ${shown(next)}, expected: in, notin, =, ==, !=, gt, lt`);
    const value = this.#exactValue();
    if ((operator === "greaterThan" || operator === "lessThan") && !INTEGER.test(value))
      throw new SelectorFault(`for 'Gt', 'Lt' operators, the value must be an integer`);
    return { key, operator, values: [checkedValue(value)] };
  }

  /** The value behind `=`; nothing there is the empty value. */
  #exactValue(): string {
    const token = this.#peek();
    if (token === undefined || isSymbol(token, ",")) return "";
    this.#at++;
    if (token.kind === "word") return token.text;
    throw new SelectorFault(`found ${shown(token)}, expected: identifier`);
  }

  #set(key: string, word: Token): LabelRequirement {
    const operator = word.text === "in" ? "in" : word.text === "notin" ? "notIn" : undefined;
    if (operator === undefined)
      throw new SelectorFault(`found ${shown(word)}, expected: in, notin, =, ==, !=, gt, lt`);
    const open = this.#next();
    if (!isSymbol(open, "(")) throw new SelectorFault(`found ${shown(open)} expected: '('`);
    const values: string[] = [];
    let expectsValue = true;
    for (;;) {
      const token = this.#next();
      if (token?.kind === "word" && expectsValue) {
        values.push(checkedValue(token.text));
        expectsValue = false;
      } else if (isSymbol(token, ",") || isSymbol(token, ")")) {
        if (expectsValue) values.push("");
        expectsValue = true;
        if (isSymbol(token, ")")) return { key, operator, values };
      } else throw new SelectorFault(`found ${shown(token)}, expected: ',', or ')'`);
    }
  }
}

const isSymbol = (token: Token | undefined, text: string): boolean =>
  token?.kind === "symbol" && token.text === text;

const COMPARISONS: ReadonlyMap<string, LabelRequirement["operator"]> = new Map([
  ["=", "in"],
  ["==", "in"],
  ["!=", "notIn"],
  [">", "greaterThan"],
  ["<", "lessThan"],
]);

function checkedValue(value: string): string {
  const faults = labelValueFaults(value);
  if (faults.length > 0)
    throw new SelectorFault(`values[0]: Invalid value: "${value}": ${faults.join("; ")}`);
  return value;
}

/** Parses `a=b,c!=d,e in (f,g),h,!i,j>1`, as `kubectl -l` and the API take it. */
export function parseLabelSelector(text: string): SelectorReading<LabelRequirements> {
  if (text.length > MAX_SELECTOR_LENGTH) return fault("the selector is too long");
  try {
    return { kind: "selector", selector: new SelectorParser(text).parse() };
  } catch (thrown) {
    if (thrown instanceof SelectorFault)
      return fault(`unable to parse requirement: ${thrown.message}`);
    throw thrown;
  }
}

const EXPRESSION_OPERATORS: ReadonlyMap<string, LabelRequirement["operator"]> = new Map([
  ["In", "in"],
  ["NotIn", "notIn"],
  ["Exists", "exists"],
  ["DoesNotExist", "doesNotExist"],
]);

/** A selector object of the API as requirements. Absent selects nothing, which is `undefined`. */
export function labelRequirements(
  selector: LabelSelector | undefined,
): SelectorReading<LabelRequirements | undefined> {
  if (selector === undefined) return { kind: "selector", selector: undefined };
  const requirements: LabelRequirement[] = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]) => ({ key, operator: "in", values: [value] }),
  );
  for (const { key, operator: name, values } of selector.matchExpressions ?? []) {
    const operator = EXPRESSION_OPERATORS.get(name);
    if (operator === undefined) return fault(`"${name}" is not a valid label selector operator`);
    requirements.push({ key, operator, values: values ?? [] });
  }
  return { kind: "selector", selector: requirements };
}

/** One condition on a field of an object. */
export interface FieldRequirement {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** Splits at commas that no backslash escapes. */
function splitTerms(text: string): readonly string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === ",") {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...terms, text.slice(start)];
}

/** Removes the escapes `\\`, `\,` and `\=`; `undefined` for any other. */
function unescaped(text: string): string | undefined {
  let plain = "";
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "," || character === "=") return undefined;
    if (character !== "\\") plain += character;
    else {
      at++;
      if (!"\\,=".includes(text.charAt(at)) || at >= text.length) return undefined;
      plain += text.charAt(at);
    }
  }
  return plain;
}

/** Parses `metadata.name=x,spec.nodeName!=y`, as `kubectl --field-selector` and the API take it. */
export function parseFieldSelector(text: string): SelectorReading<readonly FieldRequirement[]> {
  if (text.length > MAX_SELECTOR_LENGTH) return fault("the selector is too long");
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text)) {
    if (term === "") continue;
    const match = /^([^\\=!,]*)(!=|==|=)([\s\S]*)$/.exec(term);
    const value = unescaped(match?.[3] ?? "");
    if (match === null || value === undefined)
      return fault(`invalid selector: '${text}'; can't understand '${term}'`);
    requirements.push({ field: match[1] ?? "", equal: match[2] !== "!=", value });
  }
  return { kind: "selector", selector: requirements };
}

/** Whether an object, whose selectable fields `fieldOf` gives, fulfils every condition. */
export const matchesFields = (
  selector: readonly FieldRequirement[],
  fieldOf: (field: string) => string | undefined,
): boolean =>
  selector.every(({ field, equal, value }) => ((fieldOf(field) ?? "") === value) === equal);
