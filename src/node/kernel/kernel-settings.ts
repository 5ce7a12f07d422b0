// pure

/** A setting of the kernel, below /proc/sys. */
interface KernelSetting {
  readonly name: string;
  readonly value: string;
}

/** A setting that is not as it should be. */
interface OddSetting extends KernelSetting {
  readonly found: string;
}

/**
 * Kernel settings that pods rely on: memory may be overcommitted, OOM kills only the process that exceeds, the
 * kernel restarts after a panic, and there are keys for many containers.
 * Source: kubelet cm setupKernelTunables.
 */
export const KERNEL_SETTINGS: readonly KernelSetting[] = [
  { name: "vm/overcommit_memory", value: "1" },
  { name: "vm/panic_on_oom", value: "0" },
  { name: "kernel/panic", value: "10" },
  { name: "kernel/panic_on_oops", value: "1" },
  { name: "kernel/keys/root_maxkeys", value: "1000000" },
  { name: "kernel/keys/root_maxbytes", value: "25000000" },
];

/** Settings that differ; what the kernel does not have does not matter. */
export function oddSettings(read: (path: string) => string | undefined): readonly OddSetting[] {
  return KERNEL_SETTINGS.flatMap(({ name, value }) => {
    const found = read(pathOf(name));
    return found === undefined || found === value ? [] : [{ name, value, found }];
  });
}

/** `/proc/sys/vm/overcommit_memory`. */
export const pathOf = (name: string): string => `/proc/sys/${name}`;

/** In the Go kubelet's words, with what to do. */
export function settingsProblem(odd: readonly OddSetting[]): string {
  const each = odd.map(
    ({ name, value, found }) =>
      `invalid kernel flag: ${name}, expected value: ${value}, actual value: ${found}`,
  );
  return `protectKernelDefaults: ${each.join("; ")}; set them (sysctl -w) or switch protectKernelDefaults off`;
}
