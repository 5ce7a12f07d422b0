/** Requests that wait, over all ports of the process; there are no more of them than connections. */
const waiting: (() => void)[] = [];
let isScheduled = false;

/**
 * Resolves in a turn of the event loop in which no other request is answered. Of hundreds of connections that are
 * readable at once Node would answer all in one turn, before any timer: probes were a second late for it.
 */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    schedule();
  });
}

function schedule(): void {
  if (isScheduled || waiting.length === 0) return;
  isScheduled = true;
  setImmediate(() => {
    isScheduled = false;
    waiting.shift()?.();
    schedule();
  });
}
