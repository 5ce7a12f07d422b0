// Ten thousand events at once about a thousand objects.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventMode } from "../../src/subsystems/events/events.ts";
import { EventWorld, pod, unaccounted } from "./world.ts";

const OBJECTS = 1_000;
const EVENTS = 10_000;
const REASONS = ["Pulled", "Created", "Started", "Unhealthy", "BackOff", "FailedMount", "Killing"];

/** Says the n-th of the events; of each object they come in the order of their numbers. */
function record(world: EventWorld, n: number): void {
  const reason = REASONS[Math.floor(n / OBJECTS) % REASONS.length] ?? "";
  const type = ["Unhealthy", "FailedMount"].includes(reason) ? "Warning" : "Normal";
  world.events.ofPod(pod(`p${n % OBJECTS}`), { type, reason, message: "m" }, "main");
}

interface Burst {
  readonly name: string;
  readonly mode: EventMode;
  /** Events reported without giving anybody a turn. */
  readonly atOnce: number;
}

const BURSTS: readonly Burst[] = [
  { name: "one after the other", mode: "Protected", atOnce: 1 },
  { name: "by the hundred", mode: "Protected", atOnce: 100 },
  { name: "all in one turn", mode: "Protected", atOnce: EVENTS },
  { name: "by the hundred, as the Go kubelet", mode: "Reference", atOnce: 100 },
];

for (const { name, mode, atOnce } of BURSTS) {
  test(`a burst ${name}: bounded, in order per object, all accounted for`, async () => {
    const world = await EventWorld.start({ policy: { mode }, rate: { qps: 50, burst: 100 } });
    const seen = new Map<string, string[]>();
    world.events.addWatcher("order", ({ involvedObject, metadata }) => {
      const of = involvedObject.name ?? "";
      seen.set(of, [...(seen.get(of) ?? []), metadata.name ?? ""]);
    });
    let most = 0;
    for (let n = 0; n < EVENTS; n += 1) {
      record(world, n);
      if (n % atOnce === atOnce - 1) await world.clock.advance(1);
      most = Math.max(most, world.events.waiting);
    }
    assert.ok(most <= 16_384, `${most} wait`);
    await world.clock.advance(600_000);
    assert.equal(world.events.waiting, 0);
    const { recorded, sent, aggregated, dropped } = world.events.counts.totals;
    const ownSummary = [...world.api.stored.values()].filter(
      ({ reason }) => reason === "EventsDropped",
    ).length;
    assert.equal(recorded, EVENTS + ownSummary);
    assert.equal(sent + aggregated + dropped, recorded);
    assert.equal(unaccounted(world.events), 0);
    for (const names of seen.values()) assert.deepEqual(names, names.toSorted());
    const times = new Map<string, string[]>();
    for (const { key, event, patch, answer } of world.api.requests) {
      const of = world.api.stored.get(key)?.involvedObject.name;
      if (answer === "fault" || of === undefined) continue;
      const time = event?.lastTimestamp ?? patch?.lastTimestamp ?? "";
      times.set(of, [...(times.get(of) ?? []), time]);
    }
    for (const order of times.values()) assert.deepEqual(order, order.toSorted());
    if (mode === "Protected" && atOnce < EVENTS) {
      // Whatever had to go, no step of life is among it.
      for (const reason of ["Pulled", "Created", "Started", "Killing"]) {
        const arrived = [...world.api.stored.values()].filter((event) => event.reason === reason);
        const objects = new Set(arrived.map(({ involvedObject }) => involvedObject.name));
        assert.equal(objects.size, OBJECTS, reason);
      }
    }
    await world.stop();
  });
}
