/** Types of guest.mjs, which is plain JavaScript so that any Node can run it. */
export function guestObstacle(): string | undefined;
export const QEMU: string;
export const EMULATION: readonly string[];
export const KERNEL_ARGUMENTS: string;
export function guestParts(options?: { readonly say?: (text: string) => void }): {
  readonly kernel: string;
  readonly modules: string;
  readonly initramfs: string;
};
