/** A command of this checkout in a guest with cgroup v2, systemd and containerd 2. */
import { checkoutScript } from "./checkout-script.ts";
import { runInMachine } from "./machine.mjs";

/** The longest, a whole group of the conformance suites, takes hours. */
const TIMEOUT_MS = 10 * 3_600_000;
const MEMORY_MIB = 8_192;

/** What a guest has. */
export interface GuestMachine {
  /** Default 2. */
  readonly cpus?: number | undefined;
  /** In MiB; default none. */
  readonly swapMib?: number;
  /** Whether /tmp, and so what containers write, is on its disk; default in memory. */
  readonly tmpOnDisk?: boolean;
}

interface GuestRun extends GuestMachine {
  /** Folders that the guest must have at the same paths, beside the checkout and the cache. */
  readonly folders?: readonly string[];
  /** Receives each line that the command writes. */
  readonly onLine: (line: string) => void;
  /** Receives what is built for the guest. */
  readonly say: (text: string) => void;
  /** Ends the guest; its reason is thrown. */
  readonly signal: AbortSignal;
}

/**
 * Runs a script of this checkout (path below it, then its arguments) in a guest; resolves with its exit code, 2 when
 * the guest did not come to its end. What the script needs must have been built before.
 */
export async function runInGuest(
  argv: readonly [script: string, ...words: string[]],
  { folders: named = [], cpus = 2, swapMib = 0, tmpOnDisk = false, onLine, say, signal }: GuestRun,
): Promise<number> {
  const { command, folders } = checkoutScript(argv);
  const { code } = await runInMachine(command, {
    timeoutMs: TIMEOUT_MS,
    memoryMib: MEMORY_MIB,
    cpus,
    swapMib,
    tmpOnDisk,
    folders: [...folders, ...named],
    onLine,
    say,
    signal,
  });
  signal.throwIfAborted();
  return code ?? 2;
}
