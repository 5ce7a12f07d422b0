// pure
import type { Container, Pod } from "./generated/types.ts";
import { isRestartableInit } from "./pod.ts";
import { milliOf, wholeOf } from "./quantity.ts";

/** Resources in plain numbers, all safe integers. What is not there is 0. */
export interface ResourceAmounts {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly ephemeralStorageBytes: number;
  /** Bytes by full resource name, e.g. `hugepages-2Mi`. */
  readonly hugepagesBytes: ReadonlyMap<string, number>;
  /** Everything else by resource name, e.g. devices. */
  readonly extended: ReadonlyMap<string, number>;
}

/** What a pod asks for and may use as a whole. */
export interface PodResources {
  readonly requests: ResourceAmounts;
  readonly limits: ResourceAmounts;
  /** Whether the pod as a whole may be limited: every container has such a limit, or the pod itself has. */
  readonly cpuLimited: boolean;
  readonly memoryLimited: boolean;
}

/** Amounts by resource name: milli for `cpu`, whole units for the rest. */
type Amounts = Map<string, number>;
type ResourceList = Readonly<Record<string, string>>;

const HUGEPAGES_PREFIX = "hugepages-";

/** Whether a resource can be set for the pod as a whole. */
export const isPodLevelResource = (name: string): boolean =>
  name === "cpu" || name === "memory" || name.startsWith(HUGEPAGES_PREFIX);

/** The amount of one entry of a resource list: milli for `cpu`, whole units (rounded up) for the rest. */
export const amountOf = (name: string, text: string): number =>
  name === "cpu" ? milliOf(text) : wholeOf(text);

/** A safe sum; the clamp keeps absurd declarations from turning into wrong ones. */
const plus = (a: number, b: number): number => Math.min(a + b, Number.MAX_SAFE_INTEGER);

function readAmounts(list: ResourceList | undefined): Amounts {
  const amounts: Amounts = new Map();
  for (const [name, text] of Object.entries(list ?? {})) amounts.set(name, amountOf(name, text));
  return amounts;
}

function addInto(sum: Amounts, more: Amounts): void {
  for (const [name, amount] of more) sum.set(name, plus(sum.get(name) ?? 0, amount));
}

function maxInto(largest: Amounts, more: Amounts): void {
  for (const [name, amount] of more)
    largest.set(name, Math.max(largest.get(name) ?? amount, amount));
}

/**
 * Regular containers and sidecars run side by side and add up; an init container runs beside the
 * sidecars before it only, so it merely sets a minimum.
 */
function aggregate(pod: Pod, pick: (container: Container) => ResourceList | undefined): Amounts {
  const total: Amounts = new Map();
  const sidecars: Amounts = new Map();
  const minimum: Amounts = new Map();
  for (const container of pod.spec?.containers ?? []) addInto(total, readAmounts(pick(container)));
  for (const container of pod.spec?.initContainers ?? []) {
    const own = readAmounts(pick(container));
    if (isRestartableInit(container)) {
      addInto(total, own);
      addInto(sidecars, own);
      maxInto(minimum, sidecars);
    } else {
      addInto(own, sidecars);
      maxInto(minimum, own);
    }
  }
  maxInto(total, minimum);
  return total;
}

function overrideWithPodLevel(amounts: Amounts, list: ResourceList | undefined): void {
  for (const [name, amount] of readAmounts(list))
    if (isPodLevelResource(name)) amounts.set(name, amount);
}

function freeze(amounts: Amounts): ResourceAmounts {
  const hugepagesBytes = new Map<string, number>();
  const extended = new Map<string, number>();
  for (const [name, amount] of amounts) {
    if (name === "cpu" || name === "memory" || name === "ephemeral-storage") continue;
    (name.startsWith(HUGEPAGES_PREFIX) ? hugepagesBytes : extended).set(name, amount);
  }
  return {
    cpuMilli: amounts.get("cpu") ?? 0,
    memoryBytes: amounts.get("memory") ?? 0,
    ephemeralStorageBytes: amounts.get("ephemeral-storage") ?? 0,
    hugepagesBytes,
    extended,
  };
}

/** A resource list in numbers. Throws `UsageError` on a value that is no quantity. */
export const resourceAmounts = (list: ResourceList | undefined): ResourceAmounts =>
  freeze(readAmounts(list));

/** Amounts by name (milli for `cpu`), the containers' requests aggregated over the pod, nothing else added. */
export const aggregateContainerRequests = (pod: Pod): ReadonlyMap<string, number> =>
  aggregate(pod, (container) => container.resources?.requests);

/** Amounts by name (milli for `cpu`), the containers' limits aggregated over the pod, nothing else added. */
export const aggregateContainerLimits = (pod: Pod): ReadonlyMap<string, number> =>
  aggregate(pod, (container) => container.resources?.limits);

/** Whether every container, init ones included, has a limit above zero for the resource. */
export function everyContainerLimits(pod: Pod, name: string): boolean {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return (
    containers.length > 0 &&
    containers.every(({ resources }) => {
      const text = resources?.limits?.[name];
      return text !== undefined && amountOf(name, text) > 0;
    })
  );
}

/**
 * What the pod as a whole requests and may use: containers and sidecars added up, the maximum with the
 * init containers, replaced by pod-level resources where set, plus overhead (on limits only where there
 * is a limit). Source: component-helpers `resource`, `ResourceConfigForPod`.
 * Throws `UsageError` on a value that is no quantity.
 */
export function podResources(pod: Pod): PodResources {
  const overhead = readAmounts(pod.spec?.overhead);
  const requests = aggregate(pod, (container) => container.resources?.requests);
  overrideWithPodLevel(requests, pod.spec?.resources?.requests);
  addInto(requests, overhead);
  const limits = aggregate(pod, (container) => container.resources?.limits);
  overrideWithPodLevel(limits, pod.spec?.resources?.limits);
  const podLimits = readAmounts(pod.spec?.resources?.limits);
  for (const [name, amount] of overhead) {
    const limit = limits.get(name);
    if (limit !== undefined) limits.set(name, plus(limit, amount));
  }
  return {
    requests: freeze(requests),
    limits: freeze(limits),
    cpuLimited: (podLimits.get("cpu") ?? 0) > 0 || everyContainerLimits(pod, "cpu"),
    memoryLimited: (podLimits.get("memory") ?? 0) > 0 || everyContainerLimits(pod, "memory"),
  };
}
