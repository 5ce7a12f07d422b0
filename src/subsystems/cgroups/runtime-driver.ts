import { METRICS } from "../../api/metrics/metrics.ts";
import { isOutside, UsageError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import { isUnimplemented } from "../../outside/grpc/grpc.ts";
import type { CgroupDriver } from "./names.ts";

/** CRI's numbers of the drivers. */
const DRIVERS: Readonly<Record<number, CgroupDriver>> = { 0: "systemd", 1: "cgroupfs" };

/**
 * The driver that the runtime says it has, which goes before the configured one: two drivers on one machine
 * would fight over the same groups. `undefined` when the runtime does not say (containerd before 2.0), or
 * cannot be asked. Throws `UsageError` for a driver that is none. Source: kubelet getCgroupDriverFromCRI.
 */
export async function runtimeCgroupDriver(
  runtime: Pick<RuntimeService, "runtimeConfig">,
  { log, metrics }: { readonly log: Log; readonly metrics: MetricsRegistry },
  signal: AbortSignal,
): Promise<CgroupDriver | undefined> {
  const losingSupport = metrics.gauge(METRICS.kubelet_cri_losing_support);
  try {
    const { linux } = await runtime.runtimeConfig(signal);
    return linux && driverOf(linux.cgroupDriver);
  } catch (thrown) {
    if (!isOutside(thrown) || signal.aborted) throw thrown;
    if (isUnimplemented(thrown)) {
      losingSupport.set(1, { version: LAST_SUPPORT });
      log.warn(
        "the container runtime does not report its cgroup driver (RuntimeConfig of the CRI): cgroupDriver of the " +
          "configuration is used. From Kubernetes 1.38 on such runtimes are not supported: use containerd 2.0 or " +
          "CRI-O 1.28, or newer",
      );
    } else {
      log.warn(
        "the container runtime does not report its cgroup driver; using the configured one",
        {
          error: thrown,
        },
      );
    }
    return undefined;
  }
}

function driverOf(number: number): CgroupDriver {
  const driver = DRIVERS[number];
  if (driver !== undefined) return driver;
  throw new UsageError(
    `the container runtime reports a cgroup driver that is not known (${number}; 0 is systemd, 1 is cgroupfs): two ` +
      "drivers on one machine would move processes behind each other's back. Set the driver in the runtime's own " +
      "configuration (containerd: SystemdCgroup of the runc options), or update the runtime, then start the agent again",
  );
}

/** The version from which the Go kubelet requires a runtime that reports its cgroup driver (KEP-4033). */
const LAST_SUPPORT = "1.38.0";
