// Each rule finds what is planted, and leaves alone what only looks like it.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModuleRules } from "./module-rules.ts";
import { findViolations, type Tree } from "./tidy.ts";
import { formatViolation } from "./violation.ts";

const MODULE_RULES: ModuleRules = {
  modules: {
    "main.ts": ["agent.ts"],
    "agent.ts": ["subsystems", "pipeline", "outside", "api", "kit"],
    pipeline: ["subsystems", "api", "kit"],
    subsystems: ["outside", "api", "kit"],
    outside: ["api", "kit"],
    api: ["kit"],
    kit: [],
  },
  siblings: {
    about: "text",
    subsystems: {},
    pipeline: { "pipeline.ts": ["pods"], status: ["pods/record/record.ts"] },
  },
  entryPoints: ["subsystems/*", "pipeline/*", "outside/*"],
  furtherEntryPoints: { "outside/cri": ["connect-cri.ts"] },
  packages: { "@grpc/grpc-js": ["outside/grpc"], "js-yaml": ["api/text/yaml.ts"] },
  nodeModules: ["outside", "main.ts"],
};

const DOC = "/** Documented. */\n";

/** Violations of a tree that has the given files, as `path:line message`. Every src file counts as entry. */
function violations(files: Record<string, string>, change: Partial<Tree> = {}): string[] {
  const entries = Object.keys(files).filter((path) => path.startsWith("src/"));
  const tree: Tree = {
    files: new Map(Object.entries(files)),
    moduleRules: MODULE_RULES,
    dependencies: ["@grpc/grpc-js", "js-yaml", "p-queue"],
    imported: [],
    entries,
    machineWords: ["/machine/checkout"],
    ...change,
  };
  return findViolations(tree).map(formatViolation);
}

/** Adds empty files for everything that `from` imports, so that only the rule in question speaks. */
function importing(from: string, ...imports: readonly string[]): Record<string, string> {
  const files: Record<string, string> = { [from]: imports.join("\n") };
  for (const line of imports) {
    const specifier = /["'](\.[^"']*)["']/.exec(line)?.[1];
    if (specifier !== undefined)
      files[new URL(specifier, `file:///${from}`).pathname.slice(1)] = "";
  }
  return files;
}

test("modules: forbidden imports", () => {
  const table: readonly [string, string, string][] = [
    ["src/kit/a.ts", 'import { x } from "../api/x.ts";', "kit must not import api (api/x.ts)"],
    ["src/kit/a.ts", 'import type { X } from "../api/x.ts";', "kit must not import api (api/x.ts)"],
    ["src/kit/a.ts", 'export { x } from "../api/x.ts";', "kit must not import api (api/x.ts)"],
    ["src/kit/a.ts", 'export * from "../api/x.ts";', "kit must not import api (api/x.ts)"],
    ["src/kit/a.ts", 'import "../api/x.ts";', "kit must not import api (api/x.ts)"],
    ["src/kit/a.ts", 'await import("../api/x.ts");', "kit must not import api (api/x.ts)"],
    ["src/kit/a.ts", 'type X = import("../api/x.ts").X;', "kit must not import api (api/x.ts)"],
    ["src/api/a.ts", 'import { x } from "../main.ts";', "api must not import main.ts (main.ts)"],
    ["src/new/a.ts", 'import { x } from "../kit/x.ts";', "new is not a module of modules.json"],
    [
      "src/api/a.ts",
      'import { x } from "../../test/x.ts";',
      "test/x.ts is not part of the product",
    ],
    [
      "src/subsystems/a/a.ts",
      'import type { B } from "../b/b.ts";',
      "subsystems/a/a.ts must not import its sibling subsystems/b/b.ts",
    ],
    [
      "src/pipeline/pipeline.ts",
      'import { s } from "./status/status.ts";',
      "pipeline/pipeline.ts must not import its sibling pipeline/status/status.ts",
    ],
    [
      "src/pipeline/status/derive.ts",
      'import { s } from "../pods/actor.ts";',
      "pipeline/status/derive.ts must not import its sibling pipeline/pods/actor.ts",
    ],
    [
      "src/agent.ts",
      'import { x } from "./outside/cri/calls.ts";',
      "outside/cri/calls.ts is not an entry point of its module",
    ],
    [
      "src/subsystems/a/a.ts",
      'import { x } from "../../outside/net/tcp.ts";',
      "outside/net/tcp.ts is not an entry point of its module",
    ],
    ["src/api/a.ts", 'import { load } from "js-yaml";', "js-yaml only in api/text/yaml.ts"],
    [
      "src/outside/a.ts",
      'import x from "@grpc/grpc-js/x";',
      "@grpc/grpc-js/x only in outside/grpc",
    ],
    ["src/kit/a.ts", 'import { join } from "node:path";', "node:path only in outside, main.ts"],
  ];
  for (const [from, code, message] of table) {
    const entries = [from];
    assert.deepEqual(
      violations(importing(from, code), { entries }),
      [`${from}:1 ${message}`],
      code,
    );
  }
});

