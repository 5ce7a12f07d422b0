import { timerMs } from "../../kit/limits/bounded-durations.ts";

/** One that has not come yet. */
interface Deadline {
  readonly at: number;
  readonly onOver: () => void;
}

/**
 * Deadlines of one length, nearly all of which are taken back long before they come: hundreds a second
 * share one timer, which is set when there are some and looks for itself what is still waiting. The timer
 * keeps no process alive; what is waited for does.
 */
class DeadlineQueue {
  readonly #lengthMs: number;
  /** In the order of coming. */
  readonly #waiting = new Set<Deadline>();
  #isSet = false;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  add(onOver: () => void): Deadline {
    const deadline = { at: performance.now() + this.#lengthMs, onOver };
    this.#waiting.add(deadline);
    if (!this.#isSet) this.#set(this.#lengthMs);
    return deadline;
  }

  remove(deadline: Deadline): void {
    this.#waiting.delete(deadline);
  }

  get isIdle(): boolean {
    return !this.#isSet;
  }

  #set(ms: number): void {
    this.#isSet = true;
    // When the agent itself is late, data that has arrived is read before a timeout counts.
    const onTime = () => setImmediate(() => this.#check());
    setTimeout(onTime, timerMs(ms)).unref();
  }

  #check(): void {
    this.#isSet = false;
    const now = performance.now();
    for (const deadline of this.#waiting) {
      if (deadline.at > now) {
        if (!this.#isSet) this.#set(deadline.at - now);
        return;
      }
      this.#waiting.delete(deadline);
      deadline.onOver();
    }
  }
}

const queues = new Map<number, DeadlineQueue>();

/** Lengths that are remembered; there are few different ones on a node. */
const MAX_QUEUES = 100;

/** Calls `onOver` once, `lengthMs` from now, unless the result was called before. */
export function deadline(lengthMs: number, onOver: () => void): () => void {
  let queue = queues.get(lengthMs);
  if (!queue) {
    if (queues.size >= MAX_QUEUES)
      for (const [length, { isIdle }] of queues) if (isIdle) queues.delete(length);
    queue = new DeadlineQueue(lengthMs);
    queues.set(lengthMs, queue);
  }
  const of = queue;
  const added = of.add(onOver);
  return () => of.remove(added);
}
