/** Types of guest.mjs, which is plain JavaScript so that any Node can run it. */
export function guestObstacle(): string | undefined;
/** What an initramfs consists of: the path of its first process, and names of kernel modules. */
export interface Boot {
  readonly init: string;
  readonly modules: readonly string[];
}
export const QEMU: string;
export const EMULATION_OF_ONE: readonly string[];
export const KERNEL_ARGUMENTS: string;
export const FIRST_DISK: Boot;
export function guestParts(options?: {
  readonly say?: (text: string) => void;
  readonly boot?: Boot;
}): {
  readonly kernel: string;
  readonly modules: string;
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
