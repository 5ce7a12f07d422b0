import { gatesInForce } from "../../config/gates/feature-gates.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import {
  Cgroups,
  cgroupOptionsOf,
  enforcementEvent,
  runtimeCgroupDriver,
} from "../../subsystems/cgroups/cgroups.ts";
import type { ExclusiveCpus } from "../../subsystems/cpus/cpus.ts";
import type { Events } from "../../subsystems/events/events.ts";
import type { Foundation } from "../foundation.ts";

/** Cgroups; the runtime's cgroup driver takes precedence over the configured one, where it is known. */
export async function assembleCgroups(
  { options, outside, scope, metrics, facts }: Foundation,
  {
    runtime,
    cpus,
    events,
  }: {
    readonly runtime: RuntimeService;
    readonly cpus: Pick<ExclusiveCpus, "isExclusive">;
    readonly events: Events;
  },
): Promise<Cgroups> {
  const { host, clock } = outside;
  const log = outside.log.child("cgroups");
  const runtimeDriver = await runtimeCgroupDriver(runtime, { log, metrics, clock }, scope.signal);
  const { systemd } = host;
  const freesQuota = gatesInForce(options.config).isEnabled("DisableCPUQuotaWithExclusiveCPUs");
  const cgroups = new Cgroups(
    {
      tree: host.cgroups,
      facts,
      clock,
      log,
      metrics,
      ...(systemd ? { systemd } : {}),
      ...(freesQuota ? { hasCpus: (uid, container) => cpus.isExclusive(uid, container) } : {}),
    },
    cgroupOptionsOf(options.config, {
      pageBytes: facts.pageBytes,
      ...(runtimeDriver === undefined ? {} : { runtimeDriver }),
    }),
  );
  events.ofNode(enforcementEvent(await cgroups.start()));
  return cgroups;
}
