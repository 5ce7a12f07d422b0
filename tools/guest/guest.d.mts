/** Types of guest.mjs, which is plain JavaScript so that any Node can run it. */
export function guestObstacle(): string | undefined;
export function guestParts(options?: { readonly say?: (text: string) => void }): {
  readonly kernel: string;
  readonly initramfs: string;
};
export function runInGuest(
  command: string,
  options?: {
    readonly timeoutMs?: number;
    readonly memoryMib?: number;
    readonly onLine?: (line: string) => void;
    readonly say?: (text: string) => void;
  },
): Promise<{ readonly code: number | undefined; readonly output: string }>;
