// pure

import { derivedOnce } from "../../kit/derived-once.ts";
import type { Pod, PodSpec } from "../generated/types.ts";
import { milliOf, wholeOf } from "../text/quantity.ts";
import {
  type Arithmetic,
  addInto,
  aggregateContainers,
  readAmounts,
} from "./aggregate-resources.ts";

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

/** Total requests and limits of a pod. */
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

/** Sums are clamped, so that absurd declarations do not turn into wrong ones. */
const NUMBERS: Arithmetic<number> = {
  read: amountOf,
  plus: (a, b) => Math.min(a + b, Number.MAX_SAFE_INTEGER),
  greater: (a, b) => a > b,
};

const amountsOf = (list: ResourceList | undefined): Amounts => readAmounts(list, NUMBERS);

function overrideWithPodLevel(amounts: Amounts, list: ResourceList | undefined): void {
  for (const [name, amount] of amountsOf(list))
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

/** A resource list in numbers. Throws `UsageError` on a value that is not a quantity. */
export const resourceAmounts = (list: ResourceList | undefined): ResourceAmounts =>
  freeze(amountsOf(list));

/** Amounts by the names that resource lists use, made once for each object. */
export const amountsByName = derivedOnce(
  (amounts: ResourceAmounts): ReadonlyMap<string, number> => {
    const named = new Map([
      ["cpu", amounts.cpuMilli],
      ["memory", amounts.memoryBytes],
      ["ephemeral-storage", amounts.ephemeralStorageBytes],
    ]);
    for (const [name, amount] of amounts.hugepagesBytes) named.set(name, amount);
    for (const [name, amount] of amounts.extended) named.set(name, amount);
    return named;
  },
);

/** Amounts by name (milli for `cpu`), the containers' requests aggregated over the pod, nothing else added. */
export const aggregateContainerRequests = (pod: Pod): ReadonlyMap<string, number> =>
  aggregateContainers(pod, ({ resources }) => resources?.requests, NUMBERS);

/** Amounts by name (milli for `cpu`), the containers' limits aggregated over the pod, nothing else added. */
export const aggregateContainerLimits = (pod: Pod): ReadonlyMap<string, number> =>
  aggregateContainers(pod, ({ resources }) => resources?.limits, NUMBERS);

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
 * Requests and limits of the pod as a whole: containers and sidecars added up, the maximum with the
 * init containers, replaced by pod-level resources where set, plus overhead (on limits only where there
 * is a limit). Source: component-helpers `resource`, `ResourceConfigForPod`.
 * Throws `UsageError` on a value that is not a quantity. Derived once for each spec: every admission adds up those of
 * all pods.
 */
export function podResources({ spec = NO_SPEC }: Pod): PodResources {
  return resourcesOfSpec(spec);
}

/** Of a pod without one; one object, so that it is derived of once, too. */
export const NO_SPEC: PodSpec = { containers: [] };

const resourcesOfSpec = derivedOnce((spec: PodSpec): PodResources => {
  const pod: Pod = { spec };
  const overhead = amountsOf(spec.overhead);
  const requests = aggregateContainers(pod, ({ resources }) => resources?.requests, NUMBERS);
  overrideWithPodLevel(requests, spec.resources?.requests);
  addInto(requests, overhead, NUMBERS);
  const limits = aggregateContainers(pod, ({ resources }) => resources?.limits, NUMBERS);
  overrideWithPodLevel(limits, spec.resources?.limits);
  const podLimits = amountsOf(spec.resources?.limits);
  for (const [name, amount] of overhead) {
    const limit = limits.get(name);
    if (limit !== undefined) limits.set(name, NUMBERS.plus(limit, amount));
  }
  return {
    requests: freeze(requests),
    limits: freeze(limits),
    cpuLimited: (podLimits.get("cpu") ?? 0) > 0 || everyContainerLimits(pod, "cpu"),
    memoryLimited: (podLimits.get("memory") ?? 0) > 0 || everyContainerLimits(pod, "memory"),
  };
});
