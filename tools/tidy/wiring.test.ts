// Each rule of wiring finds what is planted, and leaves alone what only looks like it.
import assert from "node:assert/strict";
import { join, normalize } from "node:path";
import { test } from "node:test";
import { readSource } from "./source.ts";
import { checkWiring } from "./wiring.ts";

const LISTS: Readonly<Record<string, string>> = {
  "src/subsystems/subsystems.ts": "export interface Subsystems {\n  readonly probes: Probes;\n}",
  "src/pipeline/pipeline.ts":
    "export interface Pipeline {\n  readonly pods: Pods;\n  readonly podFacts: PodFacts;\n}",
  "src/assembly/subsystems/subsystems.ts": 'import { assembleProbes } from "./probes.ts";',
};

/** What is wrong with a file among the lists of modules. */
function wrong(path: string, text: string): readonly string[] {
  const sources = new Map(
    Object.entries({ ...LISTS, [path]: text }).map(([at, code]) => [at, readSource(at, code)]),
  );
  const resolve = (from: string, specifier: string) =>
    specifier.startsWith(".") ? normalize(join(from, "..", specifier)) : undefined;
  return checkWiring(sources, resolve).map(({ line, message }) => `${line} ${message}`);
}

const ROWS: readonly (readonly [string, string, string | undefined])[] = [
  ["src/kit/a.ts", "interface LatePipeline {}", "LatePipeline: nothing is bound late"],
  ["src/kit/a.ts", "class LateNews {}", "LateNews: nothing is bound late"],
  ["src/kit/a.ts", "const lateMs = 1;", undefined],
  ["src/kit/a.ts", "const latest = 1; // class LatePods", undefined],
  [
    "src/node/a.ts",
    "function f(pods: () => Pods) {}",
    "Pods is given as a function: make it first",
  ],
  [
    "src/node/a.ts",
    'interface D { readonly pods: () => Pick<Pods, "get"> }',
    "Pods is given as a function: make it first",
  ],
  [
    "src/node/a.ts",
    "interface D { readonly pods: () => PodsView; ids: () => PodFacts }",
    undefined,
  ],
  ["src/node/a.ts", "const f = () => Pods.of(1);", undefined],
  ["src/node/a.ts", "let it: Pipeline | undefined;", "Pipeline is there only later: make it first"],
  [
    "src/node/a.ts",
    "class A {\n  #pods: Pods | undefined;\n}",
    "Pods is there only later: make it first",
  ],
  ["src/node/a.ts", "interface D { readonly pods: Pods | undefined; }", undefined],
  ["src/node/a.ts", "function f(pods: Pods | undefined) {}", undefined],
  [
    "src/node/a.ts",
    "class A {\n  setPods(pods: Pods): void {}\n}",
    "Pods is set on a module that is there: hand it to what makes the module",
  ],
  [
    "src/node/a.ts",
    "class A {\n  join(all: Pick<Pipeline, 'pods'>): void {}\n}",
    "Pipeline is set on a module that is there: hand it to what makes the module",
  ],
  ["src/node/a.ts", "class A {\n  start(pods: Pods): void {}\n}", undefined],
  [
    "src/subsystems/probes/probes.ts",
    "export interface ProbesDeps { readonly onVerdict: (verdict: string) => void; }",
    "onVerdict: what a subsystem reports is news, or an event for users",
  ],
  [
    "src/subsystems/probes/prober.ts",
    "export interface Shared { readonly onRead: (text: string) => void; }",
    undefined,
  ],
  ["src/agent.ts", "function f() {\n  let a = 1;\n  return a;\n}", "a can change"],
  ["src/assembly/a.ts", "box.current = pods;", "current is set on what is there"],
  ["src/assembly/a.ts", "const a = b.c === d.e ? f.g : (h) => h.i;", undefined],
  ["src/node/a.ts", "box.current = pods; let a = 1;", undefined],
  [
    "src/assembly/a.ts",
    "function f() {\n  const a = make({ b: () => b.c });\n  const b = other(a);\n}",
    "b is used before it is made",
  ],
  [
    "src/assembly/a.ts",
    "function f() {\n  const pods: Pods = new Pods({ list: () => pods.list() });\n}",
    "pods is used before it is made",
  ],
  [
    "src/assembly/a.ts",
    "function f({ b: old }) {\n  const a = make({ b: old.b });\n  const b = make({ b: (c) => c.b });\n}",
    undefined,
  ],
  [
    "src/assembly/a.ts",
    "export function startA() {}",
    "startA: what assembles a module is called assemble…",
  ],
  ["src/assembly/a.ts", "export async function assembleA() {}\nfunction inner() {}", undefined],
  [
    "src/assembly/subsystems/probes.ts",
    'import type { Pipeline } from "../../pipeline/pipeline.ts";',
    "a subsystem is assembled without ../../pipeline/pipeline.ts",
  ],
  [
    "src/assembly/subsystems/probes.ts",
    'import { Probes } from "../../subsystems/probes/probes.ts";',
    undefined,
  ],
  ["src/assembly/node.ts", 'import { Pipeline } from "../pipeline/pipeline.ts";', undefined],
  ["src/node/a.test.ts", "let it: Pipeline | undefined;", undefined],
];

for (const [path, text, expected] of ROWS)
  test(`wiring: ${expected ?? "nothing"} in ${path}: ${text}`, () => {
    const found = wrong(path, text).map((each) => each.replace(/^\d+ /, ""));
    assert.deepEqual(found, expected === undefined ? [] : [expected]);
  });
