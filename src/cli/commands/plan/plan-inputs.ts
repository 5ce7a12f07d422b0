import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { KubeletConfig } from "../../../config/kubelet-config.ts";
import { createSystemClock } from "../../../kit/clock.ts";
import { messageOf, UsageError } from "../../../kit/errors.ts";
import { silentLog } from "../../../kit/log.ts";
import { connectHost } from "../../../outside/host/connect-host.ts";
import type { Host } from "../../../outside/host/host.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_NOT_FOUND, EXIT_USAGE } from "../../../present/exit-codes.ts";
import type { Io } from "../../io.ts";
import { loadNamedConfig } from "../config.ts";

/** Location of the planned agent's configuration. */
export interface ConfigPlace {
  /** The file; that of `nodelet up` when it is there and none is named. */
  readonly config?: string;
  /** Flags as for `nodelet run`. */
  readonly flags: readonly string[];
}

/** The configuration; `undefined` when it cannot be used, with all its problems on standard error. */
export async function loadPlanConfig(
  place: ConfigPlace,
  io: Io,
): Promise<KubeletConfig | undefined> {
  const { config, problems } = await loadNamedConfig(place.flags, place, io);
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
