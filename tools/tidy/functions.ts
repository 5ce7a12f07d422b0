// pure
/** Where functions begin and end in code that is masked and without types. */
import { lineAt } from "./mask.ts";

/** Name of a function that has none. */
export const ANONYMOUS = "(anonymous)";

/** A function, method or arrow function with a body in braces. */
export interface FunctionShape {
  /** Its name, or `ANONYMOUS`. */
  readonly name: string;
  readonly line: number;
  /** From the line of its parameters to its closing brace. */
  readonly lines: number;
  readonly parameters: number;
}

const CONTROL = /^(?:if|for|while|switch|catch|with|await)$/;

/** The functions of code without types: every `{` that opens a body, recognized by what stands before it. */
export function functionsOf(code: string): FunctionShape[] {
  const found: FunctionShape[] = [];
  for (let brace = code.indexOf("{"); brace >= 0; brace = code.indexOf("{", brace + 1)) {
    const head = headBefore(code, brace);
    if (!head) continue;
    const end = closing(code, brace);
    found.push({
      name: head.name,
      line: lineAt(code, head.start),
      lines: lineAt(code, end) - lineAt(code, head.start) + 1,
      parameters: head.parameters,
    });
  }
  return found;
}

interface Head {
  readonly name: string;
  readonly start: number;
  readonly parameters: number;
}

function headBefore(code: string, brace: number): Head | undefined {
  let end = endOfCode(code, brace);
  const arrow = code.slice(end - 2, end) === "=>";
  if (arrow) end = endOfCode(code, end - 2);
  if (code[end - 1] !== ")") {
    if (!arrow) return undefined;
    const name = /[\w$]+$/.exec(code.slice(Math.max(0, end - 80), end));
    return { name: ANONYMOUS, start: end - (name?.[0].length ?? 0), parameters: 1 };
  }
  const open = opening(code, end - 1);
  const before = code.slice(Math.max(0, open - 120), open).trimEnd();
  const word = /[\w$#]+$/.exec(before)?.[0] ?? "";
  if (!arrow && CONTROL.test(word)) return undefined;
  const named = arrow ? /([\w$#]+)\s*[:=]\s*(?:async)?$/.exec(before)?.[1] : word;
  const name = named === undefined || named === "function" || named === "" ? ANONYMOUS : named;
  return { name, start: open, parameters: countParameters(code.slice(open + 1, end - 1)) };
}

/** Position after the last character before `position` that is no white space. */
function endOfCode(code: string, position: number): number {
  let end = position;
  while (end > 0 && /\s/.test(code[end - 1] ?? "")) end -= 1;
  return end;
}

function countParameters(list: string): number {
  let depth = 0;
  let count = 0;
  let empty = true;
  for (const char of list) {
    if ("([{".includes(char)) depth += 1;
    if (")]}".includes(char)) depth -= 1;
    if (char === "," && depth === 0) {
      count += 1;
      empty = true;
    } else if (char.trim() !== "") empty = false;
  }
  return empty ? count : count + 1;
}

function closing(code: string, open: number): number {
  let depth = 0;
  for (let i = open; i < code.length; i++) {
    if (code[i] === "{") depth += 1;
    if (code[i] === "}") depth -= 1;
    if (depth === 0) return i;
  }
  return code.length;
}

function opening(code: string, close: number): number {
  let depth = 0;
  for (let i = close; i >= 0; i--) {
    if (code[i] === ")") depth += 1;
    if (code[i] === "(") depth -= 1;
    if (depth === 0) return i;
  }
  return 0;
}
