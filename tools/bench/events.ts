/**
 * What events cost: `node tools/bench/events.ts`. Recorder calls per second with no API server, memory per
 * cached key, and a burst of 10,000 events about 1,000 objects with an API server that takes 2 ms a write.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Pod } from "../../src/api/generated/types.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import { Correlator } from "../../src/subsystems/events/correlator.ts";
import {
  type EventApi,
  EventApiError,
  type Events,
  type EventsOptions,
  startEvents,
} from "../../src/subsystems/events/events.ts";
import { makeEvent, podReference } from "../../src/subsystems/events/make-event.ts";
import { correlatorRules } from "../../src/subsystems/events/policy.ts";
import { renderTable, short } from "./table.ts";

const CALLS = 300_000;
const CALLS_A_TURN = 1_000;
const ROUNDS = 5;
const KEYS = 4_096;
const WRITE_MS = 2;
/** Longer than the module takes to have everything that waits on disk. */
const AWAY_MS = 4_000;
/** As many as a large node has. */
const NODE_PODS = 250;

const clock = createSystemClock();
const pods = Array.from({ length: 1_000 }, (_, i) => podOf(`web-5d4f8c7b9-${i}`));

async function main(): Promise<void> {
  const rows: string[][] = [["", "figure", "wanted"]];
  const { perSecond, perCpuSecond } = await recorderRate();
  rows.push(["recorder calls per second, no API server", short(perSecond), "≥ 100000"]);
  rows.push(["the same per second of processor", short(perCpuSecond), ""]);
  const perKey = bytesPerKey();
  rows.push(["bytes held per cached key", short(perKey), "≤ 1024"]);
  rows.push(...burstRows("burst", await burstOfEvents(slowApi, ({ waiting }) => waiting === 0)));
  const since = performance.now();
  const isSpooled = () => performance.now() - since > AWAY_MS;
  rows.push(...burstRows("burst, server away", await burstOfEvents(noApi, isSpooled)));
  process.stdout.write(`${renderTable(rows)}\n`);
}

function burstRows(name: string, burst: Burst): string[][] {
  const { recorded, sent, aggregated, dropped, waiting } = burst;
  return [
    [`${name}: loop delay p99, ms`, short(burst.p99Ms), "< 50"],
    [`${name}: loop delay max, ms`, short(burst.maxMs), ""],
    [`${name}: MiB held afterwards`, short(burst.heapMiB), ""],
    [`${name}: sent`, `${sent}`, ""],
    [`${name}: aggregated`, `${aggregated}`, ""],
    [`${name}: dropped`, `${dropped}`, ""],
    [`${name}: waiting`, `${waiting}`, ""],
    [`${name}: sum`, `${sent + aggregated + dropped + waiting}`, `${recorded}`],
  ];
}

async function recorderRate() {
  const best = { perSecond: 0, perCpuSecond: 0 };
  await withEvents({}, async (events) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const began = performance.now();
      const used = process.cpuUsage();
      for (let i = 0; i < CALLS; i += 1) {
        events.ofPod(pods[i % NODE_PODS] as Pod, say(i % 7), "main");
        if (i % CALLS_A_TURN === CALLS_A_TURN - 1) await settled(events);
      }
      const { user, system } = process.cpuUsage(used);
      const seconds = (performance.now() - began) / 1000;
      best.perSecond = Math.max(best.perSecond, CALLS / seconds);
      best.perCpuSecond = Math.max(best.perCpuSecond, (CALLS * 1e6) / (user + system));
    }
    const { recorded, kept } = events.counts.totals;
    if (kept !== recorded) throw new Error(`${recorded} recorded, ${kept} kept`);
  });
  return best;
}

/** Waits until everything that was recorded was handed out. */
async function settled(events: Events): Promise<void> {
  const { counts } = events;
  while (counts.totals.kept < counts.totals.recorded) await new Promise(setImmediate);
}

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

/** Bytes of the heap that are in use, without what nobody holds any more. */
function heapUsed(): number {
  gc();
  gc();
  return process.memoryUsage().heapUsed;
}

