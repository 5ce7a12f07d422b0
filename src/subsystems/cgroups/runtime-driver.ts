import { isOutside, messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import type { CgroupDriver } from "./names.ts";

/** CRI's numbers of the drivers. */
const DRIVERS: Readonly<Record<number, CgroupDriver>> = { 0: "systemd", 1: "cgroupfs" };

/**
 * The driver that the runtime says it has, which goes before the configured one: two drivers on one machine
 * would fight over the same groups. `undefined` when the runtime does not say (containerd before 2.0), or
 * cannot be asked. Source: kubelet getCgroupDriverFromCRI.
 */
export async function runtimeCgroupDriver(
  runtime: Pick<RuntimeService, "runtimeConfig">,
  log: Log,
  signal: AbortSignal,
): Promise<CgroupDriver | undefined> {
  try {
    const { linux } = await runtime.runtimeConfig(signal);
    return linux && DRIVERS[linux.cgroupDriver];
  } catch (thrown) {
    if (!isOutside(thrown) || signal.aborted) throw thrown;
    if (thrown.code !== "unimplemented") {
      log.warn("runtime does not tell its cgroup driver; the configured one is used", {
        problem: messageOf(thrown),
      });
    }
    return undefined;
  }
}
