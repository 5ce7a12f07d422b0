// pure
/**
 * How modules are put together: what a module stands on is made before it, so nothing is set on it later, and no
 * module is handed a function of one above it. What modules report goes through news, what they know comes as facts.
 */

import { lineAt } from "./mask.ts";
import { isTestFile } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/** Where modules are put together. */
const COMPOSITION = /^src\/(?:agent\.ts$|assembly\/)/;
/** The list of the subsystems, and what assembles them. */
const SUBSYSTEMS = "src/subsystems/subsystems.ts";
const ASSEMBLED = "src/assembly/subsystems/subsystems.ts";
/** What stands above the subsystems; of these, clients of the API are made before them. */
const ABOVE = /^src\/(?:agent\.ts|pipeline\/|node\/|server\/)/;
const BEFORE_ALL: ReadonlySet<string> = new Set([
  "src/assembly/agent-options.ts",
  "src/assembly/clients.ts",
  "src/assembly/foundation.ts",
]);

/** What breaks the rules of wiring; `resolve` gives the file of the tree that an import means. */
export function checkWiring(
  sources: ReadonlyMap<string, SourceFile>,
  resolve: (from: string, specifier: string) => string | undefined,
): Violation[] {
  const modules = moduleTypes(sources);
  const assembled = new Set(
    (sources.get(ASSEMBLED)?.imports ?? []).map(({ specifier }) => resolve(ASSEMBLED, specifier)),
  );
  return [...sources.values()].flatMap((file) => {
    if (!file.path.startsWith("src/") || isTestFile(file.path)) return [];
    const found = [...lateNames(file), ...lateModules(file, modules)];
    if (isEntry(file.path)) found.push(...callbacks(file));
    if (!COMPOSITION.test(file.path)) return found;
    found.push(...mutations(file), ...forwardUses(file), ...verbs(file));
    if (!assembled.has(file.path) || BEFORE_ALL.has(file.path)) return found;
    const above = file.imports.filter(({ specifier }) =>
      ABOVE.test(resolve(file.path, specifier) ?? ""),
    );
    for (const { specifier, line } of above)
      found.push(broken(file, line, `a subsystem is assembled without ${specifier}`));
    return found;
  });
}

function broken({ path }: SourceFile, line: number, message: string): Violation {
  return { rule: "wiring", path, line, message };
}

function matches(
  file: SourceFile,
  code: string,
  pattern: RegExp,
  message: (found: RegExpMatchArray) => string,
): Violation[] {
  return [...code.matchAll(pattern)].map((found) =>
    broken(file, lineAt(code, found.index), message(found)),
  );
}

/** Types of the members of `Subsystems` and `Pipeline`, and these two. */
function moduleTypes(sources: ReadonlyMap<string, SourceFile>): ReadonlySet<string> {
  const names = new Set(["Subsystems", "Pipeline"]);
  const lists = [
    [SUBSYSTEMS, "Subsystems"],
    ["src/pipeline/pipeline.ts", "Pipeline"],
  ] as const;
  for (const [path, list] of lists) {
    const body = new RegExp(`\\binterface ${list} \\{([^}]*)\\}`).exec(
      sources.get(path)?.code ?? "",
    );
    for (const [, name = ""] of (body?.[1] ?? "").matchAll(/readonly \w+: ([A-Z]\w*);/g))
      names.add(name);
  }
  // What is known of pods is made before every module.
  names.delete("PodFacts");
  return names;
}

const LATE = /\b(?:class|interface|type)\s+(Late[A-Z]\w*)/g;

function lateNames(file: SourceFile): Violation[] {
  return matches(file, file.code, LATE, ([, name]) => `${name}: nothing is bound late`);
}