test("modules: allowed imports", () => {
  const table: readonly [string, string][] = [
    ["src/api/a.ts", 'import { x } from "../kit/x.ts";'],
    ["src/api/a.ts", 'import { x } from "./x.ts";'],
    ["src/subsystems/subsystems.ts", 'import { x } from "./a/a.ts";'],
    ["src/subsystems/a/a.ts", 'import { x } from "./deep/x.ts";'],
    ["src/pipeline/pipeline.ts", 'import { x } from "./pods/pods.ts";'],
    ["src/pipeline/status/derive.ts", 'import { x } from "../pods/record/record.ts";'],
    ["src/agent.ts", 'import { x } from "./outside/connect.ts";'],
    ["src/agent.ts", 'import { x } from "./outside/cri/connect-cri.ts";'],
    ["src/outside/a.ts", 'import { join } from "node:path";'],
    ["src/api/text/yaml.ts", 'import { load } from "js-yaml";'],
    ["src/kit/a.ts", 'import Queue from "p-queue";'],
    ["src/kit/a.test.ts", 'import test from "node:test"; import fc from "fast-check";'],
    [
      "src/outside/a.test.ts",
      'import { x } from "../../test/x.ts"; import { y } from "./cri/y.ts";',
    ],
    ["src/kit/a.ts", '// import { x } from "../api/x.ts";\n/* import "../api/x.ts" */'],
    ["src/kit/a.ts", 'const text = `import { x } from "../api/x.ts"`;'],
    ["test/a.ts", 'import { x } from "../src/outside/cri/calls.ts";'],
  ];
  for (const [from, code] of table) {
    const files = importing(from, code);
    assert.deepEqual(
      violations({ ...files, "test/x.ts": "", "src/outside/cri/y.ts": "" }),
      [],
      code,
    );
  }
});

test("files: imports of nothing and of undeclared packages", () => {
  const code = 'import { x } from "./gone.ts";\nimport y from "@scope/other/deep";';
  assert.deepEqual(violations({ "src/kit/a.ts": code }), [
    "src/kit/a.ts:1 ./gone.ts does not exist",
    "src/kit/a.ts:2 @scope/other is no dependency of package.json",
  ]);
});

test("files: what cannot be read as TypeScript", () => {
  const [found, ...others] = violations({ "src/kit/a.ts": "const = 1;", "src/kit/b.ts": "" });
  assert.match(found ?? "", /^src\/kit\/a\.ts cannot be read: /);
  assert.deepEqual(others, []);
});

test("pure: effects, time, chance and impure imports", () => {
  const table: readonly [string, string][] = [
    ["async function f() {}", "a pure file has no async"],
    ["const t = Date.now();", "a pure file has no Date.now"],
    ["const t = new Date();", "a pure file has no Date"],
    ["const r = Math.random();", "a pure file has no Math.random"],
    ["process.exit();", "a pure file has no process"],
    ["const t = performance.now();", "a pure file has no performance"],
    ["const t = () => setTimeout(f, 1);", "a pure file has no setTimeout"],
    ["const s = `$" + "{process.env}`;", "a pure file has no process"],
    ['import { join } from "node:path";', "a pure file imports no node:path"],
    ['import Queue from "p-queue";', "a pure file imports no p-queue"],
    ['import { x } from "./impure.ts";', "src/outside/impure.ts is not pure"],
    ['import { type X, y } from "./impure.ts";', "src/outside/impure.ts is not pure"],
  ];
  for (const [code, message] of table) {
    const files = { "src/outside/a.ts": `// pure\n${code}`, "src/outside/impure.ts": "" };
    assert.deepEqual(violations(files), [`src/outside/a.ts:2 ${message}`], code);
  }
});

