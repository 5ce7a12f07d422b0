import assert from "node:assert/strict";
import { test } from "node:test";
import { pod, target } from "../../../test/probes/world.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { ProbeTarget } from "../../api/probe-target.ts";
import { Slots } from "../../kit/limits/slots.ts";
import { silentLog } from "../../kit/log.ts";
import type { ConnectAnswer, Net } from "../../outside/net/net.ts";
import { FineRate } from "./fine-rate.ts";
import { Prober, type ProberShared } from "./prober.ts";
import { Schedule } from "./schedule.ts";
import { parseProbeSettings } from "./settings.ts";
import { Spread } from "./spread.ts";

function sharedWith(clock: SimClock, more: Partial<ProberShared>): ProberShared {
  const unused = () => Promise.reject(new Error("not asked for"));
  const connected: ConnectAnswer = { kind: "connected" };
  const net: Net = {
    http: unused,
    grpcHealth: unused,
    tcpConnect: async () => connected,
  };
  return {
    clock,
    random: { next: () => 0, hex: () => "" },
    log: silentLog,
    ports: {
      protocols: { http2: false, grpcTls: false },
      runtime: { execSync: unused, version: unused },
      net,
      clock,
    },
    schedule: new Schedule(clock),
    spread: new Spread(),
    fineRate: new FineRate(100),
    execSlots: new Slots({ total: 1, perGroup: 1 }),
    agentStartedAt: clock.monotonic(),
    historyLength: 5,
    endLeftovers: true,
    news: { publish: () => {} },
    events: { ofPod: () => {} },
    onProbe: () => {},
    ...more,
  };
}

const settings = parseProbeSettings({}, new Set());
const watched = (of: ProbeTarget) => ({ ...pod(), target: of, settings });

test("Prober gives back every time it took to spread its turns", async () => {
  const clock = new SimClock();
  const shared = sharedWith(clock, {});
  const app = target({ readiness: { periodSeconds: 1 } }, { startedAtMs: clock.wall() });
  const prober = new Prober("readiness", watched(app), shared);
  for (let i = 0; i < 50; i += 1) {
    await clock.advance(130);
    prober.update(watched({ ...app, containerId: `c${i}` }));
    assert.ok(shared.spread.taken <= 1);
  }
  void prober.stop();
  void prober.stop();
  assert.equal(shared.spread.taken, 0);
  await clock.advance(10_000);
  assert.equal(shared.spread.taken, 0);
});

test("Prober continues after an attempt that failed unexpectedly, and logs it", async () => {
  const clock = new SimClock();
  const reported: string[] = [];
  let probes = 0;
  const shared = sharedWith(clock, {
    log: { ...silentLog, error: (message) => reported.push(message) },
    onProbe: () => {
      probes += 1;
      if (probes === 1) throw new Error("broken");
    },
  });
  const app = target({ liveness: { periodSeconds: 1 } }, { startedAtMs: clock.wall() });
  const prober = new Prober("liveness", watched(app), shared);
  await clock.advance(3500);
  assert.equal(probes, 4);
  assert.deepEqual(reported, ["probe attempt failed unexpectedly"]);
  void prober.stop();
});

test("Prober takes over the numbers of a probe that was changed", async () => {
  const clock = new SimClock();
  let probes = 0;
  const shared = sharedWith(clock, {
    onProbe: () => {
      probes += 1;
    },
  });
  const at = (periodSeconds: number) =>
    target({ liveness: { periodSeconds } }, { startedAtMs: clock.wall() });
  const prober = new Prober("liveness", watched(at(10)), shared);
  await clock.advance(10_500);
  prober.update(watched(at(1)));
  await clock.advance(10_000);
  assert.equal(probes, 2 + 1);
  await clock.advance(5000);
  assert.equal(probes, 2 + 1 + 5);
  void prober.stop();
});

test("Prober takes no turns while only an update can give it something to do, and then keeps to its period", async () => {
  const clock = new SimClock();
  const attempts: number[] = [];
  const shared = sharedWith(clock, { onProbe: (_prober, { atMs }) => attempts.push(atMs - from) });
  const from = clock.wall();
  const probes = { liveness: { periodSeconds: 1 }, startup: { periodSeconds: 1 } };
  const at = (facts: Partial<ProbeTarget>) =>
    watched({ ...target(probes, { startedAtMs: clock.wall() }), ...facts });
  const waits: readonly [why: string, facts: Partial<ProbeTarget>][] = [
    ["no container", { containerId: undefined, running: false }],
    ["container is not running", { running: false }],
    ["container has not started yet", { started: false }],
  ];
  const prober = new Prober("liveness", at({ containerId: undefined, running: false }), shared);
  for (const [why, facts] of waits) {
    prober.update(at(facts));
    // Its next turn sets what it waits for, and is the last.
    await clock.advance(1000);
    assert.deepEqual(prober.report().doing, { kind: "wait", why });
    await clock.advance(4000);
    assert.equal(prober.report().nextInMs, undefined, why);
    assert.equal(shared.spread.taken, 0, why);
    prober.update(at(facts));
    assert.equal(prober.report().nextInMs, undefined, why);
  }
  await clock.advance(300);
  assert.deepEqual(attempts, []);
  prober.update(at({ started: true }));
  assert.equal(prober.report().nextInMs, 700);
  await clock.advance(2700);
  assert.deepEqual(attempts, [16_000, 17_000, 18_000]);
  void prober.stop();
});
