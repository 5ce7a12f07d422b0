import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CoreEvent } from "../../api/generated/types.ts";
import { patchOf } from "./correlate.ts";
import { type Correlation, Correlator, type EventMoment } from "./correlator.ts";
import { spamKey, spamKeyByReason } from "./event-keys.ts";
import { makeEvent } from "./make-event.ts";
import { type CorrelatorOptions, correlatorRules, type EventMode } from "./policy.ts";

const SECOND = 1000;
const BEGIN = Date.UTC(2026, 0, 1);

interface Recorded {
  readonly atSeconds?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly type?: "Normal" | "Warning";
  readonly pod?: string;
  readonly fieldPath?: string;
}

/** A correlator with a clock of its own; `say` passes it an event and returns the outcome. */
function story(options: CorrelatorOptions = {}, mode: EventMode = "Reference") {
  const correlator = new Correlator(correlatorRules(options, mode));
  let made = 0;
  const nanos = () => {
    made += 1;
    return made.toString(16);
  };
  const eventOf = ({ atSeconds = 0, pod = "web", fieldPath, ...recorded }: Recorded): CoreEvent => {
    const { message = "text", reason = "FailedMount", type = "Warning" } = recorded;
    const about = { kind: "Pod", apiVersion: "v1", name: pod, namespace: "ns", uid: `uid-${pod}` };
    return makeEvent(
      fieldPath === undefined ? about : { ...about, fieldPath },
      { type, reason, message },
      { component: "kubelet", host: "n1" },
      { time: timeAt(atSeconds), nanosHex: nanos(), uuid: () => "uuid" },
    );
  };
  const momentAt = (seconds: number): EventMoment => ({
    at: seconds * SECOND,
    time: () => timeAt(seconds),
    nanosHex: nanos,
  });
  return {
    correlator,
    record: (recorded: Recorded): Correlation =>
      correlator.correlate(eventOf(recorded), momentAt(recorded.atSeconds ?? 0)),
  };
}

function timeAt(seconds: number): string {
  return `${new Date(BEGIN + seconds * SECOND).toISOString().slice(0, 19)}Z`;
}

/** `POST`, `PATCH <count>` or `-`, as the sink would write it. */
function written({ event, patch, filtered }: Correlation): string {
  if (filtered) return "-";
  return patch ? `PATCH ${patch.count}` : `POST ${event.message} ${event.count}`;
}

test("V1: the same event three times is one with a count", () => {
  const { record } = story();
  const [first, second, third] = [0, 5, 9].map((atSeconds) => record({ atSeconds }));
  assert.ok(first && second && third);
  assert.equal(written(first), "POST text 1");
  assert.deepEqual(second.patch, { count: 2, lastTimestamp: timeAt(5), message: "text" });
  assert.deepEqual(third.patch, { count: 3, lastTimestamp: timeAt(9), message: "text" });
  for (const { event } of [second, third]) {
    assert.equal(event.metadata.name, first.event.metadata.name);
    assert.equal(event.firstTimestamp, timeAt(0));
  }
});

test("V2: from the tenth different message on, similar events are one", () => {
  const { record } = story();
  const all = Array.from({ length: 12 }, (_, i) => record({ atSeconds: i, message: `m${i + 1}` }));
  const texts = all.map(written);
  const single = Array.from({ length: 9 }, (_, i) => `POST m${i + 1} 1`);
  const combined = "POST (combined from similar events): m10 1";
  assert.deepEqual(texts, [...single, combined, "PATCH 2", "PATCH 3"]);
  const [tenth, eleventh, twelfth] = all.slice(9);
  assert.equal(tenth?.combined, true);
  assert.equal(eleventh?.patch?.message, "(combined from similar events): m11");
  assert.equal(twelfth?.event.metadata.name, tenth?.event.metadata.name);
  assert.match(tenth?.event.metadata.name ?? "", /^web\.[0-9a-f]+$/);
  assert.equal(tenth?.event.firstTimestamp, timeAt(9));
  // Reporting fields stay behind, as in the Go kubelet.
  assert.equal(tenth?.event.reportingComponent, undefined);
});

