// New inputs for every decoder, of which those that cover new code are changed further:
//   FUZZ_INPUTS  over all targets, 10 million unless given
//   FUZZ_SEED    another seed gives other inputs; the time unless given
//   FUZZ_ONLY    names of targets, with commas
//   FUZZ_KEEP=1  writes inputs that cover new code into the corpus
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { LIMIT_MS } from "./engine.ts";
import { runTargets, type TargetResult } from "./run.ts";
import { TARGETS } from "./targets.ts";
import { corpusFile, corpusOf } from "./worker.ts";

const {
  FUZZ_INPUTS = "10000000",
  FUZZ_SEED = String(Date.now() % 2 ** 32),
  FUZZ_ONLY = "",
  FUZZ_KEEP,
} = process.env;
/** Inputs of a target with a share of 1 in which coverage is counted, which takes up to five times as long. */
const GUIDED = 20_000;
/** Longer inputs do not go into the corpus: shorter ones cover the same sooner or later. */
const MAX_KEPT_LENGTH = 400;
/** Bytes that may be in use after the last target beyond what was after the first: what modules keep, not inputs. */
const MAX_GROWTH_BYTES = 48 * 2 ** 20;

const targets = TARGETS.filter(
  ({ name }) => FUZZ_ONLY === "" || FUZZ_ONLY.split(",").includes(name),
);
const shares = targets.reduce((sum, { share = 1 }) => sum + share, 0);

const isShort = ({ length }: string): boolean => length < MAX_KEPT_LENGTH;

function keep({ target, kept }: TargetResult): void {
  if (FUZZ_KEEP !== "1" || kept.length === 0) return;
  const all = [...new Set([...corpusOf(target), ...kept.filter(isShort)])];
  writeFileSync(corpusFile(target), all.map((input) => `${JSON.stringify(input)}\n`).join(""));
}

function shown({
  target,
  inputs,
  refused,
  seconds,
  slowestMs,
  covered,
  kept,
  heapBytes,
}: TargetResult) {
  const perSecond = Math.round(inputs / seconds);
  return `${target}: ${inputs} inputs, ${refused} refused, ${perSecond}/s, slowest ${slowestMs.toFixed(1)} ms, ${covered} characters covered by ${kept.length} inputs, heap ${Math.round(heapBytes / 2 ** 20)} MiB`;
}

test(`decoders refuse ${FUZZ_INPUTS} inputs of seed ${FUZZ_SEED}, or decode them`, async () => {
  const results: TargetResult[] = [];
  const take = (each: TargetResult) => {
    results.push(each);
    console.log(`# ${shown(each)}`);
    for (const { why, input } of each.finds)
      console.log(`# FIND ${why}\n# ${JSON.stringify(input)}`);
    keep(each);
  };
  const inputs = Math.ceil(Number(FUZZ_INPUTS) / shares);
  const names = targets.map(({ name }) => name);
  const seed = Number(FUZZ_SEED);
  await runTargets(names, { inputs: Math.min(GUIDED, inputs), seed, guided: true }, take);
  const guided = results.splice(0);
  const extra = Object.fromEntries(guided.map(({ target, kept }) => [target, kept]));
  await runTargets(names, { inputs, seed: seed + 1, guided: false, extra }, take);
  const total = results.reduce((sum, each) => sum + each.inputs, 0);
  const slowest = Math.max(...results.map(({ slowestMs }) => slowestMs));
  const growth = (results.at(-1)?.heapBytes ?? 0) - (results[0]?.heapBytes ?? 0);
  console.log(`# ${total} inputs, slowest ${slowest.toFixed(1)} ms, heap grown by ${growth} bytes`);
  const finds = [...guided, ...results].flatMap((each) => each.finds);
  assert.deepEqual(
    finds.map(({ target, why }) => `${target}: ${why}`),
    [],
  );
  assert.ok(total >= Number(FUZZ_INPUTS) * 0.99, `${total} inputs`);
  assert.ok(slowest < LIMIT_MS);
  assert.ok(growth < MAX_GROWTH_BYTES, `the heap grew by ${growth} bytes`);
});
