import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { batches, obstacleToSharing, simulationBatches } from "./batches.mjs";
import { runTogether } from "./run-file.mjs";

const TEST = 'import { test } from "node:test";\n';

/** What a test file contains beside its tests, the files it loads, and what keeps it from sharing a process. */
const ROWS: readonly (readonly [string, Readonly<Record<string, string>>, string | undefined])[] = [
  ['import assert from "node:assert/strict";', {}, undefined],
  ['import { readFileSync } from "node:fs";', {}, undefined],
  ['import { rmSync } from "node:fs";', {}, undefined],
  ['import { connect } from "node:net";', {}, undefined],
  ['import { spawn } from "node:child_process";', {}, undefined],
  ['import { register } from "node:module";', {}, "t.ts loads node:module"],
  ['import { load } from "js-yaml";', {}, undefined],
  ['import { trace } from "@opentelemetry/api";', {}, "t.ts loads @opentelemetry/api"],
  ['import { after } from "node:test";', {}, undefined],
  ['import { mock } from "node:test";', {}, "t.ts uses mock of node:test"],
  ['import type { Module } from "node:module";', {}, undefined],
  ["process.env.TZ = 'UTC';", {}, "t.ts uses process.env"],
  ['process.env["TZ"] = "UTC";', {}, "t.ts uses process.env"],
  ['process.env["TZ"] ??= "UTC";', {}, "t.ts uses process.env"],
  ['delete process.env["TZ"];', {}, "t.ts uses delete process.env"],
  ["Object.assign(process.env, others);", {}, "t.ts uses process.env"],
  ['const isSet = process.env["TZ"] === "UTC";', {}, undefined],
  ["process.exit(1);", {}, "t.ts uses process.exit"],
  ['import "./src/a.ts";', { "src/a.ts": "process.exit(1);" }, undefined],
  ['import "./src/a.ts";', { "src/a.ts": "process.umask(0);" }, "src/a.ts uses process.umask"],
  ["process.kill(child.pid);", {}, undefined],
  ["const { client } = process.connection;", {}, undefined],
  ['readdirSync("/proc/self/fd");', {}, 't.ts uses /proc/self/fd"'],
  ["readdirSync(`/proc/self/fd/12`);", {}, undefined],
  ["// process.env is left alone", {}, undefined],
  [
    'import { stop } from "./own-process.ts";',
    { "own-process.ts": "this.#process.kill();" },
    undefined,
  ],
  ['const text = `it comes from "elsewhere"`;', {}, undefined],
  ["await import(name);", {}, "t.ts loads what its text does not name"],
  ["throw new globalThis.Error();", {}, undefined],
  ["globalThis.fetch = fake;", {}, "t.ts uses globalThis"],
  ['import "./a.ts";', { "a.ts": 'import "./b.ts";', "b.ts": "fetch(url);" }, "b.ts uses fetch("],
  ['import "./a.ts";', { "a.ts": TEST }, "a.ts adds tests to the file"],
  [
    'import type { A } from "./a.ts";',
    { "a.ts": 'import { register } from "node:module";' },
    undefined,
  ],
];

for (const [line, others, expected] of ROWS)
  test(`obstacleToSharing: ${[line, ...Object.values(others)].join(" ").trim()}`, () => {
    const sources: Readonly<Record<string, string>> = { ...others, "t.ts": `${TEST}${line}` };
    assert.equal(
      obstacleToSharing("t.ts", (path) => sources[path] ?? ""),
      expected,
    );
  });

test("batches: unit tests without an obstacle share processes, all others have their own", () => {
  const plain = Array.from({ length: 50 }, (_, i) => ({
    path: `plain-${i}.test.ts`,
    kind: "unit",
  }));
  const own = { path: "own.test.ts", kind: "unit" };
  const tidy = { path: "tools/tidy.test.ts", kind: "tidy" };
  const groups = batches([tidy, own, ...plain], (path) =>
    path === own.path ? 'import "node:module";' : TEST,
  );
  assert.deepEqual(
    groups.map((group) => group.length),
    [1, 1, 25, 25],
  );
  assert.deepEqual(groups.slice(0, 2), [[tidy], [own]]);
  assert.deepEqual(new Set(groups.flat()), new Set([tidy, own, ...plain]));
});