test("V3: nine different messages and the first of them again stay single", () => {
  const { record } = story();
  const all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1].map((i) => record({ message: `m${i}` }));
  assert.equal(written(all.at(-1) as Correlation), "PATCH 2");
  assert.equal(all.at(-1)?.event.metadata.name, all[0]?.event.metadata.name);
});

test("V4: 25 warnings about a pod at once, then one more in 300 seconds", () => {
  const { record } = story();
  const at = (atSeconds: number, i: number) =>
    written(record({ atSeconds, reason: `Reason${i}`, message: "m" }));
  const burst = Array.from({ length: 26 }, (_, i) => at(0, i));
  assert.deepEqual(burst, [...Array(25).fill("POST m 1"), "-"]);
  assert.deepEqual([at(299, 30), at(300, 31), at(300, 32)], ["-", "POST m 1", "-"]);
  // Normal events have a budget of their own, and so has every other pod.
  assert.equal(written(record({ type: "Normal", atSeconds: 300 })), "POST text 1");
  assert.equal(written(record({ pod: "db", atSeconds: 300 })), "POST text 1");
});

test("V5: an event that was filtered first counts on", () => {
  const { record } = story();
  for (let i = 0; i < 25; i += 1) record({ reason: `R${i}` });
  assert.equal(written(record({ reason: "Late" })), "-");
  const again = record({ reason: "Late", atSeconds: 300 });
  assert.equal(written(again), "PATCH 2");
  assert.equal(again.event.count, 2);
});

test("V6: similar events are forgotten when none came for ten minutes", () => {
  const tenthAfter = (pause: number) => {
    const { record } = story();
    for (let i = 1; i <= 9; i += 1) record({ message: `m${i}` });
    return written(record({ message: "m10", atSeconds: pause }));
  };
  assert.equal(tenthAfter(601), "POST m10 1");
  assert.equal(tenthAfter(600), "POST (combined from similar events): m10 1");
  // The window starts over with every similar event.
  const { record } = story();
  for (let i = 1; i <= 9; i += 1) record({ message: `m${i}`, atSeconds: i * 599 });
  const tenth = record({ message: "m10", atSeconds: 10 * 599 });
  assert.equal(tenth.combined, true);
});

test("correlate: what makes events equal, similar, or of one budget", () => {
  const { record } = story();
  const names = new Set([
    record({}).event.metadata.name,
    record({ fieldPath: "spec.containers{a}" }).event.metadata.name,
    record({ fieldPath: "spec.containers{b}" }).event.metadata.name,
    record({ type: "Normal" }).event.metadata.name,
    record({ reason: "Other" }).event.metadata.name,
    record({ pod: "db" }).event.metadata.name,
  ]);
  assert.equal(names.size, 6);
  // The field path is ignored when similar events are combined.
  const other = story();
  const many = Array.from({ length: 10 }, (_, i) =>
    other.record({ message: `m${i}`, fieldPath: `spec.containers{c${i}}` }),
  );
  assert.equal(many.at(-1)?.combined, true);
});

test("correlate: names that flow together are not one object", () => {
  const correlator = new Correlator(correlatorRules({}, "Reference"));
  const now: EventMoment = { at: 0, time: () => timeAt(0), nanosHex: () => "1" };
  const about = (namespace: string, name: string) =>
    makeEvent(
      { kind: "Pod", apiVersion: "v1", namespace, name },
      { type: "Normal", reason: "R", message: "m" },
      { component: "kubelet", host: "n1" },
      { time: timeAt(0), nanosHex: "1", uuid: () => "uuid" },
    );
  assert.equal(correlator.correlate(about("ab", "c"), now).event.count, 1);
  assert.equal(correlator.correlate(about("a", "bc"), now).event.count, 1);
});

