// pure
import type { ContainerDemand, PodDemand } from "./demand.ts";
import { literalPath, podName } from "./names.ts";
import { podGroupResources } from "./plan-pod.ts";
import type { CgroupSettings } from "./settings.ts";
import { type CgroupPlan, type CgroupResources, planWrites } from "./writes.ts";

/** Resources that change in place, in the order in which they are taken. */
export const RESIZED = ["memory", "cpu"] as const;
/** A resource of `RESIZED`. */
export type Resized = (typeof RESIZED)[number];

/** One step of a change in place. */
export type ResizeStep =
  | {
      readonly kind: "group";
      readonly resource: Resized;
      readonly part: "limit" | "request";
      readonly plan: CgroupPlan;
    }
  /** The runtime is told the new resources of the containers. */
  | { readonly kind: "containers"; readonly resource: Resized };

/** How a value changes: what is absent of a limit is more than any limit. */
interface Change {
  readonly from: number;
  readonly to: number;
}

/**
 * What to do, in order, so that a container never has more than its pod: the pod's group grows before the
 * containers and shrinks after them, limits before requests when growing and after them when shrinking.
 * Source: kubelet kuberuntime doPodResizeAction.
 */
export function planResize(
  settings: CgroupSettings,
  from: PodDemand,
  to: PodDemand,
): readonly ResizeStep[] {
  const before = podGroupResources(settings, from);
  const after = podGroupResources(settings, to);
  return RESIZED.flatMap((resource) => {
    const limit = { from: limitOf(before, resource), to: limitOf(after, resource) };
    const request = { from: requestOf(from, resource), to: requestOf(to, resource) };
    const group = (part: "limit" | "request"): ResizeStep => ({
      kind: "group",
      resource,
      part,
      plan: planPart(settings, to, partOf(after, resource, part)),
    });
    const steps: ResizeStep[] = [];
    if (grows(limit)) steps.push(group("limit"));
    if (grows(request)) steps.push(group("request"));
    if (changesContainers(from, to, resource)) steps.push({ kind: "containers", resource });
    if (shrinks(request)) steps.push(group("request"));
    if (shrinks(limit)) steps.push(group("limit"));
    return steps;
  });
}

/** The pod's new memory limit where it is lower than before; `undefined` where it is not. */
export function loweredPodMemory(
  settings: CgroupSettings,
  from: PodDemand,
  to: PodDemand,
): number | undefined {
  const change = {
    from: limitOf(podGroupResources(settings, from), "memory"),
    to: limitOf(podGroupResources(settings, to), "memory"),
  };
  return shrinks(change) ? change.to : undefined;
}

/** New memory limits of containers that are lower than before, by name. */
export function loweredContainerMemory(
  from: PodDemand,
  to: PodDemand,
): ReadonlyMap<string, number> {
  const lowered = new Map<string, number>();
  for (const { name, limits } of to.containers) {
    const earlier = from.containers.find((other) => other.name === name);
    const change = {
      from: earlier?.limits.memoryBytes || Number.POSITIVE_INFINITY,
      to: limits.memoryBytes || Number.POSITIVE_INFINITY,
    };
    if (earlier && shrinks(change)) lowered.set(name, change.to);
  }
  return lowered;
}

const grows = ({ from, to }: Change) => to > from;
const shrinks = ({ from, to }: Change) => to < from;

function limitOf(resources: CgroupResources, resource: Resized): number {
  const value = resource === "cpu" ? resources.cpuQuotaUs : resources.memoryBytes;
  return value !== undefined && value > 0 ? value : Number.POSITIVE_INFINITY;
}

function requestOf({ total }: PodDemand, resource: Resized): number {
  return resource === "cpu" ? total.requests.cpuMilli : total.requests.memoryBytes;
}

function partOf(
  resources: CgroupResources,
  resource: Resized,
  part: "limit" | "request",
): CgroupResources {
  if (resource === "memory") {
    const { memoryBytes = -1, unified } = resources;
    if (part === "limit") return { memoryBytes };
    return unified === undefined ? {} : { unified };
  }
  if (part === "request") return { cpuShares: resources.cpuShares ?? 0 };
  const { cpuQuotaUs = -1, cpuPeriodUs } = resources;
  return { cpuQuotaUs, ...(cpuPeriodUs === undefined ? {} : { cpuPeriodUs }) };
}

function planPart(settings: CgroupSettings, to: PodDemand, resources: CgroupResources): CgroupPlan {
  const path = literalPath(podName(settings.root, to.qos, to.uid), settings.driver);
  return { path, kind: "pod", create: false, writes: planWrites(settings, resources) };
}

function changesContainers(from: PodDemand, to: PodDemand, resource: Resized): boolean {
  return to.containers.some((container) => {
    const earlier = from.containers.find(({ name }) => name === container.name);
    return earlier !== undefined && amounts(earlier, resource) !== amounts(container, resource);
  });
}

function amounts({ requests, limits }: ContainerDemand, resource: Resized): string {
  const name = resource === "cpu" ? "cpuMilli" : "memoryBytes";
  return `${requests[name] ?? ""}/${limits[name] ?? ""}`;
}
