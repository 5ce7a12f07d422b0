/**
 * systemd as what has started this process as a service: sd_notify(3). `systemd-notify` sends the messages: they go over
 * a datagram socket of the file system, which Node does not have.
 */
import { isOutside, messageOf, OutsideError } from "../../kit/errors.ts";
import type { Program, ProgramResult } from "../program.ts";

/** The service manager that started the agent (sd_notify(3)). */
export interface ServiceNotifier {
  /** Within this time it expects `WATCHDOG=1`, or it ends the agent; undefined where it does not. */
  readonly watchdogMs: number | undefined;
  /** Sends assignments, e.g. `READY=1`. Throws `OutsideError`. */
  notify(assignments: readonly string[], signal: AbortSignal): Promise<void>;
}

interface ServiceNotifierOptions {
  /** The variables that it has set: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly runProgram: (program: Program, signal: AbortSignal) => Promise<ProgramResult>;
}

const PROGRAM = "systemd-notify";
/** systemd-notify itself waits for 5 s until the manager has read the message (sd_notify_barrier(3)), and says when it has not. */
const TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 4096;
const MICROS_PER_MS = 1000;

/** The manager of this process; `undefined` where it was not started as a service that reports its state. */
export function connectServiceNotifier({
  env,
  pid,
  runProgram,
}: ServiceNotifierOptions): ServiceNotifier | undefined {
  const socket = env["NOTIFY_SOCKET"];
  if (socket === undefined || socket === "") return undefined;
  return {
    watchdogMs: watchdogOf(env, pid),
    notify: async (assignments, signal) => {
      const program = {
        path: PROGRAM,
        args: assignments.map(oneLine),
        env: {},
        input: "",
        timeoutMs: TIMEOUT_MS,
        maxOutputBytes: MAX_OUTPUT_BYTES,
      };
      const result = await runProgram(program, signal).catch((error: unknown) => {
        if (isOutside(error, "notFound"))
          throw new OutsideError("notFound", `${messageOf(error)} (it comes with systemd)`);
        throw error;
      });
      if (result.code === 0) return;
      const how = result.stderr.trim() || `it ended with ${result.by || `code ${result.code}`}`;
      throw new OutsideError("io", `notify the service manager at ${socket}: ${how}`);
    },
  };
}

/** An assignment ends with its line. */
function oneLine(assignment: string): string {
  return assignment.replaceAll(/[\r\n]+/g, " ");
}

/** As sd_watchdog_enabled(3) reads it: a number of microseconds that is meant for this process. */
function watchdogOf(env: ServiceNotifierOptions["env"], pid: number): number | undefined {
  const meantFor = env["WATCHDOG_PID"];
  if (meantFor !== undefined && meantFor !== "" && meantFor !== String(pid)) return undefined;
  const micros = Number(env["WATCHDOG_USEC"] ?? "");
  return Number.isSafeInteger(micros) && micros > 0 ? micros / MICROS_PER_MS : undefined;
}
