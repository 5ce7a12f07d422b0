// pure
/**
 * Resources allocated to a pod, beside those that its spec requests. The two differ while a resize in place
 * is pending (KEP-1287); everything that runs a pod uses the allocation.
 */
import { derivedOnce } from "../../kit/derived-once.ts";
import type {
  Container,
  ContainerStatus,
  Pod,
  PodSpec,
  ResourceRequirements,
} from "../generated/types.ts";
import { compareQuantities, parseQuantity } from "../text/quantity.ts";
import { amountsByName, isPodLevelResource, NO_SPEC, podResources } from "./pod-resources.ts";
import { qosClassOf } from "./qos.ts";

/** Requests and limits of a pod. */
export interface PodAllocation {
  /** Of the pod as a whole; absent where it has none. */
  readonly pod?: ResourceRequirements;
  /** Of containers that may change in place, by name. */
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
}

/** Resources actuated for a running pod. */
export interface ActuatedPod extends PodAllocation {
  /** By which the pod's cgroup was last made or changed. */
  readonly group: PodAllocation;
}

/**
 * Marks a cgroup while an earlier resize may have been applied in part: it differs from every allocation
 * of a pod, and its containers may have more or less than is recorded.
 */
export const unsure = (group: PodAllocation): PodAllocation => ({ ...group, containers: {} });

/** Whether `unsure` made it. */
export const isUnsure = (group: PodAllocation): boolean =>
  Object.keys(group.containers).length === 0;

type ResourceList = Readonly<Record<string, string>>;

const NOTHING: ResourceRequirements = {};

/** Containers whose resources may change in place: init containers, sidecars among them, and regular ones. */
export function resizableContainers(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
}

/** The resources of the spec; the same object for the same spec. */
export function allocationOf({ spec = NO_SPEC }: Pod): PodAllocation {
  return allocationOfSpec(spec);
}

const allocationOfSpec = derivedOnce((spec: PodSpec): PodAllocation => {
  const containers: Record<string, ResourceRequirements> = {};
  for (const { name, resources } of resizableContainers({ spec }))
    containers[name] = resources ?? NOTHING;
  const own = spec.resources;
  return own === undefined ? { containers } : { pod: own, containers };
});

/**
 * The pod with these resources in place of its own; the same object where they are equal. Containers that
 * the allocation does not know keep what their spec says.
 */
export function withAllocation<P extends Pod>(pod: P, allocation: PodAllocation): P {
  const { spec } = pod;
  if (!spec || allocation === allocationOf(pod)) return pod;
  const replaced = <C extends readonly Container[] | undefined>(list: C): C => {
    const next = list?.map((container) => given(container, allocation));
    return (next?.some((each, i) => each !== list?.[i]) ? next : list) as C;
  };
  const containers = replaced(spec.containers);
  const initContainers = replaced(spec.initContainers);
  const isOwnSame = isSameResources(spec.resources, allocation.pod);
  if (isOwnSame && containers === spec.containers && initContainers === spec.initContainers)
    return pod;
  const { resources, ...rest } = spec;
  const own = isOwnSame ? resources : allocation.pod;
  const next: PodSpec = {
    ...rest,
    containers,
    ...(initContainers ? { initContainers } : {}),
    ...(own ? { resources: own } : {}),
  };
  return { ...pod, spec: next };
}

function given(container: Container, { containers }: PodAllocation): Container {
  const known = Object.hasOwn(containers, container.name) ? containers[container.name] : undefined;
  if (known === undefined || isSameResources(container.resources, known)) return container;
  return { ...container, resources: known };
}

const LIMITED_BY_POD = ["cpu", "memory"] as const;

/**
 * What a container can use: where it has no limit of CPU or memory, it has that of its pod. Actuated resources
 * are recorded so, as the Go kubelet does (kubelet util.GetLimits).
 */
export function withPodLimits(
  resources: ResourceRequirements = NOTHING,
  pod: ResourceRequirements | undefined,
): ResourceRequirements {
  const missing = LIMITED_BY_POD.flatMap((name) => {
    const limit = pod?.limits?.[name];
    return limit === undefined || !isSameAmount(resources.limits?.[name], undefined)
      ? []
      : [[name, limit] as const];
  });
  if (missing.length === 0) return resources;
  return { ...resources, limits: { ...resources.limits, ...Object.fromEntries(missing) } };
}

/** Whether two allocations give their containers and the pod the same, wherever a limit is written. */
export function isSameInEffect(a: PodAllocation, b: PodAllocation): boolean {
  return isSameAllocation(inEffect(a), inEffect(b));
}

