import { derivedOnce } from "./derived-once.ts";

/** What is called when a signal is aborted. */
const callsOf = derivedOnce((signal: AbortSignal): Set<() => void> => {
  const calls = new Set<() => void>();
  const callAll = () => {
    // Functions that are removed by a call of this loop are not called: iterating over a set skips what was deleted.
    for (const each of calls) {
      calls.delete(each);
      each();
    }
  };
  signal.addEventListener("abort", callAll, { once: true });
  return calls;
});

/**
 * Calls `call` when the signal is aborted, unless the returned function was called before; never when the signal is
 * aborted already. A signal keeps its listeners in a list that is walked for each that comes or goes: of one that all
 * waits of the agent share this makes one listener, so that a wait costs the same however many there are. `call` must
 * not throw.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  if (signal.aborted) return () => {};
  const calls = callsOf(signal);
  // Of its own, so that the same function may wait twice.
  const own = () => call();
  calls.add(own);
  return () => void calls.delete(own);
}
