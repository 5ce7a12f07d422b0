// pure
import type { Container, EphemeralContainer, Pod } from "../../../api/generated/types.ts";
import {
  type ContainerKind,
  initContainerKind,
  isCriticalPod,
  isNodeCriticalPod,
} from "../../../api/pod/pod.ts";
import {
  aggregateContainerRequests,
  amountOf,
  type PodResources,
  podResources,
} from "../../../api/pod/pod-resources.ts";
import { type QosClass, qosClassOf } from "../../../api/pod/qos.ts";
import { wholeOf } from "../../../api/text/quantity.ts";

/** Amounts as they are declared; what is absent was not declared. */
export interface Amounts {
  readonly cpuMilli?: number;
  readonly memoryBytes?: number;
  /** Bytes by page size in the kernel's spelling, e.g. `2MB`. */
  readonly hugepages?: Readonly<Record<string, number>>;
}

/** The device requests of one container. */
export interface ContainerDemand {
  readonly name: string;
  readonly kind: ContainerKind;
  readonly requests: Amounts;
  readonly limits: Amounts;
}

/** Requests of a pod: all that the plans read. */
export interface PodDemand {
  readonly uid: string;
  readonly qos: QosClass;
  /** The pod as a whole, with overhead and pod-level amounts. */
  readonly total: PodResources;
  /** Amounts of `spec.resources`. */
  readonly podLevel: { readonly requests: Amounts; readonly limits: Amounts };
  /** Memory that the containers request, aggregated, without pod-level amounts and overhead. */
  readonly containersMemoryBytes: number;
  readonly containers: readonly ContainerDemand[];
  /** The pod has CPUs of its own, so its CPU time is not limited. */
  readonly exclusiveCpus: boolean;
  /** Static pod, mirror pod, or of system priority. */
  readonly critical: boolean;
  readonly nodeCritical: boolean;
}

const SIZE_UNITS = ["B", "KB", "MB", "GB", "TB", "PB"] as const;

const HUGEPAGES_PREFIX = "hugepages-";

/** A page size as the kernel's control files and CRI spell it: 2097152 is `2MB`. */
export function pageSizeName(sizeBytes: number): string {
  let size = sizeBytes;
  let unit = 0;
  while (size >= 1024 && unit < SIZE_UNITS.length - 1) {
    size = Math.floor(size / 1024);
    unit += 1;
  }
  return `${size}${SIZE_UNITS[unit]}`;
}

/** The kernel's page size of a resource such as `hugepages-2Mi`; `undefined` for other resources. */
export function pageSizeOfResource(name: string): string | undefined {
  if (!name.startsWith(HUGEPAGES_PREFIX)) return undefined;
  return pageSizeName(wholeOf(name.slice(HUGEPAGES_PREFIX.length)));
}

/** A resource list as amounts. `UsageError` on a value that is not a quantity. */
export function readDemandAmounts(list: Readonly<Record<string, string>> | undefined): Amounts {
  const hugepages: Record<string, number> = {};
  for (const [name, text] of Object.entries(list ?? {})) {
    const size = pageSizeOfResource(name);
    if (size !== undefined) hugepages[size] = amountOf(name, text);
  }
  const cpu = list?.["cpu"];
  const memory = list?.["memory"];
  return {
    ...(cpu === undefined ? {} : { cpuMilli: amountOf("cpu", cpu) }),
    ...(memory === undefined ? {} : { memoryBytes: amountOf("memory", memory) }),
    ...(Object.keys(hugepages).length === 0 ? {} : { hugepages }),
  };
}

/** Requests and limits of a container, by the list it is in. */
export function readContainerDemand(
  container: Container | EphemeralContainer,
  kind: ContainerKind,
): ContainerDemand {
  return {
    name: container.name,
    kind,
    requests: readDemandAmounts(container.resources?.requests),
    limits: readDemandAmounts(container.resources?.limits),
  };
}

/** Requests and limits of a pod. `UsageError` on a value that is not a quantity. */
export function readDemand(pod: Pod, uid: string): PodDemand {
  const init = (pod.spec?.initContainers ?? []).map((container) =>
    readContainerDemand(container, initContainerKind(container)),
  );
  const regular = (pod.spec?.containers ?? []).map((container) =>
    readContainerDemand(container, "regular"),
  );
  return {
    uid,
    qos: qosClassOf(pod),
    total: podResources(pod),
    podLevel: {
      requests: readDemandAmounts(pod.spec?.resources?.requests),
      limits: readDemandAmounts(pod.spec?.resources?.limits),
    },
    containersMemoryBytes: aggregateContainerRequests(pod).get("memory") ?? 0,
    containers: [...init, ...regular],
    exclusiveCpus: false,
    critical: isCriticalPod(pod),
    nodeCritical: isNodeCriticalPod(pod),
  };
}
