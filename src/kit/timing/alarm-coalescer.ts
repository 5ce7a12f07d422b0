/** The moments that alarms are moved to, longest step first: periods of the agent's loops. */
const STEPS_MS = [60_000, 30_000, 10_000, 5_000] as const;
/** Longer alarms that are no multiple of a step are moved by less than a twentieth of them. */
const ANY_STEP_MS = 5_000;
const ANY_FROM_MS = 50_000;

/** What alarms are made of. */
interface AlarmCoalescerDeps {
  readonly monotonic: () => number;
  readonly alarm: (delayMs: number, fire: () => void) => () => void;
  /** Whole milliseconds by which the moments of this process differ from those of others. */
  readonly phaseMs: number;
}

interface Moment {
  readonly fires: Set<{ readonly fire: () => void }>;
  cancel: () => void;
}

/** Alarms that fire together with others: a process at rest pays more for waking up than for what it then does. */
export class AlarmCoalescer {
  readonly #deps: AlarmCoalescerDeps;
  readonly #moments = new Map<number, Moment>();

  constructor(deps: AlarmCoalescerDeps) {
    this.#deps = deps;
  }

  /** How long an alarm of `ms` takes from now. */
  delayMs(ms: number): number {
    const step = stepOf(ms);
    const now = this.#deps.monotonic();
    return step === undefined ? ms : this.#momentOf(now + ms, step) - now;
  }

  /** As `Clock.alarm`, at the moment of others. */
  alarm(ms: number, fire: () => void): () => void {
    const step = stepOf(ms);
    if (step === undefined) return this.#deps.alarm(ms, fire);
    const at = this.#momentOf(this.#deps.monotonic() + ms, step);
    const moment = this.#moments.get(at) ?? this.#open(at);
    const own = { fire };
    moment.fires.add(own);
    return () => {
      if (!moment.fires.delete(own) || moment.fires.size > 0) return;
      moment.cancel();
      this.#moments.delete(at);
    };
  }

  #momentOf(dueAt: number, step: number): number {
    const { phaseMs } = this.#deps;
    return Math.round((dueAt - phaseMs) / step) * step + phaseMs;
  }

  #open(at: number): Moment {
    const moment: Moment = { fires: new Set(), cancel: () => {} };
    this.#moments.set(at, moment);
    this.#arm(at, moment);
    return moment;
  }

  #arm(at: number, moment: Moment): void {
    moment.cancel = this.#deps.alarm(at - this.#deps.monotonic(), () => {
      // Timers count from the beginning of the turn that sets them, so that they may fire early.
      if (this.#deps.monotonic() < at) {
        this.#arm(at, moment);
        return;
      }
      this.#moments.delete(at);
      for (const own of [...moment.fires]) if (moment.fires.delete(own)) own.fire();
    });
  }
}

function stepOf(ms: number): number | undefined {
  if (ms <= 0) return undefined;
  return STEPS_MS.find((step) => ms % step === 0) ?? (ms >= ANY_FROM_MS ? ANY_STEP_MS : undefined);
}
