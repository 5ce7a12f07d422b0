// Every decoder that outsiders feed, with inputs that are almost right: what it cannot use it refuses with an error of
// its own, in bounded time and memory, and nothing else comes of it. The inputs are the same in every run; `npm run soak`
// makes new ones (fuzz.soak.ts).
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fuzz, runOnce } from "./engine.ts";
import { FINDS } from "./finds.ts";
import { runTargets, type TargetResult } from "./run.ts";
import { textTarget } from "./target.ts";
import { TARGETS } from "./targets.ts";

/** Inputs of a target of share 1: all targets together take some seconds. */
const INPUTS = 250;
const names = TARGETS.map(({ name }) => name);

test("every decoder refuses broken input with an error of its own", async (t) => {
  const results: TargetResult[] = [];
  await runTargets(names, { inputs: INPUTS, seed: 1, guided: false }, (each) => results.push(each));
  assert.deepEqual(results.map(({ target }) => target).sort(), names.toSorted());
  for (const { target, finds } of results)
    await t.test(target, () => assert.deepEqual(finds.slice(0, 1), []));
});

for (const { target: name, input, was } of FINDS)
  test(`${name}: ${was}`, () => {
    const target = TARGETS.find((each) => each.name === name);
    assert.ok(target, `there is no target ${name}`);
    runOnce(target, typeof input === "string" ? input : input());
  });

test("names of targets are unique, and each file of the corpus is one's", () => {
  assert.equal(new Set(names).size, names.length);
  for (const file of readdirSync(join(import.meta.dirname, "corpus")))
    assert.ok(names.includes(file.replace(/\.txt$/, "")), file);
});

/** Decoders that do what they must not do, and what is reported of it. */
const FAULTY: Readonly<Record<string, readonly [run: (text: string) => void, why: RegExp]>> = {
  "throws an error of the language": [(text) => void (text as never as Wrong).a.b, /TypeError/],
  "exhausts the stack": [() => recurse(0), /RangeError/],
  "pollutes all objects": [
    () => Object.assign(Object.prototype, { polluted: true }),
    /Object\.prototype has polluted/,
  ],
  "says nothing": [() => fail(""), /a message of 0 characters/],
  "quotes an object": [() => fail(`${{}} is wrong`), /the message is/],
  "takes long": [() => waitFor(1_100), /took \d+ ms/],
};

interface Wrong {
  readonly a: { readonly b: unknown };
}

class Refusal extends Error {}

function fail(message: string): never {
  throw new Refusal(message);
}

const recurse = (depth: number): number => recurse(depth + 1) + 1;

function waitFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

for (const [what, [run, why]] of Object.entries(FAULTY))
  test(`fuzz finds a decoder that ${what}`, () => {
    const target = textTarget({ name: "x", files: [], seeds: ["a"], refuses: [Refusal], run });
    const { finds } = fuzz(target, [], { inputs: 1, seed: 1 });
    assert.equal(finds.length, 1);
    assert.match(finds[0]?.why ?? "", why);
  });

test("inputs that cover code no earlier one did are kept", async () => {
  const results: TargetResult[] = [];
  const options = { inputs: 500, seed: 1, guided: true };
  await runTargets(["quantity"], options, (each) => results.push(each));
  const [{ kept = [], covered = 0 } = {}] = results;
  assert.ok(kept.length > 0 && covered > kept.length, `${kept.length} kept, ${covered} covered`);
});
