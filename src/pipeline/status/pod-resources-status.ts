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
  const { spec: given = NO_SPEC } = pod;
  const { requests, limits } = totalsOf(given);
  const { spec: had = NO_SPEC } = withAllocation(pod, resize.actuated.group);
  const actual = () => (had === given ? settledResources(given) : actualResources(given, had));
  return {
    ...(isEmpty(requests) ? {} : { allocatedResources: requests }),
    resources: phase === "Running" ? actual() : listsOf(requests, limits),
  };
}

/** Of a pod that has what it was given. Once for each spec, as the sums are: a status is derived with everything that happens to its pod. */
const settledResources = derivedOnce((spec: PodSpec) => actualResources(spec, spec));

/**
 * What the cgroup of a pod holds, which was last made or changed by `had`, beside what was given to the pod as a whole. No
 * cgroup knows a memory request: it is the one that was given, at once.
 */
function actualResources(given: PodSpec, had: PodSpec): ResourceRequirements {
  const { requests: own = {}, limits: ownLimits = {} } = given.resources ?? {};
  const { cpu, memory: _, ...fixedLimits } = ownLimits;
  const { requests, limits, cpuLimited, memoryLimited } = podResources({ spec: had });
  const { requests: requested, limits: limited } = totalsOf(had);
  const holdsCpu = requests.cpuMilli > LEAST_REQUEST_MILLI;
  const showsLimit = limits.cpuMilli > LEAST_LIMIT_MILLI;
  const leastLimit: ResourceList = cpu === undefined ? {} : { cpu };
  return listsOf(
    {
      ...only(totalsOf(given).requests, "memory", true),
      ...own,
      ...only(requested, "cpu", holdsCpu),
    },
    {
      ...fixedLimits,
      ...only(showsLimit ? limited : leastLimit, "cpu", cpuLimited),
      ...only(limited, "memory", memoryLimited),
    },
  );
}

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
