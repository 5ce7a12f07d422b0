import { timerMs } from "../../kit/timing/bounded-durations.ts";

/** Node counts whole milliseconds of its own time, which may be one more than have passed. */
const EARLY_MS = 1;

/**
 * Calls `onOver` once, `lengthMs` from now, unless the result was called before. Keeps no process alive: what is waited
 * for does.
 */
export function deadline(lengthMs: number, onOver: () => void): () => void {
  let late: NodeJS.Immediate | undefined;
  // When the agent itself is late, data that has arrived is read before a timeout counts.
  const onTime = () => {
    late = setImmediate(onOver);
  };
  const timer = setTimeout(onTime, timerMs(lengthMs + EARLY_MS)).unref();
  return () => {
    clearTimeout(timer);
    clearImmediate(late);
  };
}