test("correlate: a long message is not kept, and still distinguished", () => {
  const { record } = story();
  const long = "x".repeat(10_000);
  assert.equal(written(record({ message: `${long}a` })).startsWith("POST"), true);
  assert.equal(written(record({ message: `${long}b` })).startsWith("POST"), true);
  assert.equal(written(record({ message: `${long}a` })), "PATCH 2");
});

test("correlator options: each one takes effect, zero is the default", () => {
  const limited = story({ spamBurst: 2, spamQps: 1 });
  const [a, b, c] = ["a", "b", "c"].map((reason) => written(limited.record({ reason })));
  assert.deepEqual([a, b, c], ["POST text 1", "POST text 1", "-"]);
  assert.equal(written(limited.record({ reason: "d", atSeconds: 1 })), "POST text 1");

  const similar = story({
    similarLimit: 2,
    similarIntervalSeconds: 5,
    similarMessage: ({ message }) => `many: ${message}`,
  });
  similar.record({ message: "m1" });
  assert.equal(written(similar.record({ message: "m2" })), "POST many: m2 1");
  assert.equal(written(similar.record({ message: "m3", atSeconds: 6 })), "POST m3 1");

  const keyed = story({
    similarKey: (event) => ({
      key: event.reason ?? "",
      differsBy: event.involvedObject.name ?? "",
    }),
    similarLimit: 2,
  });
  keyed.record({ pod: "a" });
  assert.equal(keyed.record({ pod: "b" }).combined, true);

  const shared = story({ spamKey: () => "all", spamBurst: 1 });
  shared.record({ pod: "a" });
  assert.equal(shared.record({ pod: "b" }).filtered, true);

  const filter = story({ filter: ({ reason }) => reason === "Noise" });
  assert.equal(filter.record({ reason: "Noise" }).filtered, true);
  assert.equal(
    Array.from({ length: 50 }, () => filter.record({})).some((c) => c.filtered),
    false,
  );

  const zero = story({ cacheSize: 0, spamBurst: 0, spamQps: 0, similarLimit: 0 });
  const results = Array.from({ length: 26 }, (_, i) => zero.record({ reason: `R${i}` }).filtered);
  assert.equal(results.indexOf(true), 25);

  const small = story({ cacheSize: 2 });
  small.record({ pod: "a" });
  small.record({ pod: "b" });
  small.record({ pod: "c" });
  assert.equal(small.record({ pod: "a" }).event.count, 1, "the oldest entry is forgotten");
});

test("update: name, count and version are those of the API server", () => {
  const { correlator, record } = story();
  const { event } = record({});
  correlator.update({ ...event, count: 7, metadata: { ...event.metadata, resourceVersion: "42" } });
  const next = record({});
  assert.equal(next.event.count, 8);
  assert.equal(next.event.metadata.resourceVersion, "42");
});

test("patchOf: a patch has count and time always, a message when there is one", () => {
  const { event } = story().record({});
  assert.equal(
    JSON.stringify(patchOf({ ...event, count: 2 })),
    `{"count":2,"lastTimestamp":"${timeAt(0)}","message":"text"}`,
  );
  assert.deepEqual(Object.keys(patchOf({ ...event, message: "" })), ["count", "lastTimestamp"]);
});

test("Protected: frequent events take nothing from rare ones", () => {
  const { record } = story({}, "Protected");
  for (let i = 0; i < 200; i += 1) record({ reason: "BackOff", type: "Normal" });
  for (const reason of ["Pulled", "Created", "Started", "Killing"])
    assert.equal(record({ reason, type: "Normal" }).filtered, false, reason);
  assert.equal(record({ reason: "BackOff", type: "Normal" }).filtered, true);
  assert.equal(record({ reason: "FailedMount" }).filtered, false);
  // The Go kubelet drowns them.
  const reference = story();
  for (let i = 0; i < 25; i += 1) reference.record({ reason: "BackOff", type: "Normal" });
  assert.equal(reference.record({ reason: "Started", type: "Normal" }).filtered, true);
});

