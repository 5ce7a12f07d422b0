import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { KubeletConfig } from "../../../config/kubelet-config.ts";
import { loadConfig } from "../../../config/load.ts";
import { formatConfigProblem } from "../../../config/problem.ts";
import { createSystemClock } from "../../../kit/clock.ts";
import { messageOf, UsageError } from "../../../kit/errors.ts";
import { silentLog } from "../../../kit/log.ts";
import { connectHost } from "../../../outside/host/connect-host.ts";
import type { Host } from "../../../outside/host/host.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_NOT_FOUND, EXIT_USAGE } from "../../../present/exit-codes.ts";
import type { Io } from "../../io.ts";
import { DEFAULT_PLACES } from "../../up/paths.ts";

/** Location of the planned agent's configuration. */
export interface ConfigPlace {
  /** The file; that of `nodelet up` when it is there and none is named. */
  readonly config?: string;
  /** Flags as for `nodelet run`. */
  readonly flags: readonly string[];
}

/** The configuration; `undefined` when it cannot be used, with all its problems on standard error. */
export async function loadPlanConfig(
  { config: path, flags }: ConfigPlace,
  { stderr, cwd }: Pick<Io, "stderr" | "cwd">,
): Promise<KubeletConfig | undefined> {
  const named = path ?? (existsSync(DEFAULT_PLACES.config) ? DEFAULT_PLACES.config : "");
  const argv = [...(named === "" ? [] : [`--config=${named}`]), ...flags];
  const { config, problems } = await loadConfig(argv, thisHost().files, { cwd });
  for (const problem of problems) stderr.write(`nodelet: ${formatConfigProblem(problem)}\n`);
  return problems.length > 0 ? undefined : config;
}

/** The machine that the command runs on. */
export const thisHost = (): Host => connectHost({ clock: createSystemClock(), log: silentLog });

/** The text of a file, or of standard input for `-`. */
export function readInput(path: string, cwd: string): string {
  try {
    return readFileSync(path === "-" ? 0 : resolve(cwd, path), "utf8");
  } catch (thrown) {
    throw new CliError(`cannot read ${path}: ${messageOf(thrown)}`, {
      exitCode: EXIT_NOT_FOUND,
      cause: thrown,
    });
  }
}

/** Runs `work`; invalid input of the user becomes a `CliError` with exit code `EXIT_USAGE`. */
export async function understood<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    throw new CliError(thrown.message, { exitCode: EXIT_USAGE, cause: thrown });
  }
}
