/** Settings of the kernel that a node changes: noted before the first `up`, put back by `down`. */
import { messageOf } from "../../kit/errors.ts";
import { KERNEL_SETTINGS, pathOf } from "../../node/kernel/kernel-settings.ts";
import type { Host } from "../../outside/host/host.ts";

type Kernel = Pick<Host, "readKernel" | "writeKernel">;

/** Kernel settings that agent and network plugins set, by the path below /proc/sys. */
const CHANGED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(KERNEL_SETTINGS.map(({ name, value }) => [name, value])),
  // The bridge of the pods' network.
  "net/ipv4/ip_forward": "1",
};

/** The values now of all settings that a node changes. */
export function kernelValues({ readKernel }: Kernel): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.keys(CHANGED).flatMap((name) => {
      const value = readKernel(pathOf(name));
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Outcome of settings: those that have their old value again, and those that stay, with the reason. */
interface RestoredKernel {
  readonly restored: readonly string[];
  readonly kept: readonly string[];
}

/** Puts settings back to `before`; one that was changed since, to another value than a node's, stays. */
export function restoreKernel(
  before: Readonly<Record<string, string>>,
  kernel: Kernel,
): RestoredKernel {
  const restored: string[] = [];
  const kept: string[] = [];
  for (const [name, value] of Object.entries(before)) {
    const path = pathOf(name);
    const now = kernel.readKernel(path);
    if (now === undefined || now === value) continue;
    const setting = name.replaceAll("/", ".");
    if (now !== CHANGED[name]) {
      kept.push(`kernel setting ${setting} = ${now} (changed since; it was ${value})`);
      continue;
    }
    try {
      kernel.writeKernel(path, value);
      restored.push(`kernel setting ${setting} = ${now} (it is ${value} again)`);
    } catch (error) {
      kept.push(`kernel setting ${setting} = ${now}, it was ${value}: ${messageOf(error)}`);
    }
  }
  return { restored, kept };
}
