/** One agent on one root folder: a second one would take the first one's pods for orphans. */
import type { Clock } from "../kit/clock.ts";
import { isOutside, UsageError } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";
import type { FileLocks, Files, Host } from "../outside/host/host.ts";

interface RootLockDeps {
  readonly clock: Pick<Clock, "wall" | "sleep">;
  readonly log: Log;
  readonly host: { readonly files: Files; readonly locks?: Host["locks"] };
}

const ROOT_MODE = 0o750;
const FOLDER_MODE = 0o700;
const HOLDER_MODE = 0o644;
const MAX_HOLDER_BYTES = 1024;
/** An agent that has just been stopped or killed may need that long to end. */
const WAIT_MS = 1_000;
const POLL_MS = 100;

/**
 * Locks the root folder of an agent before anything in it is read; held until disposed of, or until the process ends. Throws
 * `UsageError`, which names the holder, when another agent has it. A disk on which nothing can be locked is logged: the
 * agent runs on a damaged disk, too.
 */
export async function lockRoot(
  { rootFolder, nodeName }: { readonly rootFolder: string; readonly nodeName: string },
  deps: RootLockDeps,
  signal: AbortSignal,
): Promise<Disposable> {
  const { clock, log, host } = deps;
  const { locks } = host;
  const folder = `${rootFolder}/nodelet`;
  if (!locks) return NO_LOCK;
  try {
    await makeFolders(rootFolder, folder, host.files);
    const lock = await taken(`${folder}/agent.lock`, { clock, locks }, signal);
    if (!lock) throw new UsageError(await refusal(rootFolder, folder, host.files));
    const since = new Date(clock.wall()).toISOString();
    const text = `process ${locks.pid}, node ${nodeName}, since ${since}\n`;
    await host.files.writeAtomic(holderPath(folder), text, HOLDER_MODE).catch((error: unknown) => {
      log.verbose(1, "failed to note who holds the lock of the root folder", { error });
    });
    return lock;
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("the root folder cannot be locked: nothing keeps a second agent from using it", {
      path: rootFolder,
      error,
    });
    return NO_LOCK;
  }
}

const NO_LOCK: Disposable = { [Symbol.dispose]: () => {} };

function holderPath(folder: string): string {
  return `${folder}/agent.holder`;
}

/** Makes those that are missing; the mode of one that is there is not for somebody who may be refused to change. */
async function makeFolders(root: string, folder: string, files: Files): Promise<void> {
  for (const [path, mode] of [
    [root, ROOT_MODE],
    [folder, FOLDER_MODE],
  ] as const)
    if ((await files.facts(path, { follow: true })) === undefined)
      await files.makeDirectory(path, mode);
}

async function taken(
  path: string,
  { clock, locks }: { readonly clock: RootLockDeps["clock"]; readonly locks: FileLocks },
  signal: AbortSignal,
): Promise<Disposable | undefined> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    try {
      return await locks.take(path);
    } catch (error) {
      if (!isOutside(error, "alreadyExists")) throw error;
      if (waitedMs >= WAIT_MS) return undefined;
      await clock.sleep(POLL_MS, signal);
    }
  }
}

/** What is said to the second agent. */
async function refusal(root: string, folder: string, files: Files): Promise<string> {
  const text = await files
    .readText(holderPath(folder), { maxBytes: MAX_HOLDER_BYTES })
    .catch(() => undefined);
  const holder = text?.trim() || "its process is not known";
  return (
    `another agent is running on the root folder ${root} (${holder}): ` +
    "stop it first, or give this one a root folder of its own (--root-dir)"
  );
}