test("pure: what only looks like an effect", () => {
  const lines = [
    'import type { X } from "./impure.ts";',
    'import { type Y, type Z } from "./impure.ts";',
    'import { p } from "./other.ts";',
    'import { e } from "../api/generated/api.ts";',
    "const at = new Date(0), then = Date.UTC(2020, 1), day = Date.parse(s);",
    "const words = 'async await process'; // await process",
    "const { process: first } = given; const second = { fetch: 1, async: 2 }; given.process();",
    "interface Clock { now(): Date }",
    "const pattern = /await process/;",
  ];
  const files = {
    "src/outside/a.ts": `// pure\n${lines.join("\n")}`,
    "src/outside/other.ts": "// pure\n",
    "src/outside/impure.ts": "",
    "src/api/generated/api.ts": "",
    "src/api/text/yaml.ts": '// pure\nimport { load } from "js-yaml";',
  };
  assert.deepEqual(violations(files), []);
});

const body = (lines: number) => `{\n${"f();\n".repeat(lines - 2)}}`;

test("size: files, functions and parameters", () => {
  const table: readonly [string, string, string][] = [
    ["src/kit/a.ts", "f();\n".repeat(401), "src/kit/a.ts has 401 lines, 400 are allowed"],
    ["src/kit/a.ts", `function f() ${body(61)}`, "src/kit/a.ts:1 f has 61 lines, 60 are allowed"],
    [
      "src/kit/a.ts",
      `class A {\n  #m(a: { b: string }): Promise<{ c: 1 }> ${body(61)}\n}`,
      "src/kit/a.ts:2 #m has 61 lines, 60 are allowed",
    ],
    [
      "src/kit/a.ts",
      `const f = async (a: number): Promise<void> => ${body(61)};`,
      "src/kit/a.ts:1 f has 61 lines, 60 are allowed",
    ],
    [
      "src/kit/a.ts",
      `f((x) => ${body(70)});`,
      "src/kit/a.ts:1 (anonymous) has 70 lines, 60 are allowed",
    ],
    [
      "src/kit/a.ts",
      "function f(a: [1, 2], b = { c: 1, d: 2 }, c: Map<1, 2>, d: () => void, e?: 1) {}",
      "src/kit/a.ts:1 f takes 5 parameters, 4 are allowed",
    ],
    [
      "src/kit/a.test.ts",
      `test("a", () => ${body(101)});`,
      "src/kit/a.test.ts:1 (anonymous) has 101 lines, 100 are allowed",
    ],
  ];
  for (const [path, code, message] of table)
    assert.deepEqual(violations({ [path]: code }), [message], code.slice(0, 60));
});

test("size: what is within the limits", () => {
  const suite = `describe("a", () => {\n${`it("b", () => ${body(50)});\n`.repeat(5)}});`;
  const files = {
    "src/kit/a.ts": "f();\n".repeat(400),
    "src/kit/b.ts": `function f(a: [1, 2], b = { c: 1, d: 2 }, c: Map<1, 2>, d: (e: 1, f: 2) => void,) ${body(60)}`,
    "src/kit/c.ts": `if (x) ${body(90)}\nfor (const a of b) ${body(90)}\nconst table = [\n${"1,\n".repeat(90)}];`,
    "src/kit/d.ts": `class A {\n${`m() ${body(50)}\n`.repeat(3)}}\nx.replace(y, (_, a, b, c, d) => { return a; });`,
    "src/kit/e.test.ts": suite,
    "src/kit/generated/f.ts": "f();\n".repeat(5000),
  };
  assert.deepEqual(violations(files), []);
});

test("files: packages that nothing imports", () => {
  const files = {
    "src/outside/grpc/a.ts": 'import { credentials } from "@grpc/grpc-js";',
    "src/kit/a.test.ts": 'import fc from "fast-check";',
  };
  assert.deepEqual(violations(files, { imported: ["@grpc/grpc-js", "fast-check", "left-pad"] }), [
    "package.json fast-check is imported by no file of src/",
    "package.json left-pad is imported by no file of src/",
  ]);
});

test("docs: exports without a docstring", () => {
  const code = [
    "export const a = 1;",
    "// a comment is no docstring",
    "export function b() {}",
    "/* nor is this */",
    "export interface C {}",
    `${DOC}export type D = 1;`,
    `${DOC}// biome-ignore lint: reason\nexport abstract class E {}`,
    `${DOC}export async function f(a: 1): void;\nexport async function f(a: 2): void;`,
    "export { a as g };",
    "const inside = 'export const h = 1';",
    `${DOC}`,
    "const between = 1;",
    "export class I {}",
  ].join("\n");
  assert.deepEqual(violations({ "src/kit/a.ts": code, "src/kit/a.test.ts": code }), [
    "src/kit/a.ts:1 a is exported without a docstring",
    "src/kit/a.ts:3 b is exported without a docstring",
    "src/kit/a.ts:5 C is exported without a docstring",
    "src/kit/a.ts:19 I is exported without a docstring",
  ]);
});

