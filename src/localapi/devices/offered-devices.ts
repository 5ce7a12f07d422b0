// pure
/** The devices that drivers offer on a node, of the pools that are complete. */
import type { Device, ResourceSlice } from "../../api/generated/types.ts";
import { largest } from "../../kit/limits/lists.ts";

/** A device that could be allocated. */
export interface OfferedDevice {
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
}

type Slice = Pick<ResourceSlice, "spec">;

/** The key of a device: no two are allocated at once with the same. */
export const deviceId = ({
  driver,
  pool,
  name,
}: {
  readonly driver: string;
  readonly pool: string;
  readonly name: string;
}): string => `${driver}/${pool}/${name}`;

/** In the order of drivers, pools and slices. A pool whose slices are not all there yet offers nothing. */
export function offeredDevices(
  slices: readonly Slice[],
  nodeName: string,
): readonly OfferedDevice[] {
  const pools = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`);
  return [...pools]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, members]) => {
      const generations = members.map(({ spec }) => spec.pool.generation);
      const newest = largest(generations, 0);
      const current = members.filter(({ spec }) => spec.pool.generation === newest);
      const isComplete = current.every(
        ({ spec }) => spec.pool.resourceSliceCount === current.length,
      );
      return isComplete ? current.flatMap((slice) => devicesOf(slice, nodeName)) : [];
    });
}

function devicesOf({ spec }: Slice, nodeName: string): readonly OfferedDevice[] {
  const { driver, pool, devices = [], perDeviceNodeSelection = false } = spec;
  if (!perDeviceNodeSelection && !isHere(spec, nodeName)) return [];
  return devices
    .filter((device) => !perDeviceNodeSelection || isHere(device, nodeName))
    .filter(isWhole)
    .map((device) => ({ driver, pool: pool.name, device }));
}

/** Slices and devices with a selector of nodes are for clusters. */
function isHere(
  place: { readonly nodeName?: string; readonly allNodes?: boolean },
  nodeName: string,
): boolean {
  return place.allNodes === true || place.nodeName === nodeName;
}

/** Parts of a device that share its counters, or that bind when they are allocated, need a scheduler. */
function isWhole({ consumesCounters = [], bindingConditions = [] }: Device): boolean {
  return consumesCounters.length === 0 && bindingConditions.length === 0;
}
