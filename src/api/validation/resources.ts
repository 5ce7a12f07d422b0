// pure

import {
  duplicate,
  type FieldProblem,
  forbidden,
  invalid,
  required,
  unsupported,
} from "../decode/field-problem.ts";
import type { Pod, PodSpec, ResourceClaim, ResourceRequirements } from "../generated/types.ts";
import { aggregateContainers } from "../pod/aggregate-resources.ts";
import { isPodLevelResource } from "../pod/pod-resources.ts";
import { EXACT } from "../pod/resource-defaults.ts";
import { dns1123LabelFaults, qualifiedNameFaults } from "../text/names.ts";
import {
  compareQuantities,
  formatQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
} from "../text/quantity.ts";
import {
  child,
  eachOf,
  entry,
  FINE,
  faultsAt,
  isNegative,
  type Problems,
  quantityOf,
  sortedEntries,
} from "./fields.ts";

type ResourceList = Readonly<Record<string, string>>;

const HUGE_PAGES = "hugepages-";
const CONTAINER_RESOURCES = new Set(["cpu", "memory", "ephemeral-storage"]);
const INTEGER_RESOURCES = new Set(
  "pods resourcequotas services replicationcontrollers secrets configmaps persistentvolumeclaims services.nodeports services.loadbalancers".split(
    " ",
  ),
);
const STANDARD_RESOURCES = new Set([
  ...CONTAINER_RESOURCES,
  ...INTEGER_RESOURCES,
  ..."requests.cpu requests.memory requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage storage requests.storage".split(
    " ",
  ),
]);
const POD_LEVEL_RESOURCES = ["cpu", HUGE_PAGES, "memory"] as const;

const isHugePages = (name: string): boolean => name.startsWith(HUGE_PAGES);

/** Resources of Kubernetes itself: without a domain, or of `kubernetes.io`. */
const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");

/** Whether more may be promised than there is; requests and limits may differ then. */
const overcommits = (name: string): boolean => isNative(name) && !isHugePages(name);

/** Resources of others, e.g. devices: `domain/name`, counted in whole numbers. */
export const isExtendedResource = (name: string): boolean =>
  !isNative(name) &&
  !name.startsWith("requests.") &&
  qualifiedNameFaults(`requests.${name}`).length === 0;

function nameProblems(name: string, path: string): Problems {
  const faults = qualifiedNameFaults(name);
  if (faults.length > 0) return faultsAt(path, name, faults);
  const standard =
    STANDARD_RESOURCES.has(name) || isHugePages(name) || name.startsWith(`requests.${HUGE_PAGES}`);
  return name.includes("/") || standard
    ? FINE
    : [invalid(path, name, "must be a standard resource type or fully qualified")];
}

function containerNameProblems(name: string, path: string): Problems {
  const problems = nameProblems(name, path);
  if (!name.includes("/"))
    return CONTAINER_RESOURCES.has(name) || isHugePages(name)
      ? problems
      : [...problems, invalid(path, name, "must be a standard resource for containers")];
  return isNative(name) || isExtendedResource(name)
    ? problems
    : [...problems, invalid(path, name, "doesn't follow extended resource name standard")];
}

function podLevelNameProblems(name: string, path: string): Problems {
  const problems = nameProblems(name, path);
  if (problems.length > 0) return problems;
  return isPodLevelResource(name) ? FINE : [unsupported(path, name, POD_LEVEL_RESOURCES)];
}

function isWholePages(name: string, quantity: Quantity): boolean {
  const page = quantityOf(name.slice(HUGE_PAGES.length));
  if (page === undefined || page.mantissa <= 0n || quantityMilliValue(page) % 1000n !== 0n)
    return false;
  return quantityValue(quantity) % quantityValue(page) === 0n;
}

function amountProblems(name: string, text: string, path: string): Problems {
  const quantity = quantityOf(text);
  if (quantity === undefined) return FINE;
  const problems: FieldProblem[] = [];
  if (isNegative(text)) problems.push(invalid(path, text, "must be greater than or equal to 0"));
  const integer = INTEGER_RESOURCES.has(name) || isExtendedResource(name);
  if (integer && quantityMilliValue(quantity) % 1000n !== 0n)
    problems.push(invalid(path, text, "must be an integer"));
  if (isHugePages(name) && !isWholePages(name, quantity))
    problems.push(
      invalid(
        path,
        text,
        `${formatQuantity(quantity)} is not positive integer multiple of ${name}`,
      ),
    );
  return problems;
}

function requestProblems(name: string, text: string, limits: ResourceList, path: string): Problems {
  const limitText = Object.hasOwn(limits, name) ? limits[name] : undefined;
  if (limitText === undefined)
    return overcommits(name)
      ? FINE
      : [required(child(path, "limits"), "Limit must be set for non overcommitable resources")];
  const [request, limit] = [quantityOf(text), quantityOf(limitText)];
  if (request === undefined || limit === undefined) return FINE;
  const order = compareQuantities(request, limit);
  const wrong = (relation: string) => [
    invalid(
      child(path, "requests"),
      formatQuantity(request),
      `must be ${relation} ${name} limit of ${formatQuantity(limit)}`,
    ),
  ];
  if (order !== 0 && !overcommits(name)) return wrong("equal to");
  return order > 0 ? wrong("less than or equal to") : FINE;
}

