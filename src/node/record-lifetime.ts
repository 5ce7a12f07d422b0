/** Keeps in the journal when the agent was started and why it was stopped, for `nodelet why --node`. */
import { makeDecision } from "../api/decisions.ts";
import type { Decisions } from "../api/ports/decisions.ts";
import { messageOf } from "../kit/errors.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { LastExit } from "./last-exit.ts";

/** Facts about this run that are recorded. */
interface LifetimeOptions {
  readonly nodeName: string;
  /** Of nodelet; undefined when another program embeds it. */
  readonly version: string | undefined;
  /** Aborted with the reason when the agent is asked to stop. */
  readonly leave: AbortSignal | undefined;
  /** How it ended before, where that was noted and not orderly. */
  readonly lastExit: LastExit | undefined;
}

/** Records the start now, and the stop when the scope closes. */
export function recordLifetime(
  { nodeName, version, leave, lastExit }: LifetimeOptions,
  { journal, scope }: { readonly journal: Pick<Decisions, "record">; readonly scope: TaskScope },
): void {
  const subject = { kind: "node", name: nodeName } as const;
  if (lastExit) {
    const { atMs, ...inputs } = lastExit;
    journal.record(subject, makeDecision("agentExited", "noted by its supervisor", inputs), atMs);
  }
  const started = version === undefined ? {} : { version };
  journal.record(subject, makeDecision("startAgent", "started", started));
  scope.defer("record of the stop", () => {
    journal.record(subject, stopDecision(scope, leave));
  });
}

function stopDecision({ failure }: TaskScope, leave: AbortSignal | undefined) {
  if (leave?.aborted)
    return makeDecision("stopAgent", "asked to stop", { reason: messageOf(leave.reason) });
  if (failure) return makeDecision("stopAgent", "fatal error", { reason: messageOf(failure) });
  return makeDecision("stopAgent", "disposed", { reason: "the program it is part of stopped it" });
}
