import { spawn } from "node:child_process";
import { OutsideError } from "../../../kit/errors.ts";
import { Slots } from "../../../kit/limits/slots.ts";
import { NEVER_ABORTED } from "../../../kit/within.ts";

/** Programs at once: each start stops the event loop for the time of a fork. */
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

/** Runs programs, few at once. */
export function createPrograms(): Programs {
  const slots = new Slots({ total: AT_ONCE });
  const attempt: TryProgram = (program, args, fds = []) =>
    slots.run("", NEVER_ABORTED, () => runOnce(program, args, fds));
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
  fds: readonly number[],
): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], {
      env: { PATH, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "pipe", ...fds],
    });
    let words = "";
    for (const output of [child.stdout, child.stderr])
      output?.setEncoding("utf8").on("data", (text: string) => {
        words = (words + text).slice(-OUTPUT_LIMIT);
      });
    child.once("error", (cause) =>
      reject(new OutsideError("unimplemented", `cannot run ${program}`, { cause })),
    );
    child.once("close", (code, signal) => {
      const end = signal === null ? `exit code ${code}` : `signal ${signal}`;
      resolve({ code: code ?? -1, end, words: words.trim() });
    });
  });
}