function requirementProblems(
  { limits = {}, requests = {} }: ResourceRequirements,
  path: string,
  checkName: (name: string, path: string) => Problems,
): Problems {
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  const compute = names.some((name) => name === "cpu" || name === "memory");
  const both = (name: string, text: string, at: string) => [
    ...checkName(name, at),
    ...amountProblems(name, text, at),
  ];
  return [
    ...sortedEntries(limits).flatMap(([name, text]) =>
      both(name, text, entry(child(path, "limits"), name)),
    ),
    ...sortedEntries(requests).flatMap(([name, text]) => [
      ...both(name, text, entry(child(path, "requests"), name)),
      ...requestProblems(name, text, limits, path),
    ]),
    ...(names.some(isHugePages) && !compute
      ? [forbidden(path, "HugePages require cpu or memory")]
      : []),
  ];
}

function claimProblems(
  claims: readonly ResourceClaim[] | undefined,
  podClaims: ReadonlySet<string>,
  path: string,
): Problems {
  const whole = new Set<string>();
  const parts = new Map<string, Set<string>>();
  return eachOf(claims, path, ({ name, request = "" }, at) => {
    if (name === "") return [required(at)];
    const requested = parts.get(name) ?? new Set<string>();
    const again = whole.has(name) || (request === "" ? requested.size > 0 : requested.has(request));
    const requestFaults =
      request === "" || whole.has(name)
        ? FINE
        : faultsAt(child(at, "request"), request, dns1123LabelFaults(request));
    if (request === "") whole.add(name);
    else parts.set(name, requested.add(request));
    const list = [...podClaims].sort().join(", ");
    return [
      ...requestFaults,
      ...(again
        ? [duplicate(at, request === "" || whole.has(name) ? name : `${name}/${request}`)]
        : []),
      ...(podClaims.has(name)
        ? []
        : [
            {
              path: at,
              kind: "notFound",
              value: name,
              message: `must be one of the names in pod.spec.resourceClaims${list === "" ? " which is empty" : `: ${list}`}`,
            } as const,
          ]),
    ];
  });
}

/** Requests and limits of a container. */
export const containerResourceProblems = (
  resources: ResourceRequirements,
  podClaims: ReadonlySet<string>,
  path: string,
): Problems => [
  ...requirementProblems(resources, path, containerNameProblems),
  ...claimProblems(resources.claims, podClaims, child(path, "claims")),
];

/** Overhead of the pod. */
export const overheadProblems = (overhead: ResourceList | undefined, path: string): Problems =>
  requirementProblems({ limits: overhead ?? {} }, path, containerNameProblems);

function consistencyProblems(spec: PodSpec, own: ResourceRequirements, path: string): Problems {
  const pod: Pod = { spec };
  const requests = aggregateContainers(pod, ({ resources }) => resources?.requests, EXACT);
  const limits = aggregateContainers(pod, ({ resources }) => resources?.limits, EXACT);
  const covers = (
    list: ResourceList | undefined,
    needed: ReadonlyMap<string, Quantity>,
    kind: "requests" | "limits",
  ): Problems =>
    [...needed].flatMap(([name, amount]) => {
      const text = list !== undefined && Object.hasOwn(list, name) ? list[name] : undefined;
      const present = text === undefined ? undefined : quantityOf(text);
      return present !== undefined && compareQuantities(amount, present) > 0
        ? [
            invalid(
              entry(child(path, kind), name),
              formatQuantity(present),
              `must be greater than or equal to aggregate container ${kind} of ${formatQuantity(amount)}`,
            ),
          ]
        : FINE;
    });
  return [
    ...covers(own.requests, requests, "requests"),
    ...covers(own.limits, new Map([...limits].filter(([name]) => isHugePages(name))), "limits"),
    ...spec.containers.flatMap(({ resources }, i) =>
      sortedEntries(resources?.limits).flatMap(([name, text]) => {
        const podText = own.limits?.[name];
        const [limit, podLimit] = [quantityOf(text), quantityOf(podText ?? "")];
        return limit !== undefined &&
          podLimit !== undefined &&
          compareQuantities(limit, podLimit) > 0
          ? [
              invalid(
                child(entry(entry(child(path, "containers"), i), name), "limits"),
                formatQuantity(limit),
                `must be less than or equal to pod limits of ${formatQuantity(podLimit)}`,
              ),
            ]
          : FINE;
      }),
    ),
  ];
}

const allReadable = ({ containers, initContainers = [] }: PodSpec): boolean =>
  [...containers, ...initContainers].every(({ resources = {} }) =>
    [resources.limits, resources.requests].every((list) =>
      Object.values(list ?? {}).every((text) => quantityOf(text) !== undefined),
    ),
  );

/** Pod-level requests and limits, and whether they fit those of its containers. */
export function podResourceProblems(spec: PodSpec, path: string): Problems {
  const own = spec.resources;
  if (own === undefined) return FINE;
  if (spec.os?.name === "windows") return [forbidden(path, "may not be set for a windows pod")];
  return [
    ...(own.claims === undefined
      ? []
      : [forbidden(child(path, "claims"), "claims may not be set for Resources at pod-level")]),
    ...requirementProblems(own, path, podLevelNameProblems),
    ...(allReadable(spec) ? consistencyProblems(spec, own, path) : []),
  ];
}