/** Functions that give a module, members and variables that hold one only later, methods that take one. */
function lateModules(file: SourceFile, modules: ReadonlySet<string>): Violation[] {
  const any = `(?:Pick<|Partial<|Omit<)?(${[...modules].join("|")})\\b`;
  const rules: readonly (readonly [RegExp, string])[] = [
    [
      new RegExp(`\\(\\)\\s*=>\\s*${any}(?!\\s*[.(])`, "g"),
      "is given as a function: make it first",
    ],
    [
      new RegExp(
        `\\b(?:let\\s+\\w+|(?<!readonly )#?\\w+\\??):\\s*${any}[^;,)=]*\\|\\s*undefined\\s*[;=]`,
        "g",
      ),
      "is there only later: make it first",
    ],
    [
      new RegExp(
        `^\\s+(?:set|attach|bind|connect|join|use)(?:[A-Z]\\w*)?\\([^)]*:\\s*${any}`,
        "gm",
      ),
      "is set on a module that is there: hand it to what makes the module",
    ],
  ];
  return rules.flatMap(([pattern, message]) =>
    matches(file, file.code, pattern, (found) => `${found[1]} ${message}`),
  );
}

/** The entry of a module, `src/subsystems/events/events.ts`. */
function isEntry(path: string): boolean {
  const [, folder, file] = /^src\/subsystems\/([^/]+)\/([^/]+)\.ts$/.exec(path) ?? [];
  return folder !== undefined && folder === file;
}

const CALLBACK = /\breadonly\s+(on[A-Z]\w*)\??\s*:\s*\(/g;

/** What a subsystem asks for at its entry; how its own files call one another is its own matter. */
function callbacks(file: SourceFile): Violation[] {
  return matches(
    file,
    file.code,
    CALLBACK,
    ([, name]) => `${name}: what a subsystem reports is news, or an event for users`,
  );
}

/** Nothing is made twice, and nothing is set on what was made. */
function mutations(file: SourceFile): Violation[] {
  const { runtime } = file;
  return [
    ...matches(file, runtime, /\b(?:let|var)\s+(\w*)/g, ([, name]) => `${name} can change`),
    ...matches(
      file,
      runtime,
      /[\w)\]]\s*\.\s*(#?\w+)\s*(?:[-+*/|&?]{0,2}=)(?![=>])/g,
      ([, name]) => `${name} is set on what is there`,
    ),
  ];
}

/** A constant that is named before it is made, in a function that runs later: what it is handed to can call too early. */
function forwardUses(file: SourceFile): Violation[] {
  const { runtime, functions } = file;
  const lines = runtime.split("\n");
  return [...runtime.matchAll(/\bconst\s+(\w+)\s*=/g)].flatMap((found) => {
    const [, name = ""] = found;
    const line = lineAt(runtime, found.index);
    const inside = functions
      .filter((shape) => shape.line <= line && line < shape.line + shape.lines)
      .toSorted((a, b) => a.lines - b.lines)[0];
    const use = new RegExp(`(?<![\\w$.])${name}(?![\\w$]|\\s*:)`);
    const before = lines.slice(inside ? inside.line : 0, line - 1);
    const own = initializer(runtime, found.index + found[0].length);
    const isUsed = inside !== undefined && before.some((text) => use.test(text));
    return isUsed || new RegExp(`=>[^]*(?<![\\w$.])${name}(?![\\w$]|\\s*:)`).test(own)
      ? [broken(file, line, `${name} is used before it is made`)]
      : [];
  });
}

/** The code from `start` to the semicolon that ends the statement. */
function initializer(code: string, start: number): string {
  let depth = 0;
  for (let at = start; at < code.length; at += 1) {
    const char = code[at] ?? "";
    if ("([{".includes(char)) depth += 1;
    if (")]}".includes(char)) depth -= 1;
    if (char === ";" && depth <= 0) return code.slice(start, at);
  }
  return code.slice(start);
}

/** One verb for all that is put together. */
function verbs(file: SourceFile): Violation[] {
  if (!file.path.startsWith("src/assembly/")) return [];
  return matches(
    file,
    file.code,
    /^export\s+(?:async\s+)?function\s+(?!assemble[A-Z])(\w+)/gm,
    ([, name]) => `${name}: what assembles a module is called assemble…`,
  );
}
