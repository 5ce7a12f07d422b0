import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, type MonotonicMs, sleepWith, type WallMs } from "../clock.ts";
import { type Log, silentLog } from "../log.ts";
import { MetricsRegistry } from "../metrics.ts";
import { ageCheck, type HealthCheck, HealthRegistry } from "./health.ts";
import { type CheckState, INITIAL_STATE, nextState } from "./judge-health.ts";

/** `-` a measurement without a problem, `x` one with; the states after each as `p` and `F`. */
const ROWS: readonly (readonly [name: string, measured: string, states: string])[] = [
  ["all is well", "----", "pppp"],
  ["one problem alone does not count", "-x-x-x", "pppppp"],
  ["two in a row do", "xx", "pF"],
  ["it takes three to be believed again", "xx---", "pFFFp"],
  ["what goes to and fro keeps failing", "xx--x--x---", "pFFFFFFFFFp"],
];

for (const [name, measured, states] of ROWS)
  test(`nextState: ${name}`, () => {
    let state: CheckState = INITIAL_STATE;
    let reported = "";
    for (const [i, mark] of [...measured].entries()) {
      state = nextState(state, mark === "x" ? "it is broken" : undefined, i as MonotonicMs);
      reported += state.kind === "failing" ? "F" : "p";
    }
    assert.equal(reported, states);
  });

class HandClock implements Clock {
  nowMs = 0;
  monotonic = () => this.nowMs as MonotonicMs;
  wall = () => this.nowMs as WallMs;
  alarm = () => () => {};
  sleep = (ms: number, signal: AbortSignal) => sleepWith(this, ms, signal);
  coalesced = { alarm: this.alarm, sleep: this.sleep, delayMs: (ms: number) => ms };
}

function aRegistry() {
  const clock = new HandClock();
  const reported: string[] = [];
  const say = (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
    reported.push(`${message}: ${fields["check"]}`);
  const log: Log = { ...silentLog, warn: say, info: say };
  const metrics = new MetricsRegistry();
  const registry = new HealthRegistry({ clock, log, metrics });
  const sample = (times: number) => {
    for (let i = 0; i < times; i += 1) {
      clock.nowMs += 10_000;
      registry.sample();
    }
  };
  return { clock, reported, metrics, registry, sample };
}

test("HealthRegistry reports a problem once when it begins and once when it ends", () => {
  const { reported, metrics, registry, sample } = aRegistry();
  let problem: string | undefined;
  registry.add({ name: "disk", severity: "warning", measure: () => ({ lagMs: 1500, problem }) });
  let changes = 0;
  registry.problems.subscribe(() => {
    changes += 1;
  });
  sample(3);
  problem = "it is slow";
  sample(10);
  assert.deepEqual(registry.problems.get(), [
    { name: "disk", severity: "warning", problem: "it is slow", notReadyAt: undefined },
  ]);
  assert.match(metrics.expose(), /^nodelet_health_check_failing\{check="disk"\} 1$/m);
  assert.match(metrics.expose(), /^nodelet_health_lag_seconds\{check="disk"\} 1.5$/m);
  problem = undefined;
  sample(10);
  assert.deepEqual(reported, ["health check fails: disk", "health check recovered: disk"]);
  assert.equal(changes, 2);
  assert.deepEqual(registry.list(), [{ name: "disk", severity: "warning", problem: undefined }]);
});

test("HealthRegistry: a check that throws is a problem, and harms no other", () => {
  const { registry, sample } = aRegistry();
  const bad = () => {
    throw new Error("no such file");
  };
  registry.add({ name: "bad", severity: "warning", measure: bad });
  registry.add({
    name: "good",
    severity: "warning",
    measure: () => ({ lagMs: 1, problem: "late" }),
  });
  sample(2);
  assert.deepEqual(
    registry.list().map(({ problem }) => problem),
    ["it cannot be measured: no such file", "late"],
  );
});

test("HealthRegistry refuses a second check of a name", () => {
  const { registry } = aRegistry();
  const check: HealthCheck = {
    name: "a",
    severity: "warning",
    measure: () => ({ lagMs: undefined, problem: undefined }),
  };
  registry.add(check);
  assert.throws(() => registry.add(check), /registered twice/);
});

test("ageCheck fails beyond its limit, with a stable message, and when the node is not Ready", () => {
  const { clock, registry, sample } = aRegistry();
  let since: MonotonicMs | undefined;
  registry.add(
    ageCheck({
      name: "lease",
      severity: "warning",
      clock,
      limitMs: 40_000,
      notReadyAfterMs: 180_000,
      since: () => since,
      missing: "the lease has not been renewed",
    }),
  );
  sample(10);
  assert.deepEqual(registry.problems.get(), [], "what has not begun has no age");
  since = clock.monotonic();
  sample(5);
  assert.deepEqual(registry.problems.get(), [], "one measurement beyond the limit");
  sample(1);
  const began = clock.nowMs;
  const [problem] = registry.problems.get();
  assert.equal(problem?.problem, "the lease has not been renewed for more than 40s");
  assert.equal(problem?.notReadyAt, began + 180_000);
  sample(5);
  assert.equal(registry.problems.get()[0], problem, "nothing new is reported while it lasts");
});