function inEffect({ pod, containers }: PodAllocation): PodAllocation {
  const entries = Object.entries(containers).map(
    ([name, resources]) => [name, withPodLimits(resources, pod)] as const,
  );
  return { ...(pod ? { pod } : {}), containers: Object.fromEntries(entries) };
}

/** Whether both are equal, however the amounts are spelled. */
export function isSameAllocation(a: PodAllocation, b: PodAllocation): boolean {
  if (a === b) return true;
  const names = new Set([...Object.keys(a.containers), ...Object.keys(b.containers)]);
  return (
    isSameResources(a.pod, b.pod) &&
    [...names].every((name) => isSameResources(a.containers[name], b.containers[name]))
  );
}

/** Whether both ask for the same; nothing is the same as an empty list, and as an amount of 0. */
export function isSameResources(
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
): boolean {
  return a === b || (isSameList(a?.requests, b?.requests) && isSameList(a?.limits, b?.limits));
}

function isSameList(a: ResourceList = {}, b: ResourceList = {}): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => isSameAmount(a[name], b[name]));
}

/** Whether two amounts, spelled as they may be, are one; an absent one is 0, as for the Go kubelet. */
export function isSameAmount(a: string | undefined, b: string | undefined): boolean {
  return a === b || compareQuantities(parseQuantity(a ?? "0"), parseQuantity(b ?? "0")) === 0;
}

/**
 * What a pod counts for while its resources change in place: for every resource the largest of its sums by these
 * allocations. A container that grows by what another one gives back takes nothing from other pods (component-helpers
 * resource PodRequests since 1.37). The pod has the first of them, and as a whole requests the largest; its class stays.
 */
export function withFootprint<P extends Pod>(
  pod: P,
  first: PodAllocation,
  others: readonly PodAllocation[],
): P {
  const held = withAllocation(pod, first);
  const sums = requestsOf(held);
  const larger: Record<string, string> = {};
  for (const other of others)
    for (const [name, amount] of requestsOf(withAllocation(pod, other))) {
      if (!isPodLevelResource(name) || amount <= (sums.get(name) ?? 0)) continue;
      sums.set(name, amount);
      larger[name] = name === "cpu" ? `${amount}m` : `${amount}`;
    }
  if (Object.keys(larger).length === 0) return held;
  const { spec = NO_SPEC } = held;
  const requests = { ...spec.resources?.requests, ...larger };
  const whole: PodSpec = { ...spec, resources: { ...spec.resources, requests } };
  return { ...held, spec: whole, status: { ...held.status, qosClass: qosClassOf(pod) } };
}

/** Sums of requests by name, milli for `cpu`, without the overhead: it is the same in all of them. */
function requestsOf({ spec = NO_SPEC }: Pod): Map<string, number> {
  const { overhead: _, ...bare } = spec;
  return new Map(amountsByName(podResources({ spec: bare }).requests));
}

/**
 * The pod with what a scheduler must take for granted, by what its status says it was given and has; what can never be
 * given does not count.
 */
export function asScheduled<P extends Pod>(pod: P): P {
  const { status } = pod;
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const desired = allocationOf(pod);
  const isNever = status?.conditions?.some(
    ({ type, reason }) => type === "PodResizePending" && reason === "Infeasible",
  );
  const by = (
    pick: (
      request: ResourceRequirements,
      found: ContainerStatus | undefined,
    ) => ResourceRequirements,
    own: Readonly<Record<string, string>> | undefined,
  ): PodAllocation => {
    const containers = Object.fromEntries(
      Object.entries(desired.containers).map(([name, request]) => {
        const found = statuses.find((each) => each.name === name);
        return [name, pick(request, found)];
      }),
    );
    if (!desired.pod) return { containers };
    return { pod: own ? { ...desired.pod, requests: own } : desired.pod, containers };
  };
  const given = (requests: Readonly<Record<string, string>> | undefined) =>
    requests && { requests };
  const allocated = by(
    (request, found) => given(found?.allocatedResources) ?? (isNever ? {} : request),
    status?.allocatedResources,
  );
  const actuated = by(
    (request, found) =>
      given(found?.resources?.requests) ??
      given(found?.allocatedResources) ??
      (isNever ? {} : request),
    status?.resources?.requests,
  );
  return isNever
    ? withFootprint(pod, allocated, [actuated])
    : withFootprint(pod, desired, [allocated, actuated]);
}

/** Whether resources that are asked for in place can be given; `rule` names what spoke against it. */
export type ResizeVerdict =
  | { readonly kind: "fits" }
  | { readonly kind: "infeasible"; readonly rule: string; readonly message: string }
  | {
      readonly kind: "deferred";
      readonly rule: string;
      /** For which a new pod would be rejected. */
      readonly reason: string;
      readonly message: string;
    };
