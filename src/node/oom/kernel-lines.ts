// pure

/** An OOM kill, from the kernel log. */
export interface OomKill {
  /** Group whose limit was reached; absent when the machine itself had no memory left. */
  readonly limitGroup?: string;
  /** Group of the process that was killed. */
  readonly victimGroup: string;
  /** Name of the program that was killed. */
  readonly program: string;
  /** As the machine counts, whatever namespace the process was in. */
  readonly pid: number;
  /** Anonymous memory of the process; absent when the kernel did not log it. */
  readonly anonymousBytes?: number;
  /** Processes of the same group that were killed with it. */
  readonly others: readonly { readonly program: string; readonly pid: number }[];
}

/** Parsed kernel messages: the OOM kill that is still open, and complete ones. */
export interface OomMessages {
  readonly open: OomKill | undefined;
  /** The victim of `open` is dead: its report is complete. */
  readonly complete: boolean;
  /** Complete OOM kills. */
  readonly done: readonly OomKill[];
}

const BEGIN =
  /^oom-kill:constraint=\w+,.*?(?:oom_memcg=(?<limit>.*?)|global_oom),task_memcg=(?<group>.*?),task=(?<name>.*),pid=(?<pid>\d+),uid=\d+$/;
const KILLED =
  /^(?:Memory cgroup out of memory|Out of memory(?: \([^)]*\))?): Killed process (?<pid>\d+) \((?<name>.*?)\) (?:total-vm:\d+kB, )?(?:anon-rss:(?<anon>\d+)kB)?/;

/**
 * Longest line that is read, twice what the kernel writes (PRINTKRB_RECORD_MAX, 1024): names of programs and groups are a
 * container's to choose, and the time that the expressions take grows with the fourth power of the length.
 */
const MAX_LINE = 2_048;

/** Most processes kept of one group killing. */
const MAX_OTHERS = 20;

/**
 * Reads on, line by line. The kernel (5.0 and newer) reports a killing in a line that says why and which
 * groups, then one for each process that dies: more than one where a group is killed as a whole.
 */
export function readOomLines(messages: OomMessages, lines: readonly string[]): OomMessages {
  let { open, complete } = messages;
  const done: OomKill[] = [...messages.done];
  for (const line of lines) {
    if (line.length > MAX_LINE) continue;
    const begun = beginOf(line);
    if (begun) {
      if (open) done.push(open);
      open = begun;
      complete = false;
    } else if (open) {
      complete ||= KILLED.test(line);
      open = continued(open, line);
    }
  }
  return { open, complete, done };
}

function beginOf(line: string): OomKill | undefined {
  const { limit, group, name, pid } = BEGIN.exec(line)?.groups ?? {};
  if (group === undefined || name === undefined) return undefined;
  return {
    ...(limit === undefined ? {} : { limitGroup: limit }),
    victimGroup: group,
    program: name,
    pid: Number(pid),
    others: [],
  };
}

function continued(open: OomKill, line: string): OomKill {
  const { pid: text, name, anon } = KILLED.exec(line)?.groups ?? {};
  if (text === undefined || name === undefined) return open;
  const pid = Number(text);
  if (pid === open.pid) {
    return anon === undefined ? open : { ...open, anonymousBytes: Number(anon) * 1024 };
  }
  if (open.others.length >= MAX_OTHERS) return open;
  return { ...open, others: [...open.others, { program: name, pid }] };
}