test("dead: files that only tests use, and circles that nobody enters", () => {
  const files = {
    "src/main.ts": 'import type { A } from "./agent.ts";',
    "src/agent.ts": 'const lazy = () => import("./kit/lazy.ts");',
    "src/kit/lazy.ts": "",
    "src/kit/tested.ts": "",
    "src/kit/tested.test.ts": 'import { t } from "./tested.ts";',
    "src/kit/one.ts": 'import { t } from "./two.ts";',
    "src/kit/two.ts": 'import { t } from "./one.ts";',
  };
  assert.deepEqual(violations(files, { entries: ["src/main.ts", "src/library.ts"] }), [
    "src/kit/tested.ts is used by nobody",
    "src/kit/one.ts is used by nobody",
    "src/kit/two.ts is used by nobody",
    "src/kit/two.ts:1 closes a circle of imports: src/kit/one.ts > src/kit/two.ts > src/kit/one.ts",
  ]);
});

test("words: this machine and open ends, in any file", () => {
  const open = ["TO", "DO"].join("");
  const replaced = ["earlier", "life"].join(" ");
  const files = {
    "README.md": `see /machine/checkout/src\nand x/machine/checkout and /machine/checkouts\n${open}`,
    "tools/a.sh": `# ${open}: later\n# ${open}S is another word`,
    "docs/a.md": `what an ${replaced} kept`,
    "docs/GLOSSARY.md": `not: ${replaced}`,
  };
  assert.deepEqual(violations(files), [
    "README.md:1 names something of this machine: /machine/checkout",
    `tools/a.sh:1 says ${open}`,
    `docs/a.md:1 says "${replaced}": see docs/GLOSSARY.md`,
  ]);
});

test("blocking: synchronous calls of the file system and of processes stand where a reason is given", () => {
  const moduleRules: ModuleRules = {
    ...MODULE_RULES,
    nodeModules: ["outside", "pipeline"],
    synchronous: { about: "text", "the kernel answers": ["outside/proc.ts"] },
  };
  const found = (path: string, text: string) => violations({ [path]: text }, { moduleRules });
  const table: readonly [string, string, readonly string[]][] = [
    ["src/outside/a.ts", 'import { readFileSync } from "node:fs";', ["readFileSync of node:fs"]],
    [
      "src/pipeline/b.ts",
      'import { execFile, execFileSync, spawnSync } from "node:child_process";',
      ["execFileSync of node:child_process", "spawnSync of node:child_process"],
    ],
    ["src/outside/a.ts", 'import fs from "node:fs";', ["the whole module of node:fs"]],
    ["src/outside/a.ts", 'import * as fs from "node:fs";', ["the whole module of node:fs"]],
    ["src/outside/proc.ts", 'import { readFileSync } from "node:fs";', []],
    ["src/outside/a.ts", 'import { readFile } from "node:fs/promises";', []],
    ["src/outside/a.ts", 'import type { Stats } from "node:fs";', []],
    ["src/outside/a.ts", 'import { createReadStream } from "node:fs";', []],
    ["src/outside/a.test.ts", 'import { readFileSync } from "node:fs";', []],
  ];
  for (const [path, text, expected] of table)
    assert.deepEqual(
      found(path, text),
      expected.map((what) => `${path}:1 ${what} blocks the thread for all pods`),
      `${path}: ${text}`,
    );
});

test("parallel: work on a list is started through the kit", () => {
  const moduleRules: ModuleRules = { ...MODULE_RULES, boundedParallel: ["pipeline", "kit"] };
  const table: readonly [string, string, boolean][] = [
    ["src/pipeline/a.ts", "await Promise.all(pods.map((pod) => read(pod)));", true],
    ["src/pipeline/a.ts", "await Promise.allSettled(\n  [...pods.values()].map(read),\n);", true],
    ["src/pipeline/a.ts", "await Promise.all(Array.from({ length: n }, work));", true],
    ["src/pipeline/a.ts", "await Promise.all([a(), b()]);", false],
    ["src/pipeline/a.ts", "await Promise.all(running); other.map(name);", false],
    ["src/pipeline/a.ts", "// Promise.all(pods.map(read))", false],
    ["src/kit/in-parallel.ts", "await Promise.all(items.map(work));", false],
    ["src/outside/a.ts", "await Promise.all(items.map(work));", false],
    ["src/pipeline/a.test.ts", "await Promise.all(items.map(work));", false],
  ];
  for (const [path, text, wrong] of table)
    assert.equal(
      violations({ [path]: text }, { moduleRules }).length,
      wrong ? 1 : 0,
      `${path}: ${text}`,
    );
});