function bytesPerKey(): number {
  const correlator = new Correlator(correlatorRules());
  const correlate = (i: number) =>
    correlator.correlate(
      makeEvent(
        { ...podReference(podOf(`web-5d4f8c7b9-${i}`)), fieldPath: "spec.containers{main}" },
        { ...say(i % 9), message: `${say(i % 9).message} ${"x".repeat(i % 400)}` },
        { component: "kubelet", host: "node-1" },
        { time: "2026-01-01T00:00:00Z", nanosHex: i.toString(16), uuid: () => "" },
      ),
      { at: i, time: () => "2026-01-01T00:00:00Z", nanosHex: () => i.toString(16) },
    );
  const before = heapUsed();
  // Nine similar events for each object: the sets of messages are as large as they get.
  for (let i = 0; i < KEYS; i += 1) correlate(i);
  const after = heapUsed();
  // Three caches with as many keys each.
  const perKey = (after - before) / (3 * KEYS);
  correlate(0);
  return perKey;
}

/** Takes everything, each write in its time. */
const slowApi: EventApi = {
  create: async (event) => {
    await sleep(WRITE_MS);
    return event;
  },
  patch: async ({ namespace, name }) => {
    await sleep(WRITE_MS);
    return { metadata: { namespace, name }, involvedObject: {} };
  },
};

/** Takes nothing. */
const noApi: EventApi = {
  create: () => Promise.reject(new EventApiError({ kind: "transport" }, "away")),
  patch: () => Promise.reject(new EventApiError({ kind: "transport" }, "away")),
};

interface Burst {
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly heapMiB: number;
  readonly waiting: number;
  readonly recorded: number;
  readonly sent: number;
  readonly aggregated: number;
  readonly dropped: number;
}

/** 10,000 events about 1,000 pods; how late the event loop is until they are sent or on disk. */
async function burstOfEvents(api: EventApi, isOver: (events: Events) => boolean): Promise<Burst> {
  return await withEvents(
    { rate: { qps: 0, burst: 0 } },
    async (events) => {
      await sleep(200);
      const before = heapUsed();
      const delay = monitorEventLoopDelay({ resolution: 5 });
      delay.enable();
      for (let i = 0; i < 10; i += 1) {
        for (const pod of pods) events.ofPod(pod, say(i % 7), "main");
        await new Promise(setImmediate);
      }
      while (events.counts.totals.recorded < 10_000 || !isOver(events)) await sleep(50);
      delay.disable();
      const heapMiB = (heapUsed() - before) / 2 ** 20;
      const { recorded, sent, aggregated, dropped } = events.counts.totals;
      return {
        p99Ms: delay.percentile(99) / 1e6,
        maxMs: delay.max / 1e6,
        heapMiB,
        waiting: events.waiting,
        recorded,
        sent,
        aggregated,
        dropped,
      };
    },
    api,
  );
}

async function withEvents<T>(
  options: Partial<EventsOptions>,
  use: (events: Events) => Promise<T>,
  api?: EventApi,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-events-"));
  const scope = new TaskScope("bench", { clock, log: silentLog });
  try {
    const { files } = connectHost({ clock, log: silentLog });
    const events = await startEvents(
      { nodeName: "node-1", folder: join(folder, "events"), ...options },
      {
        clock,
        scope,
        log: silentLog,
        state: new StateFiles({ files, clock, log: silentLog }),
        metrics: new MetricsRegistry(),
        random: createSystemRandom(),
        ...(api ? { api } : {}),
      },
    );
    return await use(events);
  } finally {
    await scope[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

function podOf(name: string): Pod {
  return {
    metadata: {
      name,
      namespace: "default",
      uid: `0b7d6e2c-4a0e-4c1b-9d0a-${name.padStart(12, "0")}`,
    },
    spec: { containers: [{ name: "main" }] },
  };
}

function say(kind: number) {
  const reasons = [
    "Pulled",
    "Created",
    "Started",
    "Unhealthy",
    "BackOff",
    "Killing",
    "FailedMount",
  ];
  const reason = reasons[kind % reasons.length] ?? "Failed";
  const type = kind > 2 && kind !== 5 ? ("Warning" as const) : ("Normal" as const);
  return { type, reason, message: `Readiness probe failed: dial tcp 10.0.0.${kind}:8080: refused` };
}

await main();
