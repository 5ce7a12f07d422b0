// pure

import type { Pod, ResourceRequirements } from "../generated/types.ts";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  readQuantity,
  roundUpQuantity,
} from "../text/quantity.ts";
import { type Arithmetic, aggregateContainers } from "./aggregate-resources.ts";
import { allContainers } from "./pod.ts";
import { isPodLevelResource } from "./pod-resources.ts";

type ResourceList = Readonly<Record<string, string>>;

/** Exact amounts, for sums that are written back. */
export const EXACT: Arithmetic<Quantity> = {
  read: (_, text) => parseQuantity(text),
  plus: addQuantities,
  greater: (a, b) => compareQuantities(a, b) > 0,
};

const MILLI = -3;

function roundedText(text: string): string {
  const reading = readQuantity(text);
  return reading.kind === "quantity"
    ? formatQuantity(roundUpQuantity(reading.quantity, MILLI))
    : text;
}

const mapValues = (list: ResourceList, change: (text: string) => string): ResourceList =>
  Object.fromEntries(Object.entries(list).map(([name, text]) => [name, change(text)]));

/** A resource list with everything rounded up to thousandths, which is as fine as the API keeps it. */
export const roundedList = (list: ResourceList): ResourceList => mapValues(list, roundedText);

/** `roundedList` for both lists of the requirements. */
export function roundedResources<
  R extends { readonly limits?: ResourceList; readonly requests?: ResourceList },
>(resources: R): R {
  const { limits, requests } = resources;
  return {
    ...resources,
    ...(limits === undefined ? {} : { limits: roundedList(limits) }),
    ...(requests === undefined ? {} : { requests: roundedList(requests) }),
  };
}

/** A container's requests: what it says, and its limits for what it does not say. */
export function requestsFromLimits(resources: ResourceRequirements): ResourceRequirements {
  const { limits, requests } = resources;
  return limits === undefined ? resources : { ...resources, requests: { ...limits, ...requests } };
}

const isEmpty = (list: ResourceList | undefined): boolean =>
  list === undefined || Object.keys(list).length === 0;

const has = (list: ResourceList | undefined, name: string): boolean =>
  list !== undefined && Object.hasOwn(list, name);

const isHugePages = (name: string): boolean => name.startsWith("hugepages-");

/** Entries of `amounts` that pass, as texts. */
function textsOf(
  amounts: ReadonlyMap<string, Quantity>,
  wanted: (name: string) => boolean,
): ResourceList {
  const found = [...amounts].filter(([name]) => isPodLevelResource(name) && wanted(name));
  return Object.fromEntries(found.map(([name, amount]) => [name, formatQuantity(amount)]));
}

const limitsOf = (pod: Pod): ReadonlyMap<string, Quantity> =>
  aggregateContainers(pod, ({ resources }) => resources?.limits, EXACT);

const requestsOf = (pod: Pod): ReadonlyMap<string, Quantity> =>
  aggregateContainers(pod, ({ resources }) => resources?.requests, EXACT);

function withHugePagesLimits(pod: Pod, own: ResourceRequirements): ResourceRequirements {
  const { limits, requests } = own;
  if (isEmpty(limits) && isEmpty(requests)) return own;
  const more = textsOf(
    limitsOf(pod),
    (name) => isHugePages(name) && !has(requests, name) && !has(limits, name),
  );
  return isEmpty(more) ? own : { ...own, limits: { ...limits, ...more } };
}

function withRequests(pod: Pod, own: ResourceRequirements): ResourceRequirements {
  const { limits = {}, requests } = own;
  const fromContainers = textsOf(requestsOf(pod), (name) => !isHugePages(name));
  const fromLimits = Object.fromEntries(
    Object.entries(limits).filter(([name]) => isPodLevelResource(name)),
  );
  const all = { ...fromLimits, ...fromContainers, ...requests };
  return isEmpty(all) ? own : { ...own, requests: all };
}

function allReadable(pod: Pod): boolean {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return containers.every(({ resources }) =>
    [...Object.values(resources?.limits ?? {}), ...Object.values(resources?.requests ?? {})].every(
      (text) => readQuantity(text).kind === "quantity",
    ),
  );
}

/**
 * Pod-level resources completed from those of the containers, whose own defaults are in already
 * (KEP-2837): huge page limits, then requests, of pods with limits. So until 1.36, for static pods too. A pod with
 * unreadable quantities is left alone.
 */
export function podLevelResources(pod: Pod): ResourceRequirements | undefined {
  const own = pod.spec?.resources;
  if (own === undefined || !allReadable(pod)) return own;
  const paged = withHugePagesLimits(pod, own);
  return isEmpty(paged.limits) ? paged : withRequests(pod, paged);
}

/**
 * The pod with what the API server of 1.37 fills in of pod-level resources when it creates or resizes one, after all other
 * defaults: huge page limits, requests, and limits of what every container limits (DefaultPodLevelResources). Done again it
 * changes nothing.
 */
export function withPodLevelDefaults(pod: Pod): Pod {
  const { spec } = pod;
  const own = spec?.resources;
  if (!spec || !own || (isEmpty(own.limits) && isEmpty(own.requests)) || !allReadable(pod))
    return pod;
  const resources = withLimits(pod, withRequests(pod, withHugePagesLimits(pod, own)));
  return { ...pod, spec: { ...spec, resources: roundedResources(resources) } };
}

/** Limits of what is requested and every container limits: their sum, or the request where that is more. */
function withLimits(pod: Pod, own: ResourceRequirements): ResourceRequirements {
  const containers = allContainers(pod).map(({ container }) => container);
  const sums = limitsOf(pod);
  const more: Record<string, string> = {};
  for (const [name, request] of Object.entries(own.requests ?? {})) {
    const sum = sums.get(name);
    const isLimited = containers.every(({ resources }) => has(resources?.limits, name));
    if (!isPodLevelResource(name) || has(own.limits, name) || !isLimited || !sum) continue;
    const amount = parseQuantity(request);
    more[name] = formatQuantity(compareQuantities(amount, sum) > 0 ? amount : sum);
  }
  return isEmpty(more) ? own : { ...own, limits: { ...own.limits, ...more } };
}
