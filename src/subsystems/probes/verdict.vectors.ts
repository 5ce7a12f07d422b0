/** Base values of the verdict vectors. */

import type { ProbeKind } from "../../api/probe-result.ts";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";
import {
  consider,
  type Moment,
  NEW_WORKER,
  type ProbeFacts,
  type ProbeRules,
  type WorkerState,
} from "./verdict.ts";

/** Rules as the API defaults them. */
export const rules = (kind: ProbeKind, more: Partial<ProbeRules> = {}): ProbeRules => ({
  kind,
  periodMs: 10_000,
  finePeriodMs: undefined,
  timeoutMs: 1000,
  initialDelaySeconds: 0,
  successThreshold: 1,
  failureThreshold: 3,
  ...more,
});

/** Wall time, in milliseconds, of the start of the agent. */
export const AGENT_STARTED = 1_000_000;

/** A container that runs since 60 s after the agent started. */
export const facts = (more: Partial<ProbeFacts> = {}): ProbeFacts => ({
  podEnded: false,
  podEnding: false,
  containerId: "c1",
  running: true,
  startedAtMs: (AGENT_STARTED + 60_000) as WallMs,
  started: true,
  confirmed: false,
  comesBack: true,
  ...more,
});

/** `seconds` after the container of `facts` started. */
export const at = (seconds: number): Moment => ({
  monotonic: (60_000 + seconds * 1000) as MonotonicMs,
  wall: (AGENT_STARTED + 60_000 + seconds * 1000) as WallMs,
});

/** A worker that has just begun. */
export const adopted = (kind: ProbeKind, more: Partial<ProbeFacts> = {}): WorkerState =>
  consider(rules(kind), NEW_WORKER, facts(more), at(0)).state;
