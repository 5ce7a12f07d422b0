import { managedFiles, podPaths } from "../../api/pod/pod-paths.ts";
import type { PodFact } from "../../api/pod-facts.ts";
import { gatesInForce } from "../../config/gates/feature-gates.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import type { ContainerRuntime } from "../../outside/cri/cri.ts";
import type { Cgroups } from "../../subsystems/cgroups/cgroups.ts";
import { measuredPod, Stats } from "../../subsystems/stats/stats.ts";
import type { Volumes } from "../../subsystems/volumes/volumes.ts";
import type { Foundation } from "../foundation.ts";

interface StatsParts {
  readonly cri: ContainerRuntime;
  readonly cgroups: Cgroups;
  readonly volumes: Volumes;
}

/** Usage of node, pods and file systems. */
export function assembleStats(
  { options, outside, scope, facts, podFacts, oomCounts }: Foundation,
  { cri, cgroups, volumes }: StatsParts,
): Stats {
  const { config, nodeName, rootFolder, runtimeCgroup = "" } = options;
  const { host, clock, log } = outside;
  const groups = [
    { name: "pods", path: cgroups.tierPath("Guaranteed") },
    { name: "burstable", path: cgroups.tierPath("Burstable") },
    { name: "besteffort", path: cgroups.tierPath("BestEffort") },
  ];
  const system = [
    { name: "runtime", path: runtimeCgroup },
    { name: "misc", path: config.systemCgroups },
    // Else it is the one that the agent was started in.
    { name: "kubelet", path: config.kubeletCgroups },
  ].filter(({ path }) => path !== "");
  const roots = { root: rootFolder, logs: config.podLogsDir };
  const measuredOf = derivedOnce((fact: PodFact) => {
    const paths = podPaths(roots, fact.pod);
    return measuredPod(fact, {
      group: cgroups.podPath(fact.pod),
      logsFolder: paths.logs,
      volumesFolder: paths.volumes,
      managedFiles: managedFiles(paths),
    });
  });
  return new Stats(
    {
      nodeName,
      rootFolder,
      volumesMaxAgeMs: config.volumeStatsAggPeriod,
      groups: [...(config.cgroupsPerQOS ? groups : []), ...system],
    },
    {
      host,
      clock,
      facts: {
        ...facts,
        hugepageAware: gatesInForce(config).isEnabled("HugepageAwareEviction"),
      },
      oomCounts,
      signal: scope.signal,
      log: log.child("stats"),
      runtime: {
        listContainerStats: (signal) => cri.runtime.listContainerStats(signal),
        filesystems: (signal) => cri.images.filesystems(signal),
      },
      pods: () =>
        podFacts.values().flatMap((fact) => {
          const measured = measuredOf(fact);
          if (!measured) return [];
          const claims = volumes.measuredClaims(fact.uid);
          return claims.length === 0 ? measured : { ...measured, claims };
        }),
    },
  );
}
