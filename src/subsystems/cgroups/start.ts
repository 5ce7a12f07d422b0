import { isOutside, messageOf, UsageError } from "../../kit/errors.ts";
import { isKernelAtLeast } from "../../kit/proc/kernel-version.ts";
import type { CgroupTree, HostFacts } from "../../outside/host/host.ts";
import type { SystemdUnits } from "../../outside/systemd/systemd.ts";
import type { CgroupAccess } from "./apply.ts";
import { literalPath } from "./names.ts";
import type { CgroupOptions } from "./options.ts";
import type { CgroupSettings } from "./settings.ts";

/** Controllers without which pods cannot be limited. */
const NEEDED_CONTROLLERS = ["cpu", "memory"] as const;

/** Oldest systemd that starts slices as they are needed. */
const OLDEST_SYSTEMD = 229;

/** The means of the driver. `UsageError` when systemd is to keep the groups and does not run. */
export async function connectCgroups(
  options: CgroupOptions,
  tree: CgroupTree,
  units: SystemdUnits | undefined,
): Promise<CgroupAccess> {
  if (options.driver !== "systemd" || !options.cgroupsPerQos) return { tree };
  try {
    const version = (await units?.version()) ?? 0;
    if (units && version >= OLDEST_SYSTEMD) return { tree, systemd: { units, version } };
    throw new UsageError(
      `cgroupDriver "systemd": systemd ${version} is too old, ${OLDEST_SYSTEMD} is needed`,
    );
  } catch (thrown) {
    if (!isOutside(thrown)) throw thrown;
    throw new UsageError(
      `cgroupDriver "systemd": ${thrown.message}; use "cgroupfs" here and in the runtime where systemd does not run`,
      { cause: thrown },
    );
  }
}

/** `UsageError` when a cgroup controller is missing without which pods cannot be limited. */
export function checkControllers({ controllers }: CgroupTree): void {
  const missing = NEEDED_CONTROLLERS.filter((controller) => !controllers.has(controller));
  if (missing.length > 0) {
    throw new UsageError(
      `cgroups: the kernel offers no ${missing.join(" and no ")} controller; enable it at boot`,
    );
  }
}

/** `UsageError` when the configured root is not there with all controllers. */
export async function checkRoot(
  tree: Pick<CgroupTree, "exists">,
  settings: Pick<CgroupSettings, "root" | "driver">,
  configured: string,
): Promise<void> {
  const root = literalPath(settings.root, settings.driver);
  if (root === "/" || (await tree.exists(root))) return;
  throw new UsageError(
    `cgroupRoot ${JSON.stringify(configured)}: no cgroup ${root} with all controllers; create it before the agent starts`,
  );
}

/** v1 shows at the root whether swap is counted, v2 only in a group below it. */
export async function readSwap(
  tree: CgroupTree,
  settings: CgroupSettings,
): Promise<CgroupSettings["swap"]> {
  const [file, groups] =
    tree.version === 1
      ? (["memory.memsw.limit_in_bytes", ["/"]] as const)
      : (["memory.swap.max", (await tree.children("/")).map((name) => `/${name}`)] as const);
  let controlled = false;
  for (const group of groups) controlled ||= (await tree.read(group, file)) !== undefined;
  return { ...settings.swap, controlled };
}

/** With systemd on v2 the CPUs must be named, or it takes the controller away again. */
export async function readCpus({
  tree,
  systemd,
}: CgroupAccess): Promise<{ readonly cpus?: string }> {
  if (!systemd || tree.version === 1 || !tree.controllers.has("cpuset")) return {};
  const cpus = (await tree.read("/", "cpuset.cpus.effective"))?.trim();
  return cpus ? { cpus } : {};
}

/** From this kernel on, processes that reach `memory.high` cannot stall in the kernel for good. */
const THROTTLING_KERNEL = [5, 9] as const;

/** Why memory QoS does not do on this machine what it is for; `undefined` where it does, or is off. */
export function memoryQosWarning(
  { memoryQos, version }: Pick<CgroupSettings, "memoryQos" | "version">,
  { kernelVersion }: Pick<HostFacts, "kernelVersion">,
): string | undefined {
  if (memoryQos === undefined) return undefined;
  if (version === 1) return "memory QoS has no effect with cgroup v1";
  if (isKernelAtLeast(kernelVersion, THROTTLING_KERNEL)) return undefined;
  return "memory QoS needs kernel 5.9 or newer: processes may stall when they reach memory.high";
}

/** Message of a reservation that cannot be enforced. */
export function unenforceableReservation(thrown: unknown): UsageError {
  return new UsageError(
    `enforceNodeAllocatable: a reservation cannot be enforced: ${messageOf(thrown)}`,
    { cause: thrown },
  );
}
