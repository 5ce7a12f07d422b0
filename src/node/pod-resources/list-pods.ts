// pure
/**
 * What pods hold, and what may be given to them, as monitors read it (`PodResourcesLister`). As in the Go kubelet, of
 * init containers only sidecars are listed, and what no provider knows of (CPUs and memory without policies for them) is empty.
 */
import { isRestartableInit } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { ResourceKind } from "../../api/ports/resource-kinds.ts";
import type {
  AllocatableResourcesResponse,
  ContainerResources,
  PodResources,
  PodResourcesV1alpha1,
} from "../../outside/plugins/plugins.ts";

type Held = Partial<Omit<ContainerResources, "name">>;

/** Knows which resources of one kind there are and which container has them. */
interface PodResourcesProvider {
  /** What the containers of the pod hold, by container. */
  heldBy(pod: IdentifiedPod): ReadonlyMap<string, Held>;
  /** What the pod holds as a whole, with what its containers hold of that; absent where no pod does. */
  heldAsWhole?(pod: IdentifiedPod): Partial<Pick<PodResources, "cpuIds" | "memory">>;
  /** Everything that is free, or will be after its holder has ended. */
  allocatable(): Partial<AllocatableResourcesResponse>;
}

/** A provider for each kind of resources. */
export type PodResourcesProviders = Readonly<Record<ResourceKind, PodResourcesProvider>>;

/** One pod with the resources of its containers. */
export function listedPod(
  pod: IdentifiedPod,
  providers: Partial<PodResourcesProviders>,
): PodResources {
  const { name, namespace } = pod.metadata;
  const sidecars = (pod.spec?.initContainers ?? []).filter(isRestartableInit);
  const held = Object.values(providers).map((provider) => provider.heldBy(pod));
  const containers = [...sidecars, ...(pod.spec?.containers ?? [])].map((container) => ({
    name: container.name,
    devices: [],
    cpuIds: [],
    memory: [],
    dynamicResources: [],
    ...mergedParts(held.map((parts) => parts.get(container.name))),
  }));
  const whole = Object.values(providers).map((provider) => provider.heldAsWhole?.(pod));
  return { name, namespace, containers, cpuIds: [], memory: [], ...mergedParts(whole) };
}

/** The same in the words of the first version of the interface. */
export function listedPodV1alpha1({
  name,
  namespace,
  containers,
}: PodResources): PodResourcesV1alpha1 {
  return {
    name,
    namespace,
    containers: containers.map(({ name: container, devices }) => ({
      name: container,
      devices: devices.map(({ resourceName, deviceIds }) => ({ resourceName, deviceIds })),
    })),
  };
}

/** What may be given to containers. */
export function allocatableResources(
  providers: Partial<PodResourcesProviders>,
): AllocatableResourcesResponse {
  const parts = Object.values(providers).map((provider) => provider.allocatable());
  return { devices: [], cpuIds: [], memory: [], ...mergedParts(parts) };
}

/** Each provider fills fields of its own. */
function mergedParts<T extends object>(parts: readonly (T | undefined)[]): T {
  const merged = {} as T;
  for (const part of parts) Object.assign(merged, part);
  return merged;
}
