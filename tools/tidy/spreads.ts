// pure
/** Lists spread into calls: each element is an argument on the stack, which is full from some 100,000 on. */

import { SPREAD_CALLS } from "./exceptions.ts";
import { lineAt } from "./mask.ts";
import { isTestFile } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/** What stands before the parenthesis of a call: a name, or something called. */
const CALLED = /(?<word>[\w$#]+)\s*(?:\?\.)?$|[)\]]\s*(?:\?\.)?$/;
const NO_CALL = /^(?:if|for|while|switch|catch|return|await|of|in|function|async|case|yield)$/;
/** What follows the parameters of a function. */
const BODY = /^\s*(?:=>|\{)/;
const PAIRS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Spreads among the arguments of a call, but for parameters that are handed on as they came. */
export function checkSpreads(file: SourceFile): Violation[] {
  if (!file.path.startsWith("src/") || isTestFile(file.path) || file.path in SPREAD_CALLS)
    return [];
  const spreads = spreadsInParentheses(file.runtime);
  const handedOn = new Set(spreads.filter(({ isCall }) => !isCall).map(({ name }) => name));
  return spreads
    .filter(({ isCall, name }) => isCall && !(name !== undefined && isShort(name, handedOn)))
    .map(({ at }): Violation => {
      const message =
        "a list is spread into a call; use appendAll, largest or smallest of kit/limits/lists.ts";
      return { rule: "spreads", path: file.path, line: lineAt(file.runtime, at), message };
    });
}

/** Parameters that came as arguments, and constants, stand in the program. */
function isShort(name: string, handedOn: ReadonlySet<string | undefined>): boolean {
  return handedOn.has(name) || /^[A-Z][A-Z0-9_]*$/.test(name);
}

interface Spread {
  readonly at: number;
  /** The whole of what is spread, where that is a name. */
  readonly name: string | undefined;
  readonly isCall: boolean;
}

function spreadsInParentheses(code: string): readonly Spread[] {
  const found: Spread[] = [];
  const open: number[] = [];
  for (let at = 0; at < code.length; at += 1) {
    const char = code[at] ?? "";
    if (char in PAIRS) open.push(at);
    else if (")]}".includes(char)) open.pop();
    else if (char === "." && code.startsWith("...", at)) {
      const outer = open.at(-1);
      if (outer !== undefined && code[outer] === "(") found.push(spreadAt(code, at, outer));
      at += 2;
    }
  }
  return found;
}

function spreadAt(code: string, at: number, open: number): Spread {
  const before = CALLED.exec(code.slice(Math.max(0, open - 120), open));
  const word = before?.groups?.["word"];
  const isCall =
    before !== null &&
    !(word !== undefined && NO_CALL.test(word)) &&
    !BODY.test(code.slice(closing(code, open) + 1));
  const name = /^\.\.\.\s*([\w$]+)\s*[,)]/.exec(code.slice(at, at + 120))?.[1];
  return { at, name, isCall };
}

function closing(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at += 1) {
    const char = code[at] ?? "";
    if (char in PAIRS) depth += 1;
    if (")]}".includes(char)) depth -= 1;
    if (depth === 0) return at;
  }
  return code.length;
}
