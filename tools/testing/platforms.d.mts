/** Types of platforms.mjs, which is plain JavaScript as the runner is. */
export const PLATFORM_PATHS: readonly string[];
/** Why a file does not run in the guest; undefined when it does. */
export function whyNotInGuest(path: string): string | undefined;
/** The first process of a file's boxes in the guest: with systemd the driver is systemd, with `sh` it is cgroupfs. */
export function initInGuest(path: string): "sh" | "systemd";
