// pure

/** The kernel's clock ticks, which have been this long for every program since there are programs. */
export const TICKS_PER_SECOND = 100;

/** What is known of a process in a container: enough to find the exec that it belongs to. */
export interface ContainerProcess {
  readonly pid: number;
  readonly parentPid: number;
  readonly sessionId: number;
  /** Clock ticks since boot. */
  readonly startTicks: number;
  /** The kernel's letter; Z has ended and waits for its parent to take notice. */
  readonly state: string;
  /** Words of the command line, joined by blanks. */
  readonly command: string;
}

/** Processes started by an exec probe, and when. */
export interface ExecOrigin {
  readonly command: readonly string[];
  /** Nothing of it began before. */
  readonly sinceTicks: number;
}

/** Whether a process still runs: a stopped one does, one that only waits to be taken notice of does not. */
export function isAlive({ state }: ContainerProcess): boolean {
  return state !== "Z" && state !== "X";
}

/**
 * The processes with which something was started in the container from outside since then, oldest first:
 * the runtime gives each exec a session of its own and stays its parent.
 */
export function execRoots(
  all: readonly ContainerProcess[],
  { sinceTicks }: ExecOrigin,
): readonly ContainerProcess[] {
  const inside = new Set(all.map(({ pid }) => pid));
  return all
    .filter(
      ({ pid, parentPid, sessionId, startTicks }) =>
        startTicks >= sinceTicks && sessionId === pid && !inside.has(parentPid),
    )
    .toSorted((a, b) => a.startTicks - b.startTicks || a.pid - b.pid);
}

/** The runtime's own program on its way to become the command (runc's `init`). */
const ON_ITS_WAY = /^(\S*runc|\/proc\/self\/\S+) init$/;

/**
 * Processes that were started in the container from outside since then and run, oldest first: the first
 * process of each such command, or those that it has left behind.
 */
export function execTraces(
  all: readonly ContainerProcess[],
  origin: ExecOrigin,
): readonly ContainerProcess[] {
  const leaders = new Set(all.filter(isAlive).map(({ pid }) => pid));
  const left = all.filter(
    ({ startTicks, sessionId }) => startTicks >= origin.sinceTicks && !leaders.has(sessionId),
  );
  return [...execRoots(all, origin), ...left]
    .filter((each) => isAlive(each) && !ON_ITS_WAY.test(each.command))
    .toSorted((a, b) => a.startTicks - b.startTicks);
}

/**
 * Whether the command line is one that the command leads to: itself, itself behind an interpreter, or a
 * part of it that a shell became (`sh -c "sleep 9"` is `sleep 9` in the end). A single word is too little.
 */
export function stemsFrom({ command: seen }: ContainerProcess, { command }: ExecOrigin): boolean {
  const whole = command.join(" ");
  if (seen === whole || (whole !== "" && seen.endsWith(` ${whole}`))) return true;
  return seen.includes(" ") && whole.includes(seen);
}

/** The given processes and their descendants: by parent, and by session where the parent ended. */
export function processTreeOf(
  all: readonly ContainerProcess[],
  roots: readonly Pick<ContainerProcess, "pid">[],
): readonly ContainerProcess[] {
  const sessions = new Set(roots.map(({ pid }) => pid));
  const members = new Set(sessions);
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { pid, parentPid, sessionId } of all)
      if (sessions.has(sessionId) || members.has(parentPid)) members.add(pid);
  }
  return all.filter(({ pid }) => members.has(pid));
}

/** Processes left behind by commands of this origin whose first process is gone. */
export function orphansOf(
  all: readonly ContainerProcess[],
  origin: ExecOrigin,
): readonly ContainerProcess[] {
  const living = new Set(all.filter(isAlive).map(({ pid }) => pid));
  return all.filter(
    (each) =>
      each.startTicks >= origin.sinceTicks &&
      !living.has(each.sessionId) &&
      stemsFrom(each, origin),
  );
}
