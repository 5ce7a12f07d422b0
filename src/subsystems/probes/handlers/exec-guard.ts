import type { Clock } from "../../../kit/clock.ts";
import {
  type ContainerProcess,
  type ExecOrigin,
  execRoots,
  execTraces,
  isAlive,
  orphansOf,
  processTreeOf,
  stemsFrom,
  TICKS_PER_SECOND,
} from "./exec-tree.ts";

/** Port for listing and killing processes of containers. */
export interface ContainerProcesses {
  /** The present time as `startTicks` counts it. */
  nowTicks(): number;
  /** Every process in the cgroup of the container. */
  of(podUid: string, containerId: string): Promise<readonly ContainerProcess[]>;
  /** Ends the process if it still is the same. */
  kill(process: ContainerProcess): Promise<void>;
  /** Whether the process has ended and its parent has taken no notice; no cgroup shows it then. */
  isUncollected(process: ContainerProcess): Promise<boolean>;
}

/** An exec under way. */
export interface GuardedExec extends ExecOrigin {
  /** The probe; the same object for every attempt. */
  readonly owner: object;
  readonly podUid: string;
  readonly containerId: string;
}

/** Outcome for the processes of a timed-out exec. */
export interface Cleared {
  readonly killed: number;
  /** Could not be ended: they wait for the kernel. */
  readonly left: readonly ContainerProcess[];
  /**
   * Ended at this attempt or an earlier one, but the container's main process takes no notice, so that they
   * keep their numbers.
   */
  readonly uncollected: number;
}

/** State of a probe from its earlier attempts. */
interface Past {
  readonly left: readonly ContainerProcess[];
  readonly uncollected: readonly ContainerProcess[];
}

const NO_PAST: Past = { left: [], uncollected: [] };

/** Ended processes remembered for one probe. */
const MAX_UNCOLLECTED = 200;

const MS_PER_TICK = 1000 / TICKS_PER_SECOND;

/** Checks a container again after these pauses, until nothing of the exec is left. */
const PAUSES_MS = [0, 10, 20, 40, 80, 160] as const;

/**
 * Finds and ends what an exec probe leaves in its container when its time is over. The runtime kills the
 * command itself at best; what the command started goes on, and more of it comes with each attempt.
 */
export class ExecGuard {
  readonly #processes: ContainerProcesses;
  readonly #clock: Clock;
  /** First processes of execs that are being ended: two probes may run the same command. */
  readonly #claimed = new Set<string>();
  readonly #past = new WeakMap<object, Past>();

  constructor(processes: ContainerProcesses, clock: Clock) {
    this.#processes = processes;
    this.#clock = clock;
  }

  nowTicks(): number {
    return this.#processes.nowTicks();
  }

  /** Processes of earlier attempts that could not be ended and still run. */
  async stuck({
    owner,
    podUid,
    containerId,
  }: Omit<GuardedExec, keyof ExecOrigin>): Promise<readonly ContainerProcess[]> {
    const past = this.#past.get(owner) ?? NO_PAST;
    if (past.left.length === 0) return [];
    const now = await this.#processes.of(podUid, containerId);
    const left = now.filter(
      (process) => isAlive(process) && past.left.some((before) => isSame(before, process)),
    );
    this.#past.set(owner, { ...past, left });
    return left;
  }

