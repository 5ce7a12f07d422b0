// pure

import { hugepagesName } from "../api/node/hugepages-name.ts";
import { thresholdBytes } from "../api/node/threshold-bytes.ts";
import type { ResourceAmounts } from "../api/pod/pod-resources.ts";
import {
  canonicalQuantity,
  milliOf,
  quantityFromBytes,
  quantityFromCount,
  quantityFromMilli,
  wholeOf,
} from "../api/text/quantity.ts";
import type { HostFacts } from "../outside/host/host.ts";
import type { DeviceCapacity } from "../subsystems/devices/devices.ts";

/** The part of the configuration that reserves resources. */
interface CapacityOptions {
  readonly maxPods: number;
  readonly podsPerCore: number;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** Hard thresholds by signal; memory and nodefs are kept free of pods. */
  readonly evictionHard: Readonly<Record<string, string>>;
  /** Whether local storage of pods is accounted for; without it the node shows none. Default true. */
  readonly localStorageCapacityIsolation?: boolean;
}

/** Capacity and allocatable resources of the node, and the maximum number of pods. */
export interface NodeCapacity {
  readonly capacity: ResourceAmounts;
  readonly allocatable: ResourceAmounts;
  readonly pods: number;
  /** Extended resources in the node's status without a plugin belong to a previous node of that name. */
  readonly resetsExtended?: boolean;
}

/** Computes capacity and allocatable resources (nodestatus MachineInfo). */
export function nodeCapacity(
  facts: HostFacts,
  diskBytes: number,
  options: CapacityOptions,
): NodeCapacity {
  const storageBytes = options.localStorageCapacityIsolation === false ? 0 : diskBytes;
  const hugepages = new Map(
    facts.hugepages.map(({ sizeBytes, pages }) => [hugepagesName(sizeBytes), sizeBytes * pages]),
  );
  const capacity: ResourceAmounts = {
    cpuMilli: facts.cpuCount * 1000,
    memoryBytes: facts.memoryBytes,
    ephemeralStorageBytes: storageBytes,
    hugepagesBytes: hugepages,
    extended: new Map(),
  };
  const hugeTotal = [...hugepages.values()].reduce((sum, bytes) => sum + bytes, 0);
  const reserved = (name: string) =>
    reservedOf(options.systemReserved, name) + reservedOf(options.kubeReserved, name);
  const memoryKept = thresholdBytes(options.evictionHard["memory.available"], facts.memoryBytes);
  const storageKept = thresholdBytes(options.evictionHard["nodefs.available"], storageBytes);
  return {
    capacity,
    allocatable: {
      ...capacity,
      cpuMilli: atLeastZero(capacity.cpuMilli - reserved("cpu")),
      memoryBytes: atLeastZero(capacity.memoryBytes - reserved("memory") - memoryKept - hugeTotal),
      ephemeralStorageBytes: atLeastZero(
        storageBytes - reserved("ephemeral-storage") - storageKept,
      ),
    },
    pods:
      options.podsPerCore > 0
        ? Math.min(facts.cpuCount * options.podsPerCore, options.maxPods)
        : options.maxPods,
  };
}

/**
 * Why the reservations cannot hold on this machine: together with what is kept free of pods they are more than there is
 * (node_container_manager_linux.go validateNodeAllocatable). Undefined when they can.
 */
export function reservationProblem(
  facts: Pick<HostFacts, "cpuCount" | "memoryBytes" | "pidMax">,
  storageBytes: number,
  { systemReserved, kubeReserved, evictionHard }: CapacityOptions,
): string | undefined {
  const kept = (signal: string, bytes: number) => thresholdBytes(evictionHard[signal], bytes);
  const bytes = (amount: number) => canonicalQuantity(quantityFromBytes(amount));
  const count = (amount: number) => canonicalQuantity(quantityFromCount(amount));
  const { cpuCount, memoryBytes, pidMax } = facts;
  const resources = [
    ["cpu", cpuCount * 1000, 0, (amount: number) => canonicalQuantity(quantityFromMilli(amount))],
    ["ephemeral-storage", storageBytes, kept("nodefs.available", storageBytes), bytes],
    ["memory", memoryBytes, kept("memory.available", memoryBytes), bytes],
    ["pid", pidMax, kept("pid.available", pidMax), count],
  ] as const;
  const problems = resources.flatMap(([name, capacity, free, text]) => {
    const reserved = reservedOf(systemReserved, name) + reservedOf(kubeReserved, name) + free;
    if (reserved <= capacity) return [];
    return `Resource "${name}" has a reservation of ${text(reserved)} but capacity of ${text(capacity)}. Expected capacity >= reservation.`;
  });
  if (problems.length === 0) return undefined;
  return `invalid Node Allocatable configuration. ${problems.join(" ")}`;
}

/** With the devices that there are; those that were there and are not any more count as none. */
export function withDevices(
  amounts: NodeCapacity,
  { counts, removed, fresh }: DeviceCapacity,
): NodeCapacity {
  if (counts.size === 0 && removed.length === 0) return { ...amounts, resetsExtended: fresh };
  const gone = removed.map((resource) => [resource, 0] as const);
  const numbers = (part: "capacity" | "allocatable") =>
    new Map([...gone, ...[...counts].map(([resource, count]) => [resource, count[part]] as const)]);
  return {
    ...amounts,
    resetsExtended: fresh,
    capacity: { ...amounts.capacity, extended: numbers("capacity") },
    allocatable: { ...amounts.allocatable, extended: numbers("allocatable") },
  };
}

function atLeastZero(amount: number): number {
  return Math.max(0, amount);
}

/** Milli for cpu, whole units for the rest. */
function reservedOf(reservation: Readonly<Record<string, string>>, name: string): number {
  const text = reservation[name];
  if (text === undefined) return 0;
  return name === "cpu" ? milliOf(text) : wholeOf(text);
}
