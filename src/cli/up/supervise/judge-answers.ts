// pure
/** Decides from the agent's answers whether it has to be replaced. */

/** Outcome of asking the agent once. */
export type AskResult =
  /** It answered, whatever the answer. */
  | { readonly kind: "answered" }
  /** Nothing listens at its socket: it is starting or shutting down; its process is checked instead. */
  | { readonly kind: "notListening" }
  /** The connection was taken, or the queue of connections is full, and no answer came in time. */
  | { readonly kind: "silent" };

/** One question to the agent, and how it stood with the machine meanwhile. */
export interface Ask {
  readonly result: AskResult;
  /** How much later than planned the supervisor's own timers fired: then the machine is slow, not the agent. */
  readonly ownLagMs: number;
  /** The kernel's letter for the agent's process: `T` is stopped. Undefined when it cannot be read. */
  readonly processState: string | undefined;
}

/** Questions in a row without an answer after which the agent is replaced. */
export const MAX_MISSED = 3;
/** A supervisor that is itself this late learns nothing from an answer that is missing. */
const MAX_OWN_LAG_MS = 2_000;

/** Questions in a row without an answer, after one more. */
export function countMissed(missed: number, { result, ownLagMs, processState }: Ask): number {
  switch (result.kind) {
    case "answered":
      return 0;
    case "notListening":
      // Starting may take as long as the runtime does, unless the process was stopped.
      return isStopped(processState) ? missed + 1 : 0;
    case "silent":
      return ownLagMs > MAX_OWN_LAG_MS ? missed : missed + 1;
    default:
      return result satisfies never;
  }
}

/** Why an agent that missed so many questions is replaced, in words. */
export function whyReplaced(missed: number, processState: string | undefined): string {
  return `the agent has not answered ${missed} times in a row${stateInWords(processState)}`;
}

function stateInWords(state: string | undefined): string {
  if (isStopped(state)) return " (its process is stopped)";
  if (state === "D") return " (its process waits for a disk, state D)";
  return state === "R" ? " (its process is busy, state R)" : "";
}

function isStopped(state: string | undefined): boolean {
  return state === "T" || state === "t";
}
