/** Why no such machine can be started here; undefined when one can. */
export function machineObstacle(): string | undefined;
/** Runs a shell command as root in a machine of its own with cgroups of version 2, systemd and containerd 2. */
export function runInMachine(
  command: string,
  options?: {
    readonly timeoutMs?: number;
    readonly memoryMib?: number;
    readonly cpus?: number;
    /** Its swap, in MiB; none by default. */
    readonly swapMib?: number;
    /** Whether its /tmp is on its disk instead of in memory. */
    readonly tmpOnDisk?: boolean;
    /** Folders of the host that are seen at their own paths, beside the checkout and the cache. */
    readonly folders?: readonly string[];
    readonly onLine?: (line: string) => void;
    readonly say?: (text: string) => void;
    readonly signal?: AbortSignal;
  },
): Promise<{ readonly code: number | undefined; readonly output: string }>;
