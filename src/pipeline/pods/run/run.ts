import { jitter } from "../../../kit/random.ts";
import type { PodDeps } from "../ports.ts";
import type { PodRecord } from "../record/record.ts";
import type { StepResult } from "../record/signals.ts";

/** Pause after a failed step, stretched by up to a half (kubelet backOffPeriod). */
const RETRY_MS = 10_000;
const RETRY_JITTER = 0.5;

/** State that executors of one run share. */
export interface Run {
  readonly record: PodRecord;
  readonly deps: PodDeps;
  readonly signal: AbortSignal;
  /** The sandbox of this run: found, or made by an earlier action. */
  sandboxId: string | undefined;
  /** Something that is dead could not be removed. */
  cleanupFailed?: true;
}

/** Message of the failure for the status; retried after the usual pause, or after `retryInMs`. */
export interface Failure {
  readonly step: string;
  readonly reason: string;
  readonly message: string;
  readonly retryInMs?: number | undefined;
}

/** The result of a step that failed. */
export function failure(run: Run, { step, reason, message, retryInMs }: Failure): StepResult {
  const pauseMs = retryInMs ?? jitter(run.deps.random, RETRY_MS, RETRY_JITTER);
  return { step, outcome: { kind: "failed", reason, message, retryInMs: pauseMs } };
}
