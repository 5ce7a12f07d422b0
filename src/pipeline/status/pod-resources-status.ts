// pure
/** Resources of a pod as a whole in its status (KEP-5419). */
import type { PodSpec, PodStatus, ResourceRequirements } from "../../api/generated/types.ts";
import { addInto, aggregateContainers, readAmounts } from "../../api/pod/aggregate-resources.ts";
import { withAllocation } from "../../api/pod/allocation.ts";
import { isPodLevelResource, NO_SPEC, podResources } from "../../api/pod/pod-resources.ts";
import { EXACT } from "../../api/pod/resource-defaults.ts";
import { formatQuantity, isZeroQuantity, type Quantity } from "../../api/text/quantity.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import type { PodRecord } from "../pods/record/record.ts";

type ResourceList = Readonly<Record<string, string>>;

/** Below these the cgroup says nothing about what was asked for (cm MinShares, MinMilliCPULimit). */
const LEAST_REQUEST_MILLI = 2;
const LEAST_LIMIT_MILLI = 10;

/**
 * What the pod was given and what it has: its own resources where the spec sets them, the sum of its containers otherwise,
 * overhead included. A pod that runs shows what its cgroup limits, any other one what was given; one without any
 * shows an empty list, which shows that the node supports such resizes (convertToAPIPodLevelResourcesStatus).
 */
export function statusPodResources(
  { pod, resize }: Pick<PodRecord, "pod" | "resize">,
  phase: string | undefined,
): Pick<PodStatus, "allocatedResources" | "resources"> {
  const { requests, limits } = totalsOf(pod.spec ?? NO_SPEC);
  const { spec: had = NO_SPEC } = withAllocation(pod, resize.actuated.group);
  return {
    ...(isEmpty(requests) ? {} : { allocatedResources: requests }),
    resources: phase === "Running" ? actualResources(had) : listsOf(requests, limits),
  };
}

/**
 * What the cgroup of a pod with this spec holds, beside what the spec sets for the pod as a whole. Once for each spec, as
 * the sums are: a status is derived with everything that happens to its pod.
 */
const actualResources = derivedOnce((spec: PodSpec): ResourceRequirements => {
  const own = spec.resources ?? {};
  const { requests, limits, cpuLimited, memoryLimited } = podResources({ spec });
  const { requests: requested, limits: limited } = totalsOf(spec);
  const holdsCpu = requests.cpuMilli > LEAST_REQUEST_MILLI;
  const limitsCpu = cpuLimited && limits.cpuMilli > LEAST_LIMIT_MILLI;
  return listsOf(
    { ...only(requested, "memory", true), ...own.requests, ...only(requested, "cpu", holdsCpu) },
    {
      ...own.limits,
      ...only(limited, "cpu", limitsCpu),
      ...only(limited, "memory", memoryLimited),
    },
  );
});

function only(list: ResourceList, name: string, isShown: boolean): ResourceList {
  const amount = list[name];
  return isShown && amount !== undefined ? { [name]: amount } : {};
}

const totalsOf = derivedOnce((spec: PodSpec) => ({
  requests: totalOf(spec, "requests"),
  limits: totalOf(spec, "limits"),
}));

/** Requests or limits of the pod as a whole, with the exact amounts (component-helpers resource PodRequests, PodLimits). */
function totalOf(spec: PodSpec, which: "requests" | "limits"): ResourceList {
  const total: Map<string, Quantity> = aggregateContainers(
    { spec },
    ({ resources }) => resources?.[which],
    EXACT,
  );
  for (const [name, amount] of readAmounts(spec.resources?.[which], EXACT))
    if (isPodLevelResource(name)) total.set(name, amount);
  const overhead = readAmounts(spec.overhead, EXACT);
  if (which === "limits")
    for (const name of overhead.keys()) {
      const limit = total.get(name);
      if (limit === undefined || isZeroQuantity(limit)) overhead.delete(name);
    }
  addInto(total, overhead, EXACT);
  return Object.fromEntries([...total].map(([name, amount]) => [name, formatQuantity(amount)]));
}

const isEmpty = (list: ResourceList): boolean => Object.keys(list).length === 0;

const listsOf = (requests: ResourceList, limits: ResourceList): ResourceRequirements => ({
  ...(isEmpty(limits) ? {} : { limits }),
  ...(isEmpty(requests) ? {} : { requests }),
});
