/** Runs a shell command as root in an emulated machine with two NUMA nodes: sockets of two cores with two threads each. */
export function runOnNuma(
  command: string,
  options?: {
    readonly timeoutMs?: number;
    readonly onLine?: (line: string) => void;
    readonly say?: (text: string) => void;
  },
): Promise<{ readonly code: number | undefined; readonly output: string }>;
