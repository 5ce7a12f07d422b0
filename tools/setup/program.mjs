// The last step: the program takes over, as far as one process can stand in for another.
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { leaveOnSignal } from "./end-left.mjs";
import { endBy, SetupError, say } from "./progress.mjs";
import { ROOT } from "./root.mjs";

/** The terminal sends these to the whole foreground group, our program included. */
const FROM_TERMINAL = new Set(["SIGINT", "SIGQUIT", "SIGHUP", "SIGWINCH", "SIGTSTP"]);
const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2", "SIGWINCH"];

/**
 * Starts the program, passes signals on and ends as it ends. Scripts run with `node`. With `endsLeft`, what a program
 * that was asked to end has left running ends as well; a node is to go on without us.
 */
export function becomeProgram([name, ...args], node, { endsLeft = false } = {}) {
  const path = name.includes("/") ? resolve(ROOT, name) : name;
  const argv = /\.(mjs|js|cjs|ts)$/.test(name) ? [node, path, ...args] : [path, ...args];
  const leave = endsLeft ? leaveOnSignal() : undefined;
  const forward = (signal) => {
    if (!(process.stdin.isTTY && FROM_TERMINAL.has(signal))) child.kill(signal);
  };
  // Before the program starts: it may be up, and be asked to end, before this process has its turn again.
  for (const signal of FORWARDED) process.on(signal, forward);
  const child = spawn(argv[0], argv.slice(1), {
    stdio: "inherit",
    env: { ...process.env, NODELET_NODE: process.env.NODELET_NODE ?? node },
  });
  child.on("error", (error) => {
    const problem = new SetupError(`cannot start ${path}: ${error.message}`);
    say(problem.message);
    process.exitCode = 1;
  });
  child.on("exit", async (code, signal) => {
    if (leave?.signal.aborted) await leave.endLeft();
    leave?.stop();
    for (const each of FORWARDED) process.off(each, forward);
    if (signal === null) process.exitCode = code;
    else endBy(signal);
  });
}
