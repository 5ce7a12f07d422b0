// pure
import type { PodDemand } from "./demand.ts";
import { literalPath, podName } from "./names.ts";
import { type ContainerResources, planContainer } from "./plan-container.ts";
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
  | {
      readonly kind: "containers";
      readonly resource: Resized;
      readonly updates: readonly ContainerUpdate[];
    };

/** A pod of which containers and group may be differently far. */
export interface ResizeDemand {
  /** As its group is now. */
  readonly group: PodDemand;
  /** As its containers are now. */
  readonly from: PodDemand;
  readonly to: PodDemand;
}

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
  { group: made, from, to }: ResizeDemand,
): readonly ResizeStep[] {
  const before = podGroupResources(settings, made);
  const after = podGroupResources(settings, to);
  return RESIZED.flatMap((resource) => {
    const limit = { from: limitOf(before, resource), to: limitOf(after, resource) };
    const request = { from: requestOf(made, resource), to: requestOf(to, resource) };
    const group = (part: "limit" | "request"): ResizeStep => ({
      kind: "group",
      resource,
      part,
      plan: planPart(settings, to, partOf(after, resource, part)),
    });
    const steps: ResizeStep[] = [];
    if (grows(limit)) steps.push(group("limit"));
    if (grows(request)) steps.push(group("request"));
    const updates = planUpdates(settings, from, to, resource);
    if (updates.length > 0) steps.push({ kind: "containers", resource, updates });
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

/** What the runtime is to be told of one container. */
export interface ContainerUpdate {
  readonly name: string;
  readonly resources: ContainerResources;
}

/**
 * Containers whose values of `resource` change, with all values they are to have then; those that get less
 * come first. CPU is taken after memory, so that a container has both when it was told of CPU.
 */
export function planUpdates(
  settings: CgroupSettings,
  from: PodDemand,
  to: PodDemand,
  resource: Resized,
): readonly ContainerUpdate[] {
  const updates = to.containers.flatMap((container) => {
    const earlier = from.containers.find(({ name }) => name === container.name);
    if (!earlier) return [];
    const before = planContainer(settings, from, earlier);
    const after = planContainer(settings, to, container);
    if (JSON.stringify(values(before, resource)) === JSON.stringify(values(after, resource)))
      return [];
    const { cpuShares, cpuQuota, cpuPeriod } = before;
    const resources = resource === "cpu" ? after : { ...after, cpuShares, cpuQuota, cpuPeriod };
    return [{ name: container.name, resources, grows: growth(before, after, resource) }];
  });
  return updates
    .sort((a, b) => a.grows - b.grows)
    .map(({ name, resources }) => ({ name, resources }));
}

/** What of a container's values belongs to a resource, as text. */
function values(resources: ContainerResources, resource: Resized): readonly string[] {
  const { cpuShares, cpuQuota, memoryLimitInBytes, memorySwapLimitInBytes, unified } = resources;
  return resource === "cpu"
    ? [String(cpuShares), String(cpuQuota)]
    : [String(memoryLimitInBytes), String(memorySwapLimitInBytes), JSON.stringify(unified)];
}

/** Whether a container gets more (1) or less (-1): by its limit, or by its shares where that stays. */
function growth(before: ContainerResources, after: ContainerResources, resource: Resized): number {
  const limit = ({ cpuQuota, memoryLimitInBytes }: ContainerResources) => {
    const value = resource === "cpu" ? cpuQuota : memoryLimitInBytes;
    return value > 0n ? Number(value) : Number.POSITIVE_INFINITY;
  };
  return Math.sign(
    limit(after) === limit(before)
      ? Number(after.cpuShares - before.cpuShares)
      : limit(after) - limit(before),
  );
}
