import { spawn } from "node:child_process";
import { OutsideError } from "../../../kit/errors.ts";
import { Slots } from "../../../kit/limits/slots.ts";
import { NEVER_ABORTED } from "../../../kit/within.ts";

/** Programs at once. */
const AT_ONCE = 4;

/** Maximum of a program's output that is kept. */
const OUTPUT_LIMIT = 8 * 1024;

/** The administrator's programs, wherever the agent was started from. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** How a program ended. */
export interface ProgramEnd {
  /** -1 when a signal ended it. */
  readonly code: number;
  /** As messages name it, e.g. `exit code 1`. */
  readonly end: string;
  /** The last it wrote to both outputs. */
  readonly words: string;
}

/**
 * Runs a program to its end with exactly these arguments (no shell) and `fds` open in it from 3 on. One
 * that is not there is an `OutsideError` "unimplemented".
 */
type TryProgram = (
  program: string,
  args: readonly string[],
  fds?: readonly number[],
) => Promise<ProgramEnd>;

/** As `TryProgram`, and a program that fails is an `OutsideError` "io" with its last words. */
export type RunProgram = (...call: Parameters<TryProgram>) => Promise<void>;

/** Both ways to run a program. */
export interface Programs {
  readonly attempt: TryProgram;
  readonly run: RunProgram;
}

/** Limits on programs. */
interface ProgramLimits {
  /** Default: few, since each start stops the event loop for the time of a fork. */
  readonly atOnce?: number;
  /** How long one may take, in milliseconds; then it is killed with all it has started. Default: as long as it takes. */
  readonly limitMs?: number;
}

/** Runs programs, few at once. One that takes too long is an `OutsideError` "deadline". */
export function createPrograms({ atOnce = AT_ONCE, limitMs }: ProgramLimits = {}): Programs {
  const slots = new Slots({ total: atOnce });
  const attempt: TryProgram = (program, args, fds = []) =>
    slots.run("", NEVER_ABORTED, () => runOnce(program, args, { fds, limitMs }));
  return {
    attempt,
    run: async (program, args, fds) => {
      const { code, end, words } = await attempt(program, args, fds);
      if (code === 0) return;
      const message = `${[program, ...args].join(" ")}: ${words || end}`;
      throw new OutsideError("io", message, { retryable: true });
    },
  };
}

function runOnce(
  program: string,
  args: readonly string[],
  { fds, limitMs }: { readonly fds: readonly number[]; readonly limitMs: number | undefined },
): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], {
      env: { PATH, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "pipe", ...fds],
      // A group of its own, to be killed with all in it.
      detached: limitMs !== undefined,
    });
    const over = limitMs === undefined ? undefined : setTimeout(() => giveUp(limitMs), limitMs);
    const giveUp = (ms: number) => {
      const what = [program, ...args].join(" ");
      reject(new OutsideError("deadline", `${what}: not done within ${ms / 1000} s`));
      if (child.pid !== undefined) killGroup(child.pid);
    };
    let words = "";
    for (const output of [child.stdout, child.stderr])
      output?.setEncoding("utf8").on("data", (text: string) => {
        words = (words + text).slice(-OUTPUT_LIMIT);
      });
    child.once("error", (cause) => {
      clearTimeout(over);
      reject(new OutsideError("unimplemented", `cannot run ${program}`, { cause }));
    });
    child.once("close", (code, signal) => {
      clearTimeout(over);
      const end = signal === null ? `exit code ${code}` : `signal ${signal}`;
      resolve({ code: code ?? -1, end, words: words.trim() });
    });
  });
}

/** A program in a system call that cannot be interrupted goes when that returns. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
}
