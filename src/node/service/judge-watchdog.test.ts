import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeWatchdog, type WatchedAgent } from "./judge-watchdog.ts";

const WELL: WatchedAgent = { unhealthy: [], listing: { ageMs: 1_000, isRuntimeReady: true } };
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
    "the lease is not renewed while the API server can be reached",
    { ...WELL, lease: { hasRunOut: true, isReachable: true } },
    "the API server can be reached, and the node's lease has run out",
  ],
  ["the API is away", { ...WELL, lease: { hasRunOut: true, isReachable: false } }, undefined],
  ["the lease is good", { ...WELL, lease: { hasRunOut: false, isReachable: true } }, undefined],
] as const satisfies readonly (readonly [string, WatchedAgent, string | undefined])[])
  test(`judgeWatchdog: ${what}`, () => assert.equal(judgeWatchdog(agent), expected));
