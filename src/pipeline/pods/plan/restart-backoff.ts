// pure
import type { Container, Pod } from "../../../api/generated/types.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import { type BackoffPolicy, backoffLeftMs, backoffNext } from "../../../kit/backoff.ts";
import type { WallMs } from "../../../kit/clock.ts";
import type { PodRecord, RestartBackoff } from "../record/record.ts";
import type { ContainerStanding } from "../record/standing.ts";

/** Key of a container's back-off, which is reset when the key changes (kuberuntime getBackoffKey). */
function backoffKey(pod: Pod, container: Container): string {
  return [
    pod.metadata?.uid,
    container.name,
    container.image,
    JSON.stringify(container.resources ?? {}),
  ].join("|");
}

/** A container that ran for longer starts afresh, whatever the longest pause is (kubelet.go HasExpiredFunc). */
const FORGET_MS = 600_000;

/** How far a restart back-off is. */
interface BackoffState {
  readonly leftMs: number;
  readonly delayMs: number;
  /** The entry after a start now. */
  readonly next: RestartBackoff;
}

/**
 * How long the restart of `ended` still has to wait, and the back-off after it (kuberuntime doBackOff);
 * `undefined` when nothing counts as a crash yet.
 */
export function restartBackoff(
  record: PodRecord,
  { container, attempts }: ContainerStanding,
  ended: ObservedContainer,
  at: { readonly wallNow: WallMs; readonly policy: BackoffPolicy },
): BackoffState | undefined {
  const key = backoffKey(record.pod, container);
  const kept = record.retries.backoff[container.name];
  const entry = kept?.key === key ? kept : undefined;
  const since = backoffSince(attempts, ended, entry);
  if (!since) return undefined;
  const endedAt = endOf(since);
  const policy = { ...at.policy, forgetMs: FORGET_MS };
  return {
    leftMs: backoffLeftMs(entry, endedAt, at.wallNow, policy),
    delayMs: entry?.delayMs ?? 0,
    next: { key, ...backoffNext(entry, endedAt, at.wallNow, policy) },
  };
}

/**
 * The end that the back-off counts from. The Go kubelet decides on the start of what it kills by what was
 * dead before: only when that one had to wait still does the wait count from the kill.
 */
function backoffSince(
  attempts: readonly ObservedContainer[],
  ended: ObservedContainer,
  entry: RestartBackoff | undefined,
): ObservedContainer | undefined {
  if (!ended.replaced) return ended;
  const before = attempts.find(
    ({ id, state, createdAtMs }) =>
      id !== ended.id && state === "exited" && createdAtMs <= ended.createdAtMs,
  );
  if (!entry) return before;
  // It has been removed by now: its turn to decide has passed.
  if (!before) return ended;
  return endOf(ended) - endOf(before) < entry.delayMs ? ended : before;
}

const endOf = ({ finishedAtMs, createdAtMs }: ObservedContainer): WallMs =>
  finishedAtMs ?? createdAtMs;
