import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Budget, type FullAt, owedMs, reserve, spend } from "./token-budget.ts";

const budgets = fc.record({
  burst: fc.integer({ min: 1, max: 50 }),
  intervalMs: fc.integer({ min: 1, max: 1_000_000 }),
});
const arrivals = fc.array(fc.integer({ min: 0, max: 2_000_000 }), { maxLength: 200 });

test("spend: within any span there is never more than the budget, and never less than it allows", () => {
  fc.assert(
    fc.property(budgets, arrivals, (budget: Budget, gaps) => {
      let fullAt: FullAt;
      let at = 0;
      const granted: number[] = [];
      let tokens = budget.burst;
      for (const gap of gaps) {
        at += gap;
        tokens = Math.min(budget.burst, tokens + gap / budget.intervalMs);
        const left = owedMs(reserve(fullAt, at, budget), at, budget);
        const result = spend(fullAt, at, budget);
        ({ fullAt } = result);
        if (result.granted) granted.push(at);
        assert.equal(result.granted, left === 0);
        // The plain bucket of tokens says the same, but for rounding.
        if (Math.abs(tokens - 1) > 1e-6) assert.equal(result.granted, tokens >= 1);
        if (result.granted) tokens -= 1;
      }
      for (let i = 0; i < granted.length; i += 1)
        for (let j = i; j < granted.length; j += 1) {
          const span = (granted[j] as number) - (granted[i] as number);
          assert.ok(j - i + 1 <= budget.burst + span / budget.intervalMs + 1e-9);
        }
    }),
  );
});