test("Protected: a crash loop of a day keeps its steps, ordinary ones have the Go kubelet's budget", () => {
  const { record } = story({}, "Protected");
  const filtered = (reason: string, everySeconds: number, times: number) =>
    Array.from({ length: times }, (_, i) => record({ reason, atSeconds: i * everySeconds })).filter(
      (correlation) => correlation.filtered,
    ).length;
  assert.equal(filtered("Started", 300, 288), 0);
  const ordinary = filtered("Unhealthy", 10, 360);
  assert.equal(360 - ordinary, 25 + Math.floor(3590 / 300));
});

test("Protected: steps of different containers are not similar", () => {
  const { record } = story({}, "Protected");
  const all = Array.from({ length: 30 }, (_, i) =>
    record({
      reason: "Killing",
      type: "Normal",
      message: `Stopping container c${i}`,
      fieldPath: `spec.containers{c${i}}`,
    }),
  );
  assert.equal(
    all.some(({ combined }) => combined),
    false,
  );
});

const recorded = fc.record({
  pod: fc.constantFrom("a", "b", "c"),
  reason: fc.constantFrom("BackOff", "Started", "FailedMount", "Unhealthy"),
  type: fc.constantFrom("Normal" as const, "Warning" as const),
  message: fc.integer({ min: 1, max: 14 }).map((n) => `m${n}`),
  gap: fc.integer({ min: 0, max: 700 }),
});
const modes = fc.constantFrom<EventMode>("Protected", "Reference");

test("correlate: counting preserves the number of events", () => {
  fc.assert(
    fc.property(fc.array(recorded, { maxLength: 150 }), modes, (events, mode) => {
      const { record } = story({}, mode);
      const counts = new Map<string, number>();
      let atSeconds = 0;
      for (const { gap, ...event } of events) {
        atSeconds += gap;
        const { event: counted, patch } = record({ ...event, atSeconds });
        const name = counted.metadata.name ?? "";
        assert.equal(patch !== undefined, counts.has(name));
        assert.equal(counted.count, (counts.get(name) ?? 0) + 1);
        counts.set(name, counted.count ?? 0);
      }
      const sum = [...counts.values()].reduce((all, count) => all + count, 0);
      assert.equal(sum, events.length);
    }),
  );
});

test("correlate: what is sent about one object never exceeds the budget", () => {
  fc.assert(
    fc.property(fc.array(recorded, { maxLength: 400 }), modes, (events, mode) => {
      const { record } = story({}, mode);
      const isProtected = mode === "Protected";
      const sent = new Map<string, { count: number; intervalSeconds: number }>();
      let atSeconds = 0;
      for (const { gap, ...event } of events) {
        atSeconds += gap / 100;
        const { event: counted, filtered } = record({ ...event, atSeconds });
        if (filtered) continue;
        const key = isProtected ? spamKeyByReason(counted) : spamKey(counted);
        const intervalSeconds = isProtected && event.reason === "Started" ? 60 : 300;
        sent.set(key, { count: (sent.get(key)?.count ?? 0) + 1, intervalSeconds });
      }
      for (const { count, intervalSeconds } of sent.values())
        assert.ok(count <= 25 + atSeconds / intervalSeconds + 1e-9);
    }),
  );
});

test("correlate: one object never takes anything from another", () => {
  const eventLists = fc.array(recorded, { maxLength: 300 });
  fc.assert(
    fc.property(eventLists, modes, (events, mode) => {
      const together = story({}, mode);
      const alone = story({}, mode);
      let atSeconds = 0;
      for (const { gap, ...event } of events) {
        atSeconds += gap;
        const result = together.record({ ...event, atSeconds });
        if (event.pod !== "a") continue;
        const quiet = alone.record({ ...event, atSeconds });
        assert.equal(result.filtered, quiet.filtered);
        assert.equal(result.combined, quiet.combined);
        assert.equal(result.event.count, quiet.event.count);
      }
    }),
  );
});
