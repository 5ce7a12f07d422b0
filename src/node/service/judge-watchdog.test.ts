import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeWatchdog, type WatchedAgent } from "./judge-watchdog.ts";

const WELL: WatchedAgent = {
  unhealthy: [],
  listing: { ageMs: 1_000, isRuntimeReady: true },
  isOverloaded: false,
};
const LATE = 181_000;

for (const [what, agent, expected] of [
  ["all is well", WELL, undefined],
  [
    "a check that a restart may cure",
    { ...WELL, unhealthy: ["threads: stuck", "x"] },
    "threads: stuck; x",
  ],
  [
    "the listing stands still while the runtime answers",
    { ...WELL, listing: { ageMs: LATE, isRuntimeReady: true } },
    "the runtime answers, and was not listed for 181 s",
  ],
  ["the runtime is down", { ...WELL, listing: { ageMs: LATE, isRuntimeReady: false } }, undefined],
  [
    "the lease has expired while the API server answers other requests",
    { ...WELL, lease: { hasExpired: true, isRefused: false, answerAgeMs: 59_000 } },
    "the API server answers other requests, and the node's lease has expired",
  ],
  [
    "the lease has expired while the agent is overloaded",
    { ...WELL, isOverloaded: true, lease: { hasExpired: true, isRefused: false, answerAgeMs: 10 } },
    undefined,
  ],
  [
    "the API server answers nothing, as when it hangs or is overloaded",
    { ...WELL, lease: { hasExpired: true, isRefused: false, answerAgeMs: 61_000 } },
    undefined,
  ],
  ["the API is away", { ...WELL, lease: { hasExpired: true, isRefused: false } }, undefined],
  [
    "the API server refuses the lease, as its disk is full or permissions are missing",
    { ...WELL, lease: { hasExpired: true, isRefused: true, answerAgeMs: 10 } },
    undefined,
  ],
  [
    "the lease is good",
    { ...WELL, lease: { hasExpired: false, isRefused: false, answerAgeMs: 10 } },
    undefined,
  ],
] as const satisfies readonly (readonly [string, WatchedAgent, string | undefined])[])
  test(`judgeWatchdog: ${what}`, () => assert.equal(judgeWatchdog(agent), expected));
