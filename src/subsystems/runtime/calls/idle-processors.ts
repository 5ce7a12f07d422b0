/** The kernel's counters of what its processors did, in ticks of 10 ms (proc(5)). */
const STAT_FILE = "/proc/stat";
/** `cpu user nice system idle iowait irq softirq steal …`: a processor that waits for a disk could do something else. */
const COLUMNS = 8;
const IDLE = 3;
const IOWAIT = 4;

interface Ticks {
  readonly idle: number;
  readonly all: number;
}

/** How many processors the machine does not use. */
export class IdleProcessors {
  readonly #readKernel: (path: string) => string | undefined;
  readonly #count: number;
  #last: Ticks | undefined;

  /** `count` is how many the agent may use. */
  constructor(readKernel: (path: string) => string | undefined, count: number) {
    this.#readKernel = readKernel;
    this.#count = count;
  }

  /** Processors that were idle on average since the call before, such as 0.5; 0 at the first, and where the kernel does not report it. */
  idleSinceLast(): number {
    const before = this.#last;
    this.#last = parseTicks(this.#readKernel(STAT_FILE));
    if (before === undefined || this.#last === undefined) return 0;
    const all = this.#last.all - before.all;
    // The kernel's count of idle ticks may go back (proc(5)).
    const idle = Math.max(0, this.#last.idle - before.idle);
    return all > 0 ? (Math.min(idle, all) / all) * this.#count : 0;
  }
}

function parseTicks(stat: string | undefined): Ticks | undefined {
  const line = /^cpu +([\d ]+)$/m.exec(stat ?? "")?.[1];
  if (line === undefined) return undefined;
  const columns = line.split(" ", COLUMNS).map(Number);
  const all = columns.reduce((sum, ticks) => sum + ticks, 0);
  return { idle: (columns[IDLE] ?? 0) + (columns[IOWAIT] ?? 0), all };
}
