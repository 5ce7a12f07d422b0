import { spawn } from "node:child_process";
import PQueue from "p-queue";
import { OutsideError } from "../../kit/errors.ts";

/** Programs at once: each start stops the event loop for the time of a fork. */
const AT_ONCE = 4;

/** What is kept of a program's words. */
const OUTPUT_LIMIT = 8 * 1024;

/** The administrator's programs, wherever the agent was started from. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Runs a program to its end with exactly these arguments (no shell) and `fds` open in it from 3 on. A
 * program that fails is an `OutsideError` "io" with its last words, one that is not there "unimplemented".
 */
export type RunProgram = (
  program: string,
  args: readonly string[],
  fds?: readonly number[],
) => Promise<void>;

/** Runs programs, few at once. */
export function createPrograms(): RunProgram {
  const queue = new PQueue({ concurrency: AT_ONCE });
  return (program, args, fds = []) => queue.add(() => runOnce(program, args, fds)) as Promise<void>;
}

function runOnce(program: string, args: readonly string[], fds: readonly number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], {
      env: { PATH, LC_ALL: "C" },
      stdio: ["ignore", "ignore", "pipe", ...fds],
    });
    let words = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      words = (words + text).slice(-OUTPUT_LIMIT);
    });
    child.once("error", (cause) =>
      reject(new OutsideError("unimplemented", `cannot run ${program}`, { cause })),
    );
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else {
        const end = signal === null ? `exit code ${code}` : `signal ${signal}`;
        const message = `${[program, ...args].join(" ")}: ${words.trim() || end}`;
        reject(new OutsideError("io", message, { retryable: true }));
      }
    });
  });
}
