// pure
/** Devices as they are shown: `/nodelet/v1/devices`. */

import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { smallest } from "../../kit/limits/lists.ts";
import type { ContainerAllocateResponse } from "../../outside/plugins/plugins.ts";
import { canGive, type Device, type Inventory, type ResourceRecord } from "./inventory.ts";
import { allHoldings, type Holding, type Ledger, ownerOf } from "./ledger/ledger.ts";
import { compareText } from "./requests.ts";

/** All resources with all devices. */
export interface DeviceReport {
  /** Sorted by name. */
  readonly resources: readonly ReportedResource[];
  /** Differences found between checkpoint and runtime, latest last. */
  readonly notes: readonly string[];
}

/** One resource. */
interface ReportedResource {
  readonly resource: string;
  /** `here`, `listing` (has not named its devices yet), `gone`, or `unknown` for devices of which no plugin is known. */
  readonly plugin: "here" | "listing" | "gone" | "unknown";
  readonly socketPath: string | undefined;
  /** Seconds since the plugin came or went. */
  readonly sinceSeconds: number | undefined;
  readonly counts: {
    readonly free: number;
    readonly owned: number;
    /** Neither allocated nor available: unhealthy, or the plugin is gone. */
    readonly unusable: number;
  };
  /** Sorted by id. */
  readonly devices: readonly ReportedDevice[];
}

/** One device. */
interface ReportedDevice {
  readonly id: string;
  /** As last reported; `unknown` for devices that are held and not listed. */
  readonly health: "healthy" | "unhealthy" | "unknown";
  readonly numaNodes: readonly number[];
  readonly owner: DeviceOwner | undefined;
}

/** The pod that has a device. */
interface DeviceOwner {
  readonly podUid: string;
  /** Empty while no source has named the pod. */
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly string[];
  /** Unix milliseconds; `undefined` when that is not known any more. */
  readonly sinceMs: number | undefined;
  /** The plugin's response for the first container; `undefined` when it was lost. */
  readonly answer: ReportedAnswer | undefined;
}

/** Settings that a response adds to a container; values of variables are left out, they may be secret. */
interface ReportedAnswer {
  readonly env: readonly string[];
  readonly mounts: readonly string[];
  readonly deviceNodes: readonly string[];
  readonly annotations: readonly string[];
  readonly cdiDevices: readonly string[];
}

interface DeviceReportInputs {
  readonly inventory: Inventory;
  readonly ledger: Ledger;
  readonly plugins: ReadonlyMap<string, { readonly socketPath: string }>;
  readonly podOf: (podUid: PodUid) => IdentifiedPod | undefined;
  readonly notes: readonly string[];
  readonly now: MonotonicMs;
  readonly decode: (answer: Uint8Array) => ContainerAllocateResponse;
}

/** Puts the report together. */
export function reportDevices(inputs: DeviceReportInputs): DeviceReport {
  const { inventory, ledger, notes } = inputs;
  const held = Map.groupBy(allHoldings(ledger), ({ resource }) => resource);
  const resources = [...new Set([...inventory.keys(), ...held.keys()])].sort(compareText);
  return {
    resources: resources.map((resource) =>
      reportResource(resource, held.get(resource) ?? [], inputs),
    ),
    notes,
  };
}

/** Numbers of devices by state, for metrics. */
export function countStates(
  inventory: Inventory,
  ledger: Ledger,
): ReadonlyMap<string, ReportedResource["counts"]> {
  const resources = new Set([...inventory.keys(), ...ledger.owners.keys()]);
  return new Map(
    [...resources].map((resource) => [
      resource,
      countsOf(resource, inventory.get(resource), ledger),
    ]),
  );
}

function countsOf(
  resource: string,
  record: ResourceRecord | undefined,
  ledger: Ledger,
): ReportedResource["counts"] {
  let free = 0;
  let unusable = 0;
  for (const { id, healthy } of record?.devices.values() ?? []) {
    if (ownerOf(ledger, resource, id) !== undefined) continue;
    if (healthy && record && canGive(record)) free += 1;
    else unusable += 1;
  }
  return { free, owned: ledger.owners.get(resource)?.size ?? 0, unusable };
}

function reportResource(
  resource: string,
  held: readonly Holding[],
  inputs: DeviceReportInputs,
): ReportedResource {
  const { inventory, ledger, plugins, now } = inputs;
  const record = inventory.get(resource);
  const unlisted = [...(ledger.owners.get(resource)?.keys() ?? [])].filter(
    (id) => !record?.devices.has(id),
  );
  const claims = new Map<string, Holding[]>();
  for (const holding of held)
    for (const { id } of holding.devices) claims.set(id, [...(claims.get(id) ?? []), holding]);
  const shown = (id: string, device: Device | undefined) =>
    reportDevice(id, device, claims.get(id) ?? [], inputs);
  const listed = [...(record?.devices.values() ?? [])].map((device) => shown(device.id, device));
  return {
    resource,
    plugin: pluginWord(record),
    socketPath: plugins.get(resource)?.socketPath,
    sinceSeconds: record && Math.floor((now - record.presence.since) / 1000),
    counts: countsOf(resource, record, ledger),
    devices: [...listed, ...unlisted.map((id) => shown(id, undefined))].sort((a, b) =>
      compareText(a.id, b.id),
    ),
  };
}

function pluginWord(record: ResourceRecord | undefined): ReportedResource["plugin"] {
  if (!record) return "unknown";
  if (record.presence.kind === "gone") return "gone";
  return record.presence.list === "current" ? "here" : "listing";
}

function reportDevice(
  id: string,
  device: Device | undefined,
  claims: readonly Holding[],
  inputs: DeviceReportInputs,
): ReportedDevice {
  const [first] = claims;
  return {
    id,
    health: device ? (device.healthy ? "healthy" : "unhealthy") : "unknown",
    numaNodes: device?.nodes ?? first?.devices.find((each) => each.id === id)?.nodes ?? [],
    owner: first && reportOwner(first, claims, inputs),
  };
}

function reportOwner(
  first: Holding,
  claims: readonly Holding[],
  { podOf, decode }: DeviceReportInputs,
): DeviceOwner {
  const pod = podOf(first.podUid);
  const times = claims.flatMap(({ since }) => (since === undefined ? [] : [since]));
  return {
    podUid: first.podUid,
    namespace: pod?.metadata?.namespace ?? "",
    name: pod?.metadata?.name ?? "",
    containers: claims.map(({ container }) => container),
    sinceMs: times.length === 0 ? undefined : smallest(times),
    answer: first.answer && shownAnswer(decode(first.answer)),
  };
}

function shownAnswer(answer: ContainerAllocateResponse): ReportedAnswer {
  const { envs, mounts, devices, annotations, cdiDevices } = answer;
  return {
    env: Object.keys(envs).sort(compareText),
    mounts: mounts.map(
      ({ hostPath, containerPath, readOnly }) =>
        `${hostPath}:${containerPath}${readOnly ? ":ro" : ""}`,
    ),
    deviceNodes: devices.map(
      ({ hostPath, containerPath, permissions }) => `${hostPath}:${containerPath}:${permissions}`,
    ),
    annotations: Object.keys(annotations).sort(compareText),
    cdiDevices: cdiDevices.map(({ name }) => name),
  };
}
