// pure
/**
 * The node's devices by resource, as the plugin last reported them, and whether the plugin is
 * registered. Functions return the inventory that follows; nothing is changed in place.
 */
import type { MonotonicMs } from "../../kit/clock.ts";

/** A device as its plugin describes it. */
export interface Device {
  readonly id: string;
  readonly healthy: boolean;
  /** NUMA nodes it is close to, ascending; empty when the plugin reports none. */
  readonly nodes: readonly number[];
}

/** Whether the plugin of a resource can be asked. */
type PluginPresence =
  /** Known from an earlier time (a checkpoint, a connection that ended). */
  | { readonly kind: "gone"; readonly since: MonotonicMs }
  /** Connected. `listDevices` is `awaited` until it has named its devices, `carried` while those of its predecessor stand in. */
  | {
      readonly kind: "here";
      readonly since: MonotonicMs;
      readonly list: "awaited" | "carried" | "current";
    };

/** State of one resource. */
export interface ResourceRecord {
  readonly presence: PluginPresence;
  /** By id, sorted by id. */
  readonly devices: ReadonlyMap<string, Device>;
}

/** By resource name. */
export type Inventory = ReadonlyMap<string, ResourceRecord>;

/** Nothing known yet. */
export const EMPTY_INVENTORY: Inventory = new Map();

/** How long a resource without a plugin is still reported, with nothing to give away (endpointStopGracePeriod). */
export const STOP_GRACE_MS = 300_000;

const NO_DEVICES: ReadonlyMap<string, Device> = new Map();

function withRecord(
  inventory: Inventory,
  resource: string,
  record: ResourceRecord | undefined,
): Inventory {
  const next = new Map(inventory);
  if (record) next.set(resource, record);
  else next.delete(resource);
  return next;
}

/** Resources that were there in a previous run: known, without devices until their plugins come back. */
export function expectAgain(
  inventory: Inventory,
  resources: Iterable<string>,
  now: MonotonicMs,
): Inventory {
  const next = new Map(inventory);
  for (const resource of resources) {
    if (!next.has(resource))
      next.set(resource, { presence: { kind: "gone", since: now }, devices: NO_DEVICES });
  }
  return next;
}

/** A plugin has connected. What a living predecessor listed counts on until the new one has listed. */
export function arrive(inventory: Inventory, resource: string, now: MonotonicMs): Inventory {
  const before = inventory.get(resource);
  const carried = before?.presence.kind === "here" && before.presence.list !== "awaited";
  return withRecord(inventory, resource, {
    presence: { kind: "here", since: now, list: carried ? "carried" : "awaited" },
    devices: before?.devices ?? NO_DEVICES,
  });
}

/** The plugin has named all its devices. Ignored when it is not connected any more. */
export function listDevices(
  inventory: Inventory,
  resource: string,
  devices: readonly Device[],
): Inventory {
  const before = inventory.get(resource);
  if (before?.presence.kind !== "here") return inventory;
  const byId = new Map(
    [...devices]
      .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
      .map((device) => [device.id, device]),
  );
  if (before.presence.list === "current" && sameDevices(before.devices, byId)) return inventory;
  return withRecord(inventory, resource, {
    presence: { ...before.presence, list: "current" },
    devices: byId,
  });
}

/** The plugin's connection has ended: nothing can be given away, what it had is remembered. */
export function leave(inventory: Inventory, resource: string, now: MonotonicMs): Inventory {
  const before = inventory.get(resource);
  if (before?.presence.kind !== "here") return inventory;
  return withRecord(inventory, resource, { ...before, presence: { kind: "gone", since: now } });
}

/** Without the resources whose plugin has been gone for the grace period. */
export function expire(inventory: Inventory, now: MonotonicMs): Inventory {
  const over = [...inventory].filter(([, record]) => (expiryOf(record) ?? now + 1) <= now);
  if (over.length === 0) return inventory;
  const next = new Map(inventory);
  for (const [resource] of over) next.delete(resource);
  return next;
}

/** When the next resource is to be dropped; `undefined` when every plugin is here. */
export function nextExpiry(inventory: Inventory): MonotonicMs | undefined {
  let next: MonotonicMs | undefined;
  for (const record of inventory.values()) {
    const at = expiryOf(record);
    if (at !== undefined && (next === undefined || at < next)) next = at;
  }
  return next;
}

function expiryOf({ presence }: ResourceRecord): MonotonicMs | undefined {
  return presence.kind === "gone" ? ((presence.since + STOP_GRACE_MS) as MonotonicMs) : undefined;
}

/** Numbers of devices of one resource. */
export interface DeviceCount {
  /** All devices the plugin has listed, healthy or not. */
  readonly capacity: number;
  /** Those that are healthy and whose plugin is there. */
  readonly allocatable: number;
}

/** The counts of all known resources. */
export function countDevices(inventory: Inventory): ReadonlyMap<string, DeviceCount> {
  const counts = new Map<string, DeviceCount>();
  for (const [resource, record] of inventory) {
    let healthy = 0;
    if (canGive(record))
      for (const device of record.devices.values()) if (device.healthy) healthy++;
    counts.set(resource, { capacity: record.devices.size, allocatable: healthy });
  }
  return counts;
}

/** Whether the plugin is connected and has listed devices, also through a previous connection. */
export function canGive({ presence }: ResourceRecord): boolean {
  return presence.kind === "here" && presence.list !== "awaited";
}

/** Ids of devices whose reported health is not what it was; one that is not reported counts as healthy. */
export function healthChanges(
  before: ResourceRecord | undefined,
  now: ResourceRecord | undefined,
): readonly string[] {
  const ids = new Set([...(before?.devices.keys() ?? []), ...(now?.devices.keys() ?? [])]);
  return [...ids].filter((id) => isReportedHealthy(before, id) !== isReportedHealthy(now, id));
}

/** The health that a pod's status shows of a device. */
export function isReportedHealthy(record: ResourceRecord | undefined, id: string): boolean {
  return record?.devices.get(id)?.healthy ?? true;
}

/** Healthy devices of every known resource, as the checkpoint names them. */
export function healthyIds(inventory: Inventory): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...inventory].map(([resource, { presence, devices }]) => [
      resource,
      presence.kind === "gone"
        ? []
        : [...devices.values()].filter(({ healthy }) => healthy).map(({ id }) => id),
    ]),
  );
}

function sameDevices(a: ReadonlyMap<string, Device>, b: ReadonlyMap<string, Device>): boolean {
  if (a.size !== b.size) return false;
  for (const [id, device] of a) {
    const other = b.get(id);
    if (other?.healthy !== device.healthy) return false;
    if (other.nodes.length !== device.nodes.length) return false;
    if (device.nodes.some((node, i) => other.nodes[i] !== node)) return false;
  }
  return true;
}