  /**
   * How long the command of the exec has been running, in milliseconds; `undefined` before it has begun, and where
   * nothing of it can be seen.
   */
  async ranMs(exec: GuardedExec): Promise<number | undefined> {
    const all = await this.#processes.of(exec.podUid, exec.containerId);
    const begun = execTraces(all, exec).filter((trace) => !this.#claimed.has(keyOf(trace)));
    const own = begun.find((trace) => stemsFrom(trace, exec)) ?? begun[0];
    if (own === undefined) return undefined;
    return (this.#processes.nowTicks() - own.startTicks) * MS_PER_TICK;
  }

  /**
   * Ends everything that stems from the exec. `cutOff` makes the runtime give the exec up. It is called
   * once the first process is known: after that nothing distinguishes it from others.
   */
  async clear(exec: GuardedExec, cutOff: () => void, signal: AbortSignal): Promise<Cleared> {
    const all = await this.#processes.of(exec.podUid, exec.containerId);
    const begun = execRoots(all, exec);
    const own = begun.find(
      (root) => isAlive(root) && stemsFrom(root, exec) && !this.#claimed.has(keyOf(root)),
    );
    if (own) this.#claimed.add(keyOf(own));
    try {
      // Known before the first one is killed: what has a session of its own loses its parent then.
      const tree = own ? processTreeOf(all, [own]).filter(isAlive) : [];
      const first = tree.toSorted((a, b) => Number(b === own) - Number(a === own));
      for (const process of first) await this.#processes.kill(process);
      cutOff();
      return await this.#killAll(exec, { begun, own, tree }, signal);
    } finally {
      if (own) this.#claimed.delete(keyOf(own));
    }
  }

  async #killAll(
    exec: GuardedExec,
    { begun, own, tree }: Begun,
    signal: AbortSignal,
  ): Promise<Cleared> {
    const killed = new Map(tree.map((process) => [keyOf(process), process]));
    let members: readonly ContainerProcess[] = [];
    for (const pauseMs of PAUSES_MS) {
      if (pauseMs > 0) await this.#clock.sleep(pauseMs, signal);
      const all = await this.#processes.of(exec.podUid, exec.containerId);
      members = this.#membersOf(all, exec, [
        ...(own ? [own] : goneOf(begun, all)),
        ...all.filter((process) => killed.has(keyOf(process))),
      ]);
      const alive = members.filter(isAlive);
      // Without a first process of its own the exec may not have come to its end in the runtime yet.
      if (alive.length === 0 && (own !== undefined || pauseMs > 0)) break;
      for (const process of alive) {
        killed.set(keyOf(process), process);
        await this.#processes.kill(process);
      }
    }
    const left = members.filter(isAlive);
    const uncollected = await this.#uncollected(exec.owner, [...killed.values()]);
    this.#past.set(exec.owner, { left, uncollected });
    return { killed: killed.size - left.length, left, uncollected: uncollected.length };
  }

  async #uncollected(
    owner: object,
    killed: readonly ContainerProcess[],
  ): Promise<readonly ContainerProcess[]> {
    const before = this.#past.get(owner)?.uncollected ?? [];
    const found: ContainerProcess[] = [];
    for (const process of [...before, ...killed])
      if (await this.#processes.isUncollected(process)) found.push(process);
    return found.slice(-MAX_UNCOLLECTED);
  }

  #membersOf(
    all: readonly ContainerProcess[],
    exec: GuardedExec,
    roots: readonly ContainerProcess[],
  ): readonly ContainerProcess[] {
    const tree = processTreeOf(all, roots);
    return [...tree, ...orphansOf(all, exec).filter((orphan) => !tree.includes(orphan))];
  }
}

/** Processes of an exec at its timeout. */
interface Begun {
  /** Everything that was started from outside since. */
  readonly begun: readonly ContainerProcess[];
  /** Its own first process, where known. */
  readonly own: ContainerProcess | undefined;
  readonly tree: readonly ContainerProcess[];
}

/** Processes that have ended by now, as the runtime ends those of a cancelled exec. */
function goneOf(
  begun: readonly ContainerProcess[],
  all: readonly ContainerProcess[],
): readonly ContainerProcess[] {
  return begun.filter((root) => !all.some((now) => isSame(root, now) && isAlive(now)));
}

function isSame(a: ContainerProcess, b: ContainerProcess): boolean {
  return a.pid === b.pid && a.startTicks === b.startTicks;
}

function keyOf({ pid, startTicks }: ContainerProcess): string {
  return `${pid}/${startTicks}`;
}
