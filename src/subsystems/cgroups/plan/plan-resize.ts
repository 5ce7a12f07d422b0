// pure

import { literalPath, podName } from "../names.ts";
import { isSameValue } from "../same-value.ts";
import type { CgroupSettings } from "../settings.ts";
import { type CgroupPlan, type CgroupResources, planWrites } from "../writes.ts";
import type { PodDemand } from "./demand.ts";
import { type ContainerResources, planContainerGroup } from "./plan-container.ts";
import { podGroupResources } from "./plan-pod.ts";

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
  /** Sends the new resources of the containers to the runtime. */
  | {
      readonly kind: "containers";
      readonly resource: Resized;
      readonly updates: readonly ContainerUpdate[];
    };

/** A pod of which containers and group may be differently far. */
export interface ResizeDemand {
  /** As its containers are now. */
  readonly from: PodDemand;
  readonly to: PodDemand;
  /** Values of the pod's group, by file, as the kernel shows them; absent where pods have no groups. */
  readonly found?: ReadonlyMap<string, string>;
  /** Containers may have other values than in `from`: all are updated. */
  readonly updateAll: boolean;
}

/**
 * Plans the writes in an order in which a container never has more than its pod: the pod's group grows before the
 * containers and shrinks after them, limits before requests when growing and after them when shrinking.
 * Source: kubelet kuberuntime doPodResizeAction.
 */
export function planGroupResize(
  settings: CgroupSettings,
  demand: ResizeDemand,
): readonly ResizeStep[] {
  return RESIZED.flatMap((resource) => {
    const steps = (change: Change, parts: readonly ("limit" | "request")[]): ResizeStep[] =>
      parts.flatMap((part) => {
        const plan = planPart(settings, demand.to, resource, part);
        const isDue = changeOf(plan, demand.found) === change;
        return isDue ? [{ kind: "group", resource, part, plan } as const] : [];
      });
    const updates = planUpdates(settings, demand, resource);
    return [
      ...steps("grows", ["limit", "request"]),
      ...(updates.length > 0 ? [{ kind: "containers", resource, updates } as const] : []),
      ...steps("shrinks", ["request", "limit"]),
    ];
  });
}

/** The files of a pod's group by which a change goes. */
export function resizedFiles(settings: CgroupSettings, to: PodDemand): readonly string[] {
  return RESIZED.flatMap((resource) =>
    (["limit", "request"] as const).flatMap((part) =>
      planPart(settings, to, resource, part).writes.map(({ file }) => file),
    ),
  );
}

/** The pod's new memory limit where it is lower than the kernel's; `undefined` where it is not. */
export function loweredPodMemory(
  settings: CgroupSettings,
  { to, found }: ResizeDemand,
): number | undefined {
  const plan = planPart(settings, to, "memory", "limit");
  if (changeOf(plan, found) !== "shrinks") return undefined;
  return podGroupResources(settings, to).memoryBytes;
}

/** How a value of the group changes. */
type Change = "grows" | "shrinks" | "stays";

/** By the first value that differs; what cannot be read is written first. */
function changeOf({ writes }: CgroupPlan, found: ResizeDemand["found"]): Change {
  if (!found) return "stays";
  for (const { file, value } of writes) {
    const has = found.get(file);
    if (has === undefined) return "grows";
    if (!isSameValue(file, has, value)) return isLess(value, has) ? "shrinks" : "grows";
  }
  return "stays";
}

/** Whether a limit or a share is less than another, both as the kernel shows them. */
export const isLess = (value: string, than: string): boolean => amountOf(value) < amountOf(than);

/** No limit is more than any. */
function amountOf(text: string): number {
  const [first = ""] = text.trim().split(" ");
  return first === "max" || first.startsWith("-") ? Number.POSITIVE_INFINITY : Number(first);
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

/** The group of a pod. */
export const podGroupOf = ({ root, driver }: CgroupSettings, { qos, uid }: PodDemand): string =>
  literalPath(podName(root, qos, uid), driver);

function planPart(
  settings: CgroupSettings,
  to: PodDemand,
  resource: Resized,
  part: "limit" | "request",
): CgroupPlan {
  const resources = partOf(podGroupResources(settings, to), resource, part);
  const writes = planWrites(settings, resources);
  return { path: podGroupOf(settings, to), kind: "pod", create: false, writes };
}

/** The update of one container for the runtime. */
export interface ContainerUpdate {
  readonly name: string;
  readonly resources: ContainerResources;
}

/**
 * Containers whose values of `resource` change or are not sure, with all values they are to have then; those
 * that get less come first. CPU is taken after memory, so that a container has both once CPU is reported to it.
 */
export function planUpdates(
  settings: CgroupSettings,
  { from, to, updateAll }: ResizeDemand,
  resource: Resized,
): readonly ContainerUpdate[] {
  const updates = to.containers.flatMap((container) => {
    const earlier = from.containers.find(({ name }) => name === container.name);
    if (!earlier) return [];
    const before = planContainerGroup(settings, from, earlier);
    const after = planContainerGroup(settings, to, container);
    const isSame = `${values(before, resource)}` === `${values(after, resource)}`;
    if (isSame && !updateAll) return [];
    const { cpuShares, cpuQuota, cpuPeriod } = before;
    const resources = resource === "cpu" ? after : { ...after, cpuShares, cpuQuota, cpuPeriod };
    return [{ name: container.name, resources, grows: growth(before, after, resource) }];
  });
  return updates
    .sort((a, b) => a.grows - b.grows)
    .map(({ name, resources }) => ({ name, resources }));
}

/** Values of a container that belong to a resource, as text. */
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
