// pure
import type { Device as ListedDevice } from "../../../outside/plugins/plugins.ts";
import type { Device } from "../inventory.ts";
import { isNodeNumber } from "../ledger/checkpoint.ts";

/** The only word that means it. */
const HEALTHY = "Healthy";

/** The devices of a plugin's list, and what is odd about it. */
interface ReadDevices {
  readonly devices: readonly Device[];
  readonly oddities: readonly string[];
}

/** Reads a list as a plugin sends it: every id once (the last word counts), none without an id. */
export function readDevices(listed: readonly ListedDevice[]): ReadDevices {
  const byId = new Map<string, Device>();
  const oddities = new Set<string>();
  for (const { ID: id, health, topology } of listed) {
    if (id === "") {
      oddities.add("ignoring a device without an ID");
      continue;
    }
    if (byId.has(id)) oddities.add("a device ID is listed more than once; the last entry counts");
    const nodes = new Set((topology?.nodes ?? []).map(({ ID }) => Number(ID)));
    const usable = [...nodes].filter(isNodeNumber).sort((a, b) => a - b);
    if (usable.length < nodes.size)
      oddities.add("ignoring a NUMA node of a device that is no number of a node");
    byId.set(id, { id, healthy: health === HEALTHY, nodes: usable });
  }
  return { devices: [...byId.values()], oddities: [...oddities] };
}
