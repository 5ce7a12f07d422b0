// pure
/** What one instance of a driver has reported of the health of its devices, and how long that counts. */
import { byteLength, cutToBytes } from "../../../api/text/names.ts";
import type { MonotonicMs } from "../../../kit/clock.ts";
import { after } from "../../../kit/instant.ts";
import type { NodeWatchResourcesResponse } from "../../../outside/plugins/plugins.ts";

/** Health of a device as statuses show it. */
export interface ShownHealth {
  readonly health: "Healthy" | "Unhealthy" | "Unknown";
  readonly message?: string;
}

interface ReportedHealth extends ShownHealth {
  readonly timeoutMs: number;
  /** When it was last reported. */
  readonly at: MonotonicMs;
}

/** Devices by `deviceKey`. */
export type DeviceHealth = ReadonlyMap<string, ReportedHealth>;

/** Nothing was reported. */
export const NO_HEALTH: DeviceHealth = new Map();

/** Key of a device among those of its driver. */
export const deviceKey = (pool: string, device: string): string => `${pool}/${device}`;

/** For a driver that says nothing else. */
const TIMEOUT_MS = 30_000;
/** One gone wild must not fill our memory. */
const MAX_DEVICES = 16_384;
const MAX_MESSAGE_BYTES = 1024;
const CUT = "...";

const UNKNOWN: ShownHealth = { health: "Unknown" };

/** The next state of health, and the devices whose health is another one now. */
interface TakenHealth {
  readonly health: DeviceHealth;
  readonly changed: readonly string[];
}

/** Takes a report; what was not repeated in time is forgotten. */
export function takeReport(
  before: DeviceHealth,
  { devices }: NodeWatchResourcesResponse,
  now: MonotonicMs,
): TakenHealth {
  const expired = forgetStale(before, now);
  const health = new Map(expired.health);
  const changed = new Set(expired.changed);
  for (const { device, health: status, message, healthCheckTimeoutSeconds } of devices) {
    const key = deviceKey(device?.poolName ?? "", device?.deviceName ?? "");
    const known = health.get(key);
    if (!known && health.size >= MAX_DEVICES) continue;
    const seconds = Number(healthCheckTimeoutSeconds);
    const text = cutMessage(message);
    const reported: ReportedHealth = {
      health: WORDS[status] ?? "Unknown",
      ...(text === "" ? {} : { message: text }),
      timeoutMs: seconds > 0 ? seconds * 1000 : TIMEOUT_MS,
      at: now,
    };
    health.set(key, reported);
    if (!isSame(known, reported)) changed.add(key);
  }
  return { health, changed: [...changed] };
}

/** Forgets what was not repeated in time. */
export function forgetStale(before: DeviceHealth, now: MonotonicMs): TakenHealth {
  const changed = [...before].filter(([, each]) => isOver(each, now)).map(([key]) => key);
  if (changed.length === 0) return { health: before, changed };
  const health = new Map(before);
  for (const key of changed) health.delete(key);
  return { health, changed };
}

/** When the first of them is over; `undefined` when nothing was reported. */
export function firstTimeout(health: DeviceHealth): MonotonicMs | undefined {
  let first: MonotonicMs | undefined;
  for (const { at, timeoutMs } of health.values()) {
    const end = after(at, timeoutMs);
    if (first === undefined || end < first) first = end;
  }
  return first;
}

/** The health of a device; `Unknown` when it was not reported, or not again in time. */
export function healthOf(health: DeviceHealth, key: string, now: MonotonicMs): ShownHealth {
  const known = health.get(key);
  if (!known || isOver(known, now)) return UNKNOWN;
  const { health: word, message } = known;
  return message === undefined ? { health: word } : { health: word, message };
}

const isOver = ({ at, timeoutMs }: ReportedHealth, now: MonotonicMs): boolean =>
  now > at + timeoutMs;

function isSame(a: ReportedHealth | undefined, b: ReportedHealth): boolean {
  return a?.health === b.health && a.message === b.message && a.timeoutMs === b.timeoutMs;
}

/** By the numbers of the interface. */
const WORDS: Readonly<Record<number, ShownHealth["health"]>> = { 1: "Healthy", 2: "Unhealthy" };

function cutMessage(message: string): string {
  if (byteLength(message) <= MAX_MESSAGE_BYTES) return message;
  return `${cutToBytes(message, MAX_MESSAGE_BYTES - CUT.length)}${CUT}`;
}
