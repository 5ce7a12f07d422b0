/** Asks the agent again and again whether it is alive. */
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessMark } from "../ledger.ts";
import { processState } from "../processes.ts";
import { type AskResult, countMissed, MAX_MISSED, whyReplaced } from "./judge-answers.ts";

/** Pause between two questions, and how long the agent may take for an answer. */
const ASK_EVERY_MS = 10_000;
const ANSWER_MS = 10_000;

/**
 * Resolves with the reason when the agent has to be replaced: it is stopped or stuck. Resolves with
 * `undefined` when `signal` is aborted.
 */
export async function untilStuck(
  socketPath: string,
  agent: ProcessMark,
  signal: AbortSignal,
): Promise<string | undefined> {
  let pauseMs = ASK_EVERY_MS;
  for (let missed = 0; ; ) {
    const asleep = performance.now();
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return undefined;
    const asked = performance.now();
    const result = await ask(socketPath, signal);
    if (signal.aborted) return undefined;
    const lateMs = asked - asleep - pauseMs;
    const ownLagMs = Math.max(lateMs, performance.now() - asked - ANSWER_MS);
    const state = processState(agent.pid);
    // An answer was waited for long enough: the next question need not wait as well.
    pauseMs = result.kind === "silent" ? 0 : ASK_EVERY_MS;
    missed = countMissed(missed, { result, ownLagMs, processState: state });
    if (missed >= MAX_MISSED) return whyReplaced(missed, state);
  }
}

/** Asks for a sign of life that costs nothing. Any answer is one. */
function ask(socketPath: string, signal: AbortSignal): Promise<AskResult> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: "/healthz/ping", agent: false, signal });
    const late = setTimeout(() => asked.destroy(), ANSWER_MS);
    const settle = (result: AskResult) => {
      clearTimeout(late);
      resolve(result);
    };
    asked.on("response", (answer) => {
      answer.resume();
      settle({ kind: "answered" });
    });
    asked.on("error", ({ code }: NodeJS.ErrnoException) => {
      const nobody = code === "ENOENT" || code === "ECONNREFUSED";
      settle({ kind: nobody ? "notListening" : "silent" });
    });
    asked.end();
  });
}
