import { METRICS } from "../../api/metrics/metrics.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, UsageError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import { isUnimplemented } from "../../outside/grpc/grpc.ts";
import type { CgroupDriver } from "./names.ts";

/** CRI's numbers of the drivers. */
const DRIVERS: Readonly<Record<number, CgroupDriver>> = { 0: "systemd", 1: "cgroupfs" };

/** Pause between two questions while the runtime answers with an error. */
const RETRY_MS = 2_000;

interface DriverDeps {
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
}

/**
 * The driver that the runtime says it has, which goes before the configured one: two drivers on one machine
 * would fight over the same groups. `undefined` when the runtime does not say (containerd before 2.0). One that cannot
 * be asked is asked until it answers, since a guess may be the other driver. Throws `UsageError` on a driver that is
 * not known. Source: kubelet getCgroupDriverFromCRI.
 */
export async function runtimeCgroupDriver(
  runtime: Pick<RuntimeService, "runtimeConfig">,
  { log, metrics, clock }: DriverDeps,
  signal: AbortSignal,
): Promise<CgroupDriver | undefined> {
  const losingSupport = metrics.gauge(METRICS.kubelet_cri_losing_support);
  for (let tries = 1; ; tries += 1) {
    try {
      const { linux } = await runtime.runtimeConfig(signal);
      return linux && knownDriver(linux.cgroupDriver);
    } catch (thrown) {
      if (!isOutside(thrown) || signal.aborted) throw thrown;
      if (isUnimplemented(thrown)) {
        losingSupport.set(1, { version: LAST_SUPPORT });
        log.warn(WITHOUT_RUNTIME_CONFIG);
        return undefined;
      }
      if (tries === 1)
        log.warn("the container runtime does not say which cgroup driver it has; asking again", {
          error: thrown,
        });
    }
    await clock.sleep(RETRY_MS, signal);
  }
}

function knownDriver(driver: number): CgroupDriver {
  const known = DRIVERS[driver];
  if (known !== undefined) return known;
  throw new UsageError(
    `runtime returned an unknown cgroup driver ${driver}: configure systemd or cgroupfs in the container runtime`,
  );
}

const WITHOUT_RUNTIME_CONFIG =
  "the container runtime does not report its cgroup driver (RuntimeConfig of the CRI): cgroupDriver of the configuration " +
  "is used. From Kubernetes 1.38 on such runtimes are not supported: use containerd 2.0 or CRI-O 1.28, or newer";

/** The version from which the Go kubelet requires a runtime that reports its cgroup driver (KEP-4033). */
const LAST_SUPPORT = "1.38.0";
