import assert from "node:assert/strict";
import { test } from "node:test";
import type { MonotonicMs } from "../../../kit/clock.ts";
import type { NodeWatchResourcesResponse } from "../../../outside/plugins/plugins.ts";
import { firstTimeout, healthOf, NO_HEALTH, takeReport } from "./device-health.ts";

type Status = NodeWatchResourcesResponse["devices"][number]["health"];
const STATUSES: Readonly<Record<string, Status>> = { U: 0, H: 1, S: 2 };

const at = (seconds: number) => (seconds * 1000) as MonotonicMs;

/** `A=H B=S:5`: health of devices, with their timeouts. */
function report(text: string, message = ""): NodeWatchResourcesResponse {
  const devices = text.split(" ").map((part) => {
    const [, device = "", status = "", seconds = "0"] =
      /^(\w+)=(\w)(?::(-?\d+))?$/.exec(part) ?? [];
    return {
      device: { poolName: "p", deviceName: device },
      health: STATUSES[status] ?? 0,
      lastUpdatedTime: 0n,
      healthCheckTimeoutSeconds: BigInt(seconds),
      message,
    };
  });
  return { devices };
}

interface Vector {
  readonly name: string;
  /** Reports with their times in seconds, and the devices that each changes. */
  readonly reports: readonly (readonly [seconds: number, text: string, changed: string])[];
  /** What is read when. */
  readonly readings: readonly (readonly [seconds: number, device: string, health: string])[];
}

const VECTORS: readonly Vector[] = [
  { name: "35: none", reports: [], readings: [[0, "A", "Unknown"]] },
  {
    name: "36: it counts for 30 s",
    reports: [[0, "A=H", "A"]],
    readings: [
      [10, "A", "Healthy"],
      [31, "A", "Unknown"],
    ],
  },
  {
    name: "37: repeated, it counts on, and is no change",
    reports: [
      [0, "A=H", "A"],
      [20, "A=H", ""],
    ],
    readings: [[45, "A", "Healthy"]],
  },
  {
    name: "38: one that is not repeated",
    reports: [
      [0, "A=H B=H", "A B"],
      [29, "A=H", ""],
      [40, "A=H", "B"],
    ],
    readings: [
      [40, "A", "Healthy"],
      [40, "B", "Unknown"],
    ],
  },
  {
    name: "39: a timeout of its own",
    reports: [[0, "A=H:5", "A"]],
    readings: [[6, "A", "Unknown"]],
  },
  {
    name: "a timeout that is none",
    reports: [[0, "A=S:-5", "A"]],
    readings: [[29, "A", "Unhealthy"]],
  },
];

for (const { name, reports, readings } of VECTORS)
  test(`health of devices, vector ${name}`, () => {
    let health = NO_HEALTH;
    for (const [seconds, text, changed] of reports) {
      const taken = takeReport(health, report(text), at(seconds));
      assert.equal(
        taken.changed
          .map((key) => key.slice(2))
          .toSorted()
          .join(" "),
        changed,
      );
      health = taken.health;
    }
    for (const [seconds, device, expected] of readings)
      assert.equal(healthOf(health, `p/${device}`, at(seconds)).health, expected);
  });

test("health of devices, vector 40: a long message is cut between characters", () => {
  const of = (message: string) =>
    healthOf(takeReport(NO_HEALTH, report("A=S", message), at(0)).health, "p/A", at(1));
  const { health, message = "" } = of("x".repeat(2000));
  assert.equal(health, "Unhealthy");
  assert.equal(message, `${"x".repeat(1021)}...`);
  const cut = of("é".repeat(1000)).message ?? "";
  assert.ok(Buffer.byteLength(cut) <= 1024 && /^é+\.\.\.$/.test(cut));
});

test("health of devices is bounded, and the first to end is known", () => {
  const many = Array.from({ length: 20_000 }, (_, i) => `d${i}=H`).join(" ");
  const { health } = takeReport(NO_HEALTH, report(many), at(1));
  assert.equal(health.size, 16_384);
  assert.equal(firstTimeout(takeReport(health, report("d0=H:5"), at(2)).health), at(7));
});
