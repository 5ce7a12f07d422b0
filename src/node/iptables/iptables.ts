/**
 * The chains of iptables that other programs expect of a node's agent: `makeIPTablesUtilChains`. In: configuration. Out:
 * chains and rules, created again after all of them were removed. A machine without iptables, or one where they may
 * not be changed, is no obstacle to pods.
 *
 * Example: `startIptables({ makeIPTablesUtilChains: true }, { host, clock, log, scope })`.
 */
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Host } from "../../outside/host/host.ts";
import type { ProgramResult } from "../../outside/program.ts";
import {
  CANARY_TABLES,
  canary,
  type IptablesProgram,
  nodeChains,
  type RequiredRule,
} from "./node-chains.ts";

interface IptablesDeps {
  readonly host: Pick<Host, "runProgram">;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
}

/** Interval at which the Go kubelet checks its canary. */
const CHECK_EVERY_MS = 60_000;
/** Seconds that iptables waits for others that change tables at the same time. */
const WAIT_SECONDS = 5;
/** The administrator's programs, wherever the agent was started from. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const PROGRAM = { env: { PATH }, input: "", timeoutMs: 30_000, maxOutputBytes: 64 * 1024 };
/** Exit code of a question whose answer is no; any other but 0 is a failure. */
const ABSENT = 1;

/** Keeps the chains of both programs in the scope, where programs can be run. */
export function startIptables(
  { makeIPTablesUtilChains }: { readonly makeIPTablesUtilChains: boolean },
  deps: IptablesDeps,
): void {
  const { host, scope } = deps;
  if (!makeIPTablesUtilChains || !host.runProgram) return;
  for (const program of ["iptables", "ip6tables"] as const)
    scope.spawn(program, "restart", (signal) => keepChains(program, deps, signal));
}

/** Gives up when the chains cannot be created at first, as the Go kubelet does. */
async function keepChains(
  program: IptablesProgram,
  deps: IptablesDeps,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  if (!(await sync(program, deps, signal))) {
    log.info("Failed to initialize iptables rules; some functionality may be missing.", {
      program,
    });
    return;
  }
  log.info("Initialized iptables rules.", { program });
  for (;;) {
    await clock.coalesced.sleep(CHECK_EVERY_MS, signal).catch(() => {});
    if (signal.aborted) return;
    const lives = await attempt(program, canary("mangle"), deps, signal);
    if (lives === "made") await sync(program, deps, signal);
  }
}

/** Makes what is missing; the canaries last, which stand for all of it. */
async function sync(
  program: IptablesProgram,
  deps: IptablesDeps,
  signal: AbortSignal,
): Promise<boolean> {
  for (const required of nodeChains(program))
    if ((await attempt(program, required, deps, signal)) === "failed") return false;
  for (const table of CANARY_TABLES) await attempt(program, canary(table), deps, signal);
  return true;
}

async function attempt(
  program: IptablesProgram,
  { what, asks, makes }: RequiredRule,
  { host, log }: IptablesDeps,
  signal: AbortSignal,
): Promise<"there" | "made" | "failed"> {
  const run = async (args: readonly string[]) => {
    const command = { path: program, args: ["-w", String(WAIT_SECONDS), ...args], ...PROGRAM };
    return (await host.runProgram?.(command, signal)) as ProgramResult;
  };
  try {
    const found = await run(asks);
    if (found.code === 0) return "there";
    const made = found.code === ABSENT ? await run(makes) : found;
    if (made.code === 0) return "made";
    log.warn(`Failed to ensure ${what}`, { program, error: made.stderr.trim() });
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn(`Failed to ensure ${what}`, { program, error });
  }
  return "failed";
}
