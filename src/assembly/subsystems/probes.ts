import { gatesInForce } from "../../config/gates/feature-gates.ts";
import type { RuntimeService } from "../../outside/cri/cri.ts";
import type { Cgroups } from "../../subsystems/cgroups/cgroups.ts";
import type { Events } from "../../subsystems/events/events.ts";
import {
  containerProcesses,
  DEFAULT_PROBES_OPTIONS,
  Probes,
} from "../../subsystems/probes/probes.ts";
import type { Foundation } from "../foundation.ts";

interface ProbeParts {
  readonly runtime: RuntimeService;
  readonly cgroups: Cgroups;
  readonly events: Events;
}

/** Liveness, readiness and startup probes. */
export function assembleProbes(
  { options, outside, scope, probeMetrics, news }: Foundation,
  { runtime, cgroups, events }: ProbeParts,
): Probes {
  const { clock, random, log, net, host } = outside;
  const processes = containerProcesses({
    host,
    podProcesses: (uid) => cgroups.podProcesses(uid),
    containerGroupAt: (path) => {
      const place = cgroups.locate(path);
      return place.kind === "container" ? place.group : undefined;
    },
  });
  const gates = gatesInForce(options.config);
  const protocols = {
    http2: gates.isEnabled("H2CContainerProbe"),
    grpcTls: gates.isEnabled("GRPCContainerProbeTLS"),
  };
  return new Probes(
    {
      clock,
      random,
      scope,
      runtime,
      net,
      news,
      processes,
      log: log.child("probes"),
      metrics: probeMetrics,
      events,
    },
    { ...DEFAULT_PROBES_OPTIONS, protocols, ...options.probes },
  );
}
