import type { Clock, WallMs } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { PodFiles } from "../../outside/host/host.ts";
import { planRotation } from "./plan-rotation.ts";

/** When logs are rotated and what is kept of them. */
export interface RotationLimits {
  readonly maxBytes: number;
  /** Files of one log, the current one included. */
  readonly maxFiles: number;
}

/** What rotating needs of the world. */
export interface RotationDeps {
  readonly files: PodFiles;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks the runtime to write to a new file under the log's name. */
  readonly reopen: (containerId: string, signal: AbortSignal) => Promise<void>;
}

/** The log of a running container. */
export interface RunningLog {
  readonly containerId: string;
  /** Absolute path of the current file. */
  readonly path: string;
}

/**
 * Rotates the log when it is larger than allowed; resolves with whether it was. When the runtime does not
 * open the new file, the old name is given back, so that nothing is written to a file that nobody finds.
 * Throws `OutsideError`.
 */
export async function rotateLog(
  { containerId, path }: RunningLog,
  limits: RotationLimits,
  deps: RotationDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { files, clock } = deps;
  const facts = await files.facts(path);
  if (facts === undefined) {
    // The file was removed; the runtime writes into an unlinked one until it reopens it.
    await deps.reopen(containerId, signal);
    return false;
  }
  if (facts.kind !== "file" || facts.sizeBytes < limits.maxBytes) return false;
  const end = path.lastIndexOf("/");
  const folder = path.slice(0, end);
  const siblings = ((await files.list(folder)) ?? []).filter(({ kind }) => kind === "file");
  const plan = planRotation(
    path.slice(end + 1),
    siblings.map(({ name }) => name),
    { maxFiles: limits.maxFiles, localNow: localTime(clock.wall()) },
  );
  for (const name of plan.remove) await files.remove(`${folder}/${name}`);
  for (const name of plan.zip) {
    await files.zip(`${folder}/${name}`, `${folder}/${name}.gz`);
    await files.remove(`${folder}/${name}`);
  }
  const rotated = `${folder}/${plan.renameTo}`;
  await files.rename(path, rotated);
  try {
    await deps.reopen(containerId, signal);
  } catch (error) {
    await files.rename(rotated, path).catch((renameError: unknown) => {
      const fields = { path, error: renameError };
      deps.log.warn("failed to rename a log back after a failed rotation", fields);
    });
    throw error;
  }
  return true;
}

/** The time as clocks on the node's walls show it, in which every kubelet names rotated files. */
function localTime(wall: WallMs): WallMs {
  return (wall - new Date(wall).getTimezoneOffset() * 60_000) as WallMs;
}

/** Removes an attempt's log with all that was rotated away; the container is gone. */
export async function removeLog(path: string, files: PodFiles): Promise<void> {
  const end = path.lastIndexOf("/");
  const folder = path.slice(0, end);
  const name = path.slice(end + 1);
  for (const { name: other, kind } of (await files.list(folder)) ?? [])
    if (kind === "file" && (other === name || other.startsWith(`${name}.`)))
      await files.remove(`${folder}/${other}`);
}
