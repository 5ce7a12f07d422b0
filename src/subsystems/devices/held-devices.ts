// pure
/**
 * Devices as monitors read them (`PodResourcesLister`). As in the Go kubelet, each device has an entry of its own with its NUMA nodes.
 */
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { ContainerDevices } from "../../outside/plugins/plugins.ts";
import { canGive, type Inventory } from "./inventory.ts";
import { holdingsOf, type Ledger } from "./ledger/ledger.ts";
import { compareText } from "./requests.ts";

type ShownDevices = { readonly devices: ContainerDevices[] };

/** The devices of the pod's containers, by container. */
export function heldDevices(
  { metadata: { uid } }: IdentifiedPod,
  ledger: Ledger,
): ReadonlyMap<string, ShownDevices> {
  const holdings = holdingsOf(ledger, uid)
    .filter(({ state }) => state === "granted")
    .toSorted((a, b) => compareText(a.resource, b.resource));
  return new Map(
    [...Map.groupBy(holdings, ({ container }) => container)].map(([container, held]) => [
      container,
      {
        devices: held.flatMap(({ resource, devices }) =>
          devices.map(({ id, nodes }) => shownDevice(resource, id, nodes)),
        ),
      },
    ]),
  );
}

/** Every device that is free, or will be after its holder has ended. */
export function allocatableDevices(inventory: Inventory): ShownDevices {
  const devices = [...inventory]
    .filter(([, record]) => canGive(record))
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([resource, record]) =>
      [...record.devices.values()]
        .filter(({ healthy }) => healthy)
        .map(({ id, nodes }) => shownDevice(resource, id, nodes)),
    );
  return { devices };
}

function shownDevice(resourceName: string, id: string, nodes: readonly number[]): ContainerDevices {
  return {
    resourceName,
    deviceIds: [id],
    topology:
      nodes.length === 0 ? undefined : { nodes: nodes.map((node) => ({ ID: BigInt(node) })) },
  };
}
