import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import { StateFiles } from "../kit/state/state-files.ts";
import { StateReserve } from "../kit/state/state-reserve.ts";
import type { Outside } from "../outside/outside.ts";

/** The agent's own files are in this folder of the root folder. */
const FOLDER = "nodelet";
const ROOT_MODE = 0o750;
const FOLDER_MODE = 0o700;

/** The state files of an agent with this root folder, with the space reserved for them. */
export function openState(rootFolder: string, { clock, log, host }: Outside): StateFiles {
  const own = log.child("state");
  const { files } = host;
  const reserve = new StateReserve(`${rootFolder}/${FOLDER}/reserve`, {
    files,
    clock,
    log: own,
    freeBytes: async (path) => (await host.diskUsage(path))?.availableBytes,
  });
  return new StateFiles({ files, clock, log: own, reserve });
}

/**
 * Makes the folders and keeps space reserved as long as the scope is open. `opened` are the state files, where
 * somebody needed some of them before.
 */
export async function startState(
  rootFolder: string,
  deps: {
    readonly outside: Outside;
    readonly scope: TaskScope;
    readonly metrics: MetricsRegistry;
  },
  opened?: StateFiles,
): Promise<StateFiles> {
  const state = opened ?? openState(rootFolder, deps.outside);
  state.expose(deps.metrics);
  const folder = (path: string) => ({ name: "folder", path, holds: "everything below it" });
  await state.makeFolder(folder(rootFolder), ROOT_MODE);
  await state.makeFolder(folder(`${rootFolder}/${FOLDER}`), FOLDER_MODE);
  state.keep(deps.scope);
  return state;
}
