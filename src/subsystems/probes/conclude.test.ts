import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ProbeKind, ProbeResult } from "../../api/probe-result.ts";
import { conclude, consider, type ProbeRules } from "./verdict.ts";
import { adopted, at, facts, rules } from "./verdict.vectors.ts";

/** Verdicts that are published for consecutive results. */
function publishedOf(
  given: ProbeRules,
  results: readonly ("success" | "failure")[],
): readonly (ProbeResult | undefined)[] {
  let state = adopted(given.kind);
  return results.map((result) => {
    const turn = conclude(given, state, result);
    state = turn.state;
    assert.ok(turn.publish.length <= 1);
    return turn.publish[0];
  });
}

const S = "success";
const F = "failure";

test("conclude: F F S F F F with a threshold of 3 fails at the sixth", () => {
  const verdicts = publishedOf(rules("liveness"), [F, F, S, F, F, F]);
  assert.deepEqual(verdicts, [undefined, undefined, undefined, undefined, undefined, F]);
});

test("conclude: readiness needs its successes in a row, too", () => {
  const verdicts = publishedOf(rules("readiness", { successThreshold: 2 }), [
    S,
    F,
    S,
    S,
    S,
    F,
    F,
    F,
  ]);
  assert.deepEqual(verdicts, [
    undefined,
    undefined,
    undefined,
    S,
    undefined,
    undefined,
    undefined,
    F,
  ]);
});

test("conclude: liveness and startup rest after their final word, readiness never", () => {
  const after = (kind: ProbeKind, result: "success" | "failure") =>
    conclude(rules(kind, { failureThreshold: 1 }), adopted(kind), result).state;
  assert.deepEqual(
    [after("liveness", F), after("startup", F), after("startup", S)].map(({ onHold, run }) => [
      onHold,
      run,
    ]),
    [
      [true, 0],
      [true, 0],
      [true, 0],
    ],
  );
  assert.deepEqual(
    [after("liveness", S), after("readiness", S), after("readiness", F)].map(({ onHold, run }) => [
      onHold,
      run,
    ]),
    [
      [false, 1],
      [false, 1],
      [false, 1],
    ],
  );
});

test("conclude: failures of a container say nothing of the one that replaced it", () => {
  let state = adopted("liveness");
  state = conclude(rules("liveness"), state, F).state;
  state = conclude(rules("liveness"), state, F).state;
  state = consider(rules("liveness"), state, facts({ containerId: "c2" }), at(1)).state;
  assert.deepEqual(conclude(rules("liveness"), state, F).publish, []);
});

const kinds = fc.constantFrom<ProbeKind>("liveness", "readiness", "startup");

test("conclude: a verdict is always the last so many results, and is published only when it changes", () => {
  fc.assert(
    fc.property(
      kinds,
      fc.array(fc.constantFrom<"success" | "failure">("success", "failure"), { maxLength: 40 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      (kind, results, failureThreshold, readinessSuccess) => {
        const successThreshold = kind === "readiness" ? readinessSuccess : 1;
        const given = rules(kind, { failureThreshold, successThreshold });
        let state = adopted(kind);
        let verdict = state.verdict;
        const seen: ProbeResult[] = [];
        for (const result of results) {
          if (state.onHold) break;
          seen.push(result);
          const turn = conclude(given, state, result);
          state = turn.state;
          const threshold = result === "failure" ? failureThreshold : successThreshold;
          const isDue =
            seen.length >= threshold && seen.slice(-threshold).every((r) => r === result);
          assert.deepEqual(turn.publish, isDue && verdict !== result ? [result] : []);
          verdict = turn.publish[0] ?? verdict;
          assert.equal(state.verdict, verdict);
        }
      },
    ),
  );
});
