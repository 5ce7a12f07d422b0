import { gatesInForce } from "../../config/gates/feature-gates.ts";
import type { ContainerRuntime } from "../../outside/cri/cri.ts";
import type { Cgroups } from "../../subsystems/cgroups/cgroups.ts";
import type { ExclusiveCpus } from "../../subsystems/cpus/cpus.ts";
import type { Events } from "../../subsystems/events/events.ts";
import { openUserNamespaces, Resolver, Runtime } from "../../subsystems/runtime/runtime.ts";
import type { ApiClients } from "../clients.ts";
import type { Foundation } from "../foundation.ts";

interface RuntimeParts {
  readonly cri: ContainerRuntime;
  readonly cgroups: Cgroups;
  readonly cpus: Pick<ExclusiveCpus, "cpusetFor">;
  readonly events: Events;
}

/** Sandboxes and containers through CRI. Throws where user namespaces and the machine do not fit together. */
export async function assembleRuntime(
  base: Foundation,
  { runtimeClasses }: Pick<ApiClients, "runtimeClasses">,
  { cri, cgroups, cpus, events }: RuntimeParts,
): Promise<Runtime> {
  const { options, outside, scope, state, metrics, facts, podFacts, news } = base;
  const { config, rootFolder } = options;
  const { clock, log, host } = outside;
  const userNamespaces = await openUserNamespaces(options, { host, state }, scope.signal);
  const runtime = new Runtime(
    {
      roots: { root: rootFolder, logs: config.podLogsDir },
      seccompDefault: config.seccompDefault,
      cpuCount: facts.cpuCount,
      thermalThrottleFolders: facts.thermalThrottleFolders,
      defaultSysctls: gatesInForce(config).isEnabled("DefaultPodSysctls")
        ? config.defaultPodSysctls
        : {},
    },
    {
      cri,
      clock,
      metrics,
      scope,
      news,
      pods: podFacts,
      log: log.child("runtime"),
      readKernel: (path) => host.readKernel(path),
      readTail: ({ root, relativePath }, maxBytes) =>
        host.podFiles.readTail(root, relativePath, maxBytes),
      cgroupParent: (pod) => cgroups.podPath(pod),
      resources: (pod, container) => ({
        ...cgroups.containerResources(pod, container),
        cpusetCpus: cpus.cpusetFor(pod, container.name),
      }),
      sandboxResources: (pod) => cgroups.sandboxResources(pod),
      ...(runtimeClasses ? { runtimeClasses } : {}),
      resolver: await openResolver(base, events),
      userNamespaces,
    },
  );
  runtime.followHealth();
  return runtime;
}

/** The resolvers that pods can get; what exceeds the limits in the node's own is reported at once, and when it changes. */
async function openResolver(
  { options, outside: { host, clock } }: Foundation,
  events: Events,
): Promise<Resolver> {
  const { clusterDNS: servers, clusterDomain: domain, resolvConf } = options.config;
  const resolver = new Resolver(
    { servers, domain, resolvConf, nodeIps: host.addresses() },
    {
      files: host.files,
      clock,
      events,
    },
  );
  // It has reported what is wrong, and pods report it when they need it.
  await resolver.read().catch(() => {});
  return resolver;
}
