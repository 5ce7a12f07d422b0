// What containers of tests run, spelled as shell commands that both busybox and the fake runtime
// understand: the fake reads the script it would otherwise have to execute.

import { WAIT_FOREVER } from "../support/stay.ts";

/** Exit code of a process that SIGKILL ended. */
export const SIGKILL_CODE = 137;

/** Kept as it is: state files of earlier versions are of pods with this very text (`test/testdata/states`). */
const RUNS_ON = "while true; do sleep 0.05; done";

/** Behaviour of a container's main process. */
export type Program =
  /** Runs until it is asked to end, then ends with 0 + the signal. */
  | { readonly kind: "sleep" }
  /** Runs until it is asked to end, then ends well. */
  | { readonly kind: "polite" }
  /** Runs until it is killed by force. */
  | { readonly kind: "stubborn" }
  | { readonly kind: "exit"; readonly code: number; readonly afterMs: number };

/** The command of a container that behaves like `program`. */
export function commandOf(program: Program): readonly string[] {
  switch (program.kind) {
    case "sleep":
      return ["/bin/sh", "-c", `trap 'exit 143' TERM; ${RUNS_ON}`];
    case "polite":
      return ["/bin/sh", "-c", `trap 'exit 0' TERM; ${RUNS_ON}`];
    case "stubborn":
      return ["/bin/sh", "-c", `trap '' TERM; ${RUNS_ON}`];
    case "exit":
      return ["/bin/sh", "-c", `sleep ${program.afterMs / 1000}; exit ${program.code}`];
    default:
      return program satisfies never;
  }
}

/** A pod's spec for a real kernel, where twenty new processes a second for each container keep a machine busy. */
export function withoutBusyPrograms<T>(spec: T): T {
  const text = JSON.stringify(spec);
  return JSON.parse(text.replaceAll(RUNS_ON, () => WAIT_FOREVER)) as T;
}

/** The behaviour that `command` describes; anything unknown cannot be executed. */
export function programOf(command: readonly string[]): Program | undefined {
  const [shell, flag, script = ""] = command;
  if ((shell !== "/bin/sh" && shell !== "sh") || flag !== "-c") return undefined;
  if (script.startsWith("trap ''")) return { kind: "stubborn" };
  if (script.startsWith("trap 'exit 0'")) return { kind: "polite" };
  if (script.startsWith("trap 'exit 143'")) return { kind: "sleep" };
  const exit = /^sleep ([0-9.]+); exit ([0-9]+)$/.exec(script);
  return exit
    ? { kind: "exit", afterMs: Number(exit[1]) * 1000, code: Number(exit[2]) }
    : undefined;
}

/** The exit code of a command that is run in a container. */
export function exitCodeOf(command: readonly string[]): number {
  const program = programOf(command);
  return program?.kind === "exit" ? program.code : 0;
}

/** The exit code of a program that was asked to end, and killed where it does not. */
export function codeWhenStopped(program: Program | undefined): number {
  if (program?.kind === "polite") return 0;
  return program?.kind === "stubborn" ? 137 : 143;
}
