// The longer form of hung-filesystem.it.ts: 100 starts before and during two minutes without an answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withBox } from "../box/box.ts";
import { BoxedAgent } from "../support/agent.ts";
import { playHungFilesystems } from "./hung-filesystem.ts";

const STARTS = Number(process.env["SOAK_STARTS"] ?? 100);

test(`${STARTS} pods start as usual while file systems hang`, (t) =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const figures = await playHungFilesystems(agent, { hangMs: 120_000, starts: STARTS });
    const { startsBeforeMs, startsDuringMs, longestAnswerMs } = figures;
    const [before, during] = [startsBeforeMs, startsDuringMs].map((times) => ({
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
    }));
    t.diagnostic(JSON.stringify({ before, during, longestAnswerMs }));
    assert.equal(startsDuringMs.length, STARTS);
  }));

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}
