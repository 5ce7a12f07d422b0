// pure
/** State of a module: it outlives who needs it, is shared by all tests of a process, and has no owner to ask for it. */

import { lineAt } from "./mask.ts";
import { isTestFile } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/** A constant at the beginning of a line that holds a collection, with its name. */
const COLLECTION =
  /^(?:export )?const ([\w$]+)(?:\s*:[^=]+)?\s*=\s*(?:new (?:Weak)?(?:Map|Set)\b|\[|\{)/gm;
const VARIABLE = /^(?:export )?(?:let|var) ([\w$]+)/gm;
const CHANGES = "set|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill";

/** Variables of a module, and collections of a module that its functions change. */
export function checkModuleState(file: SourceFile): Violation[] {
  if (!file.path.startsWith("src/") || isTestFile(file.path)) return [];
  const { runtime } = file;
  const at = (index: number, name: string): Violation => ({
    rule: "state",
    path: file.path,
    line: lineAt(runtime, index),
    message: `${name} is state of the module; put it into the object that owns it, or derive it by kit/derived-once.ts`,
  });
  const changed = [...runtime.matchAll(COLLECTION)].filter(([, name = ""]) =>
    changeOf(name.replaceAll("$", "\\$")).test(runtime),
  );
  return [...runtime.matchAll(VARIABLE), ...changed].map((match) =>
    at(match.index, match[1] ?? ""),
  );
}

/** A call that changes the collection, an assignment to a member, or the end of one. */
function changeOf(name: string): RegExp {
  return new RegExp(
    `(?<![.\\w$#])(?:${name}(?:\\??\\.(?:${CHANGES})\\(|(?:\\.\\w+|\\[[^\\]]*\\])\\s*(?:[-+*/|&?]{0,2}=(?!=)|\\+\\+|--))|delete ${name}[.[])`,
  );
}
