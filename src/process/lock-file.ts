/** The lock file of the agent (`--lock-file`), by which one agent waits for the end of another. */
import { closeSync, fstatSync, openSync, readFileSync, statSync, watch } from "node:fs";
import type { KubeletFlags } from "../config/flags/kubelet-flags.ts";
import type { Log } from "../kit/log.ts";
import { holdWith } from "../outside/hold-with.ts";

interface LockDeps {
  readonly log: Pick<Log, "info" | "error">;
  /** Aborted when the agent has to leave. */
  readonly leave: AbortController;
}

const LOCKS = "/proc/locks";
/** The kernel does not notify of waiters for a lock: interval of the checks. */
const CONTENTION_MS = 1_000;

/**
 * Takes the lock on the file that the flags name, waiting for it as long as it takes, and holds it until disposed of.
 * With `--exit-on-lock-contention` the agent exits when another process waits for the lock or removes the file. The lock
 * is flock(2)'s, as the Go kubelet's (server.go), so that both respect each other.
 */
export async function lockAgentFile(
  { lockFile, exitOnLockContention }: Pick<KubeletFlags, "lockFile" | "exitOnLockContention">,
  { log, leave }: LockDeps,
): Promise<Disposable> {
  if (lockFile === "") return { [Symbol.dispose]: () => {} };
  log.info("acquiring file lock", { path: lockFile });
  const inode = createFile(lockFile);
  const hold = await holdWith(
    {
      path: "flock",
      args: ["--exclusive", lockFile],
      action: `lock the file ${lockFile} (--lock-file)`,
      from: "util-linux",
    },
    leave.signal,
  );
  log.info("file lock acquired", { path: lockFile });
  const stop = exitOnLockContention ? watchContention(lockFile, inode, { log, leave }) : () => {};
  return {
    [Symbol.dispose]: () => {
      stop();
      hold.release();
    },
  };
}

/** Makes the file, readable by its owner only, and gives its inode. */
function createFile(path: string): number {
  const file = openSync(path, "a", 0o600);
  try {
    return fstatSync(file).ino;
  } finally {
    closeSync(file);
  }
}

function watchContention(path: string, inode: number, { log, leave }: LockDeps): () => void {
  const exit = (why: string) => {
    log.error("exiting because of --exit-on-lock-contention", { path, error: why });
    leave.abort(new Error(`lock contention: ${why}`));
  };
  const timer = setInterval(() => {
    if (hasWaiter(readFileSync(LOCKS, "utf8"), inode)) exit("another process waits for the lock");
  }, CONTENTION_MS);
  timer.unref();
  // Removing an open file is reported as a change of it.
  const watcher = watch(path, { persistent: false }, () => {
    if (statSync(path, { throwIfNoEntry: false })?.ino !== inode)
      exit("the file was removed or replaced");
  });
  watcher.on("error", () => {});
  return () => {
    clearInterval(timer);
    watcher.close();
  };
}

/**
 * Whether a process waits for flock(2) on a file of that inode, by the text of /proc/locks: waiters stand behind an arrow,
 * `1: -> FLOCK ADVISORY WRITE 4711 00:2d:99 0 EOF`.
 */
export function hasWaiter(locks: string, inode: number): boolean {
  return locks.split("\n").some((line) => {
    const [, arrow, kind, , , , place = ""] = line.trim().split(/\s+/);
    return arrow === "->" && kind === "FLOCK" && place.split(":")[2] === String(inode);
  });
}
