// pure
/**
 * Reports pods and their devices to monitors (`PodResourcesLister`). As in the Go kubelet, each device has
 * an entry of its own with its NUMA nodes, of init containers only sidecars are listed, and CPUs and memory
 * are absent without policies for them.
 */
import type { PodUid } from "../../api/observation.ts";
import { isRestartableInit } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type {
  AllocatableResourcesResponse,
  ContainerDevices,
  PodResources,
  PodResourcesV1alpha1,
} from "../../outside/plugins/plugins.ts";
import { canGive, type Inventory } from "./inventory.ts";
import { holdingsOf, type Ledger } from "./ledger/ledger.ts";
import { compareText } from "./requests.ts";

/** One pod with the devices of its containers. */
export function podDeviceResources(pod: IdentifiedPod, ledger: Ledger): PodResources {
  const { name, namespace, uid } = pod.metadata;
  const sidecars = (pod.spec?.initContainers ?? []).filter(isRestartableInit);
  const holdings = holdingsOf(ledger, uid as PodUid)
    .filter(({ state }) => state === "granted")
    .toSorted((a, b) => compareText(a.resource, b.resource));
  const containers = [...sidecars, ...(pod.spec?.containers ?? [])].map((container) => ({
    name: container.name,
    devices: holdings
      .filter((holding) => holding.container === container.name)
      .flatMap(({ resource, devices }) =>
        devices.map(({ id, nodes }) => shownDevice(resource, id, nodes)),
      ),
    cpuIds: [],
    memory: [],
    dynamicResources: [],
  }));
  return { name, namespace, containers };
}

/** The same in the words of the first version of the interface. */
export function podResourcesV1alpha1({
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

/** Every device that is free, or will be after its holder has ended. */
export function allocatableResources(inventory: Inventory): AllocatableResourcesResponse {
  const devices = [...inventory]
    .filter(([, record]) => canGive(record))
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([resource, record]) =>
      [...record.devices.values()]
        .filter(({ healthy }) => healthy)
        .map(({ id, nodes }) => shownDevice(resource, id, nodes)),
    );
  return { devices, cpuIds: [], memory: [] };
}

function shownDevice(resourceName: string, id: string, nodes: readonly number[]): ContainerDevices {
  return {
    resourceName,
    deviceIds: [id],
    topology:
      nodes.length === 0 ? undefined : { nodes: nodes.map((node) => ({ ID: BigInt(node) })) },
  };
}