test("simulationBatches: files of the simulation are dealt to a process for each core", () => {
  const file = (path: string, kind: string) => ({ path, kind });
  const [a, b, c] = [file("a.test.ts", "sim"), file("b.test.ts", "sim"), file("c.test.ts", "sim")];
  const bite = file("bite.test.ts", "histories");
  assert.deepEqual(simulationBatches([bite, a, b, c], 2), [[bite], [a, c], [b]]);
  assert.deepEqual(simulationBatches([a], 2), [[a]]);
  assert.deepEqual(simulationBatches([], 2), []);
});

const ROOT = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "nodelet-batches-"));
after(() => rmSync(folder, { recursive: true }));

async function results(...bodies: string[]) {
  const files = bodies.map((body, i) => {
    const path = join(folder, `${i}.test.ts`);
    writeFileSync(path, `${TEST}${body}`);
    return { path: relative(ROOT, path), kind: "unit" };
  });
  return (await runTogether(files)).map(({ passed, skips, failures }) => ({
    passed,
    skipped: skips.length,
    failures: failures.map(({ name, error }) => `${name}: ${error.split("\n")[0]}`),
  }));
}

const PASSES = { passed: 1, skipped: 0, failures: [] };

test("runTogether: each test counts for its own file", async () => {
  const found = await results(
    'test("a", () => {});',
    'test("b", () => { throw new Error("no"); });\ntest("c", () => {});',
    'test("d", { skip: "not here" }, () => {});',
  );
  assert.deepEqual(found, [
    PASSES,
    { passed: 1, skipped: 0, failures: ["b (line 2): Error: no"] },
    { passed: 0, skipped: 1, failures: [] },
  ]);
});

test("runTogether: hooks of a file hold for its own tests", async () => {
  const found = await results(
    'import { afterEach } from "node:test";\ntest("a", () => {});\nafterEach(() => { throw new Error("no"); });',
    'test("b", () => {});',
  );
  assert.deepEqual(found, [{ passed: 0, skipped: 0, failures: ["a (line 3): Error: no"] }, PASSES]);
});

test("runTogether: a test may wait for what does not keep the process running", async () => {
  const wait = 'test("a", () => new Promise((done) => setTimeout(done, 10).unref()));';
  assert.deepEqual(await results(wait, wait), [PASSES, PASSES]);
});

const FAULTS: readonly (readonly [string, string, string])[] = [
  ["does not load", 'import "./missing.ts";', "the file: ended with code 1"],
  ["ends the process", 'test("x", () => process.exit(3));', "the file: ended with code 3"],
  ["has no test", "", "the file: has no test"],
];

for (const [how, body, failure] of FAULTS)
  test(`runTogether: a file that ${how} is named, the others count as they are`, async () => {
    const found = await results('test("a", () => {});', body, 'test("b", () => {});');
    assert.deepEqual(found, [PASSES, { passed: 0, skipped: 0, failures: [failure] }, PASSES]);
  });

test("runTogether: files that fail together only are a failure", async () => {
  const once = `globalThis.marked ??= 0;
test("x", () => { if (++globalThis.marked > 1) process.exit(4); });`;
  const [first, second] = await results(once, once);
  assert.deepEqual(second, PASSES);
  assert.match(first?.failures[0] ?? "", /^files in one process: ended with code 4, but each ends/);
});

test("runTogether: what a test leaves behind in a shared process is reported", async () => {
  const late = `test("a", () => { if (process.argv.length > 3) setTimeout(() => { throw new Error("too late"); }, 5); });
test("b", () => new Promise((done) => setTimeout(done, 50)));`;
  const [first] = await results(late, 'test("c", () => {});');
  assert.match(
    first?.failures[0] ?? "",
    /^files in one process: ended with code 1; .* the error "Error: too late".*, but each ends alone: /,
  );
});

test("runTogether: why a file as a whole fails in a shared process only is reported", async () => {
  const hook = `import { after } from "node:test";
after(() => { if (process.argv.length > 3) throw new Error("still there"); });
test("a", () => {});`;
  const [first] = await results(hook, 'test("c", () => {});');
  assert.match(
    first?.failures[0] ?? "",
    /^files in one process: ended with code 1; .*0\.test\.ts: .*still there/,
  );
});
