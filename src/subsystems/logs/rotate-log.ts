import type { Clock, WallMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { PodFiles } from "../../outside/host/host.ts";
import { planRotation } from "./plan-rotation.ts";

/** When logs are rotated and what is kept of them. */
export interface RotationLimits {
  readonly maxBytes: number;
  /** Files of one log, the current one included. */
  readonly maxFiles: number;
}

export interface RotationDeps {
  readonly files: Pick<PodFiles, "listBeneath" | "changeBeneath">;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks the runtime to write to a new file under the log's name. */
  readonly reopen: (containerId: string, signal: AbortSignal) => Promise<void>;
}

/** Location of a log: containers may mount the folders below `root` and replace them with links. */
interface LogPlace {
  /** Folder that holds all logs of pods. */
  readonly root: string;
  /** Absolute path of the current file, below it. */
  readonly path: string;
}

/** The log of a running container. */
export interface RunningLog {
  readonly containerId: string;
  /** Absolute path of the current file. */
  readonly path: string;
}

/**
 * Rotates the log when it is larger than allowed; resolves with whether it was. When the runtime does not
 * open the new file, the old name is given back, so that nothing is written to a file that no reader finds.
 * Files are listed and changed in the log's own folder without following a link that a container planted there.
 * Throws `OutsideError`.
 */
export async function rotateLog(
  { containerId, root, path }: RunningLog & LogPlace,
  limits: RotationLimits,
  deps: RotationDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { files, clock } = deps;
  const { folder, name } = placeIn(root, path);
  const entries = (await files.listBeneath(root, folder)) ?? [];
  const current = entries.find((entry) => entry.name === name);
  if (current === undefined) {
    // The file was removed; the runtime writes into an unlinked one until it reopens it.
    await deps.reopen(containerId, signal);
    return false;
  }
  if (current.kind !== "file" || current.sizeBytes < limits.maxBytes) return false;
  const siblings = entries.filter(({ kind }) => kind === "file").map((entry) => entry.name);
  const plan = planRotation(name, siblings, {
    maxFiles: limits.maxFiles,
    localNow: localTime(clock.wall()),
  });
  await files.changeBeneath(root, folder, [
    ...plan.remove.map((old) => ({ kind: "remove", name: old }) as const),
    ...plan.zip.map((old) => ({ kind: "zip", name: old }) as const),
    { kind: "rename", from: name, to: plan.renameTo },
  ]);
  try {
    await deps.reopen(containerId, signal);
  } catch (error) {
    const back = { kind: "rename", from: plan.renameTo, to: name } as const;
    await files.changeBeneath(root, folder, [back]).catch((renameError: unknown) => {
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

/** Removes an attempt's log with all that was rotated away; the container is gone. Follows no link. */
export async function removeLog(
  { root, path }: LogPlace,
  files: Pick<PodFiles, "listBeneath" | "changeBeneath">,
): Promise<void> {
  const { folder, name } = placeIn(root, path);
  const own = ((await files.listBeneath(root, folder)) ?? []).filter(
    ({ name: other, kind }) => kind === "file" && (other === name || other.startsWith(`${name}.`)),
  );
  if (own.length === 0) return;
  const changes = own.map(({ name: other }) => ({ kind: "remove", name: other }) as const);
  await files.changeBeneath(root, folder, changes);
}

/** The log's folder below `root`, and its name there; a path elsewhere is an `OutsideError` "precondition". */
function placeIn(root: string, path: string): { readonly folder: string; readonly name: string } {
  const end = path.lastIndexOf("/");
  if (!path.startsWith(`${root}/`) || end <= root.length)
    throw new OutsideError("precondition", `the log ${path} is not below ${root}`);
  return { folder: path.slice(root.length + 1, end), name: path.slice(end + 1) };
}
