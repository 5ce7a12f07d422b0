/** Requests that wait, over all ports of the process; there are no more of them than connections. */
const waiting: (() => void)[] = [];
/** Health checks that do: whoever asks ends the process when it does not answer in time. */
const urgent: (() => void)[] = [];
let isScheduled = false;

/**
 * Resolves in a turn of the event loop in which no other request is answered. Of hundreds of connections that are
 * readable at once Node would answer all in one turn, before any timer: probes were a second late for it. Those that are
 * urgent come first.
 */
export function ownTurn(isUrgent = false): Promise<void> {
  return new Promise((resolve) => {
    (isUrgent ? urgent : waiting).push(resolve);
    schedule();
  });
}

function schedule(): void {
  if (isScheduled || waiting.length + urgent.length === 0) return;
  isScheduled = true;
  setImmediate(() => {
    isScheduled = false;
    (urgent.shift() ?? waiting.shift())?.();
    schedule();
  });
}
