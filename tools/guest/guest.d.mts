/** Types of guest.mjs, which is plain JavaScript so that any Node can run it. */
export function guestObstacle(): string | undefined;
export const QEMU: string;
export const CPU: readonly string[];
export const EMULATION: readonly string[];
export const KERNEL_ARGUMENTS: string;
export function guestParts(options?: {
  readonly say?: (text: string) => void;
  /** What is booted: the system on the first disk (default), or a command on the files of this machine. */
  readonly boot?: "disk" | "host";
}): {
  readonly kernel: string;
  readonly modules: string;
  readonly initramfs: string;
};
