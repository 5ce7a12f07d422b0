/**
 * Prepares kernel and process for pods, once at the start: the kernel's settings that pods count on, and how
 * unlikely the agent is killed when memory runs out. In: configuration, /proc. Out: /proc.
 */
import { isOutside, UsageError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Host } from "../../outside/host/host.ts";
import { oddSettings, pathOf, settingsProblem } from "./kernel-settings.ts";

/** Its configuration. */
interface KernelOptions {
  /** Refuse to start in place of changing settings. */
  readonly protectKernelDefaults: boolean;
  /** -1000 to 1000. */
  readonly oomScoreAdj: number;
}

/** How unlikely the kernel is to end the agent. */
export const OWN_OOM_SCORE = "/proc/self/oom_score_adj";

/**
 * Sets what differs. What may not be set (a container, a lesser user) is warned of: pods run all the same.
 * `UsageError` when something differs that is to be left alone.
 */
export function prepareKernel(
  { protectKernelDefaults, oomScoreAdj }: KernelOptions,
  { host, log }: { readonly host: Pick<Host, "readKernel" | "writeKernel">; readonly log: Log },
): void {
  const read = (path: string) => host.readKernel(path);
  const odd = oddSettings(read);
  if (protectKernelDefaults && odd.length > 0) throw new UsageError(settingsProblem(odd));
  const set = (path: string, value: string) => {
    const found = read(path);
    if (found === undefined || found === value) return;
    try {
      host.writeKernel(path, value);
      log.info("kernel setting changed", { path, from: found, to: value });
    } catch (error) {
      if (!isOutside(error)) throw error;
      log.warn("failed to change a kernel setting", { path, wanted: value, found, error });
    }
  };
  for (const { name, value } of odd) set(pathOf(name), value);
  set(OWN_OOM_SCORE, String(oomScoreAdj));
}
