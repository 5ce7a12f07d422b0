import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { runFile } from "./run-file.mjs";

const ROOT = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "light-tracking-"));
after(() => rmSync(folder, { recursive: true }));

/** Runs a file with these tests, one for each line after the first two; resolves with how many pass and what fails. */
async function outcome(...tests: string[]) {
  const path = join(folder, "t.test.ts");
  const preface = `import { describe, it, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
`;
  writeFileSync(path, preface + tests.join("\n"));
  const { passed, failures } = await runFile({ path: relative(ROOT, path), kind: "unit" });
  const failed = failures.map(({ name, error }) => `${name}: ${error.split("\n")[0]}`);
  return { passed, failed };
}

test("what fails is the test's own, whatever it waited for before", async () => {
  const found = await outcome(
    'test("a", async () => { setTimeout(() => { throw new Error("1"); }, 5); await sleep(50); });',
    'test("b", async () => { await sleep(1); void Promise.reject(new Error("2")); await sleep(50); });',
    'test("c", async () => { await sleep(1); void sleep(2).then(() => { throw new Error("3"); }); await sleep(50); });',
    'test("d", async () => { await sleep(1); await test("e", async () => { await sleep(1); throw new Error("4"); }); });',
    'describe("f", async () => { await sleep(1); it("g", () => { throw new Error("5"); }); it("h", () => {}); });',
    'test("i", () => sleep(5));',
  );
  assert.deepEqual(found, {
    passed: 2,
    failed: [
      "a (line 3): Error: 1",
      "b (line 4): Error: 2",
      "c (line 5): Error: 3",
      "d > e (line 6): Error: 4",
      "f > g (line 7): Error: 5",
    ],
  });
});

test("what a test leaves behind fails its file", async () => {
  const found = await outcome(
    'test("a", () => { setTimeout(() => { throw new Error("too late"); }, 5); });',
    'test("b", () => sleep(50));',
  );
  assert.equal(found.passed, 2);
  assert.match(
    found.failed.join(),
    /^the file: ended with code 1; Error: Test "a" at .*:3:1 generated .* the error "Error: too late"/,
  );
});
