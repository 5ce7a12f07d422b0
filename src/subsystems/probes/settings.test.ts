import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  LEFTOVERS_ANNOTATION,
  PERIODS_ANNOTATION,
  parseProbeSettings,
  TIMEOUTS_ANNOTATION,
} from "./settings.ts";

const known = new Set(["web/readiness", "web/liveness"]);

test("parseProbeSettings reads times by container and kind", () => {
  const settings = parseProbeSettings(
    {
      [PERIODS_ANNOTATION]: "web/readiness=200ms, web/liveness = 1.5s,",
      [TIMEOUTS_ANNOTATION]: "web/readiness=0.1s",
      [LEFTOVERS_ANNOTATION]: "keep",
      other: "web/readiness=1ms",
    },
    known,
  );
  assert.deepEqual(settings, {
    periodsMs: new Map([
      ["web/readiness", 200],
      ["web/liveness", 1500],
    ]),
    timeoutsMs: new Map([["web/readiness", 100]]),
    endLeftovers: false,
    problems: [],
  });
});

test("parseProbeSettings reports invalid entries, and uses the rest", () => {
  const vectors: readonly (readonly [text: string, problem: string])[] = [
    ["readiness", '"readiness" is not like web/readiness=200ms'],
    ["web/readiness=200", '"web/readiness=200" is not like web/readiness=200ms'],
    ["web/readiness=-1s", '"web/readiness=-1s" is not like web/readiness=200ms'],
    ["web/startup=200ms", '"web/startup=200ms": the pod has no probe web/startup'],
    ["web/readiness=49ms", '"web/readiness=49ms" is less than 50ms'],
    ["web/readiness=3601s", '"web/readiness=3601s" is more than an hour'],
  ];
  for (const [text, problem] of vectors) {
    const { periodsMs, problems } = parseProbeSettings(
      { [PERIODS_ANNOTATION]: `${text},web/liveness=500ms` },
      known,
    );
    assert.deepEqual(problems, [`${PERIODS_ANNOTATION}: ${problem}`]);
    assert.deepEqual([...periodsMs], [["web/liveness", 500]]);
  }
  assert.deepEqual(parseProbeSettings({ [LEFTOVERS_ANNOTATION]: "maybe" }, known).problems, [
    `${LEFTOVERS_ANNOTATION}: "maybe" is neither "end" nor "keep"`,
  ]);
});

test("parseProbeSettings: whatever is written, times are within bounds and of probes there are", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const { periodsMs } = parseProbeSettings({ [PERIODS_ANNOTATION]: text }, known);
      for (const [key, ms] of periodsMs) assert.ok(known.has(key) && ms >= 50 && ms <= 3_600_000);
    }),
  );
});
