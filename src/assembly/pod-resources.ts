import { activePods } from "../api/pod-facts.ts";
import type { ResourceKind } from "../api/ports/resource-kinds.ts";
import { deriveRootLayout } from "../config/derive.ts";
import type { PodResourcesProviders } from "../node/pod-resources/list-pods.ts";
import { startPodResources } from "../node/pod-resources/pod-resources.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Foundation } from "./foundation.ts";

/** The socket of the pod resources API, with a provider for each kind of resources. */
export function assemblePodResources(
  { options, outside, scope, metrics, podFacts }: Foundation,
  { devices, cpus, memory, resourceClaims }: Pick<Subsystems, ResourceKind>,
): void {
  const { clock, grpc, host } = outside;
  const { podResources } = deriveRootLayout(options.rootFolder, options.config.podLogsDir);
  const log = outside.log.child("devices");
  const providers: PodResourcesProviders = {
    devices: devices.held,
    cpus: cpus.held,
    memory: memory.held,
    resourceClaims: resourceClaims.held,
  };
  startPodResources(podResources.directory, {
    grpc,
    files: host.files,
    clock,
    log,
    scope,
    metrics,
    pods: () => activePods(podFacts),
    providers,
  });
}
