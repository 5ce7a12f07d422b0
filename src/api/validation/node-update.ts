// pure
/** Validates a changed node (pkg/apis/core/validation ValidateNodeUpdate, Kubernetes 1.36). */

import { duplicate, forbidden, invalid, unsupported } from "../decode/field-problem.ts";
import { isSame } from "../decode/strategic-diff.ts";
import type { Node, NodeSpec, NodeStatus } from "../generated/types.ts";
import { labelValueFaults, qualifiedNameFaults, SUBDOMAIN_MAX } from "../text/names.ts";
import { quantityMilliValue } from "../text/quantity.ts";
import {
  child,
  eachOf,
  FINE,
  faultsAt,
  isNegative,
  type Problems,
  quantityOf,
  sortedEntries,
} from "./fields.ts";
import { isExtendedResource } from "./resources.ts";

/** Errors of a node or its status that replaces the previous one. */
export function nodeUpdateProblems(now: Node, before: Node): Problems {
  const { status = {} } = now;
  return [
    ...fixedSpecProblems(now.spec ?? {}, before.spec ?? {}),
    ...taintProblems(now.spec ?? {}),
    ...featureProblems(status),
    ...addressProblems(status),
    ...amountProblems(status.capacity, "status.capacity"),
    ...amountProblems(status.allocatable, "status.allocatable"),
  ];
}

/** Fields that a cluster sets once. */
function fixedSpecProblems(now: NodeSpec, before: NodeSpec): Problems {
  const { podCIDRs = [], providerID = "" } = before;
  return [
    ...(podCIDRs.length === 0 || isSame(podCIDRs, now.podCIDRs ?? [])
      ? FINE
      : [
          forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'),
        ]),
    ...(providerID === "" || providerID === (now.providerID ?? "")
      ? FINE
      : [
          forbidden(
            "spec.providerID",
            'node updates may not change providerID except from "" to valid',
          ),
        ]),
  ];
}

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function taintProblems({ taints }: NodeSpec): Problems {
  const seen = new Set<string>();
  return eachOf(taints, "metadata.taints", ({ key, value = "", effect }, path) => {
    const pair = `${key}:${effect}`;
    const isRepeated = seen.has(pair);
    seen.add(pair);
    return [
      ...faultsAt(child(path, "key"), key, qualifiedNameFaults(key)),
      ...faultsAt(child(path, "value"), value, labelValueFaults(value)),
      ...(EFFECTS.includes(effect) ? FINE : [unsupported(child(path, "effect"), effect, EFFECTS)]),
      ...(isRepeated
        ? [{ ...duplicate(path, key), message: "taints must be unique by key and effect pair" }]
        : FINE),
    ];
  });
}

const FEATURE = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;

/** Sorted, each once. */
function featureProblems({ declaredFeatures: features = [] }: NodeStatus): Problems {
  return eachOf(features, "status.declaredFeatures", (feature, path, i) => {
    const before = features[i - 1];
    return [
      ...featureFaults(feature).map((fault) => invalid(path, feature, fault)),
      ...(before === feature ? [duplicate(path, feature)] : FINE),
      ...(before !== undefined && before > feature
        ? [invalid(path, feature, "list must be sorted alphabetically")]
        : FINE),
    ];
  });
}

function featureFaults(feature: string): readonly string[] {
  const name = JSON.stringify(feature);
  if (feature.length > SUBDOMAIN_MAX)
    return [`invalid feature name ${name}: must be no more than ${SUBDOMAIN_MAX} characters`];
  if (FEATURE.test(feature)) return [];
  return [
    `invalid feature name ${name}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
  ];
}

function addressProblems({ addresses }: NodeStatus): Problems {
  const seen = new Set<string>();
  return eachOf(addresses, "status.addresses", (address, path) => {
    const key = JSON.stringify([address.type, address.address]);
    const isRepeated = seen.has(key);
    seen.add(key);
    return isRepeated ? [duplicate(path, address)] : FINE;
  });
}

const HUGE_PAGES = "hugepages-";

function amountProblems(amounts: NodeStatus["capacity"], path: string): Problems {
  return sortedEntries(amounts).flatMap(([name, text]) => {
    const at = child(path, name);
    const amount = quantityOf(text);
    if (!amount) return [invalid(at, text, "must be a valid resource quantity")];
    if (isNegative(text)) return [invalid(at, text, "must be greater than or equal to 0")];
    const isCounted = isExtendedResource(name) || name.startsWith(HUGE_PAGES);
    return isCounted && quantityMilliValue(amount) % 1000n !== 0n
      ? [invalid(at, text, "must be an integer")]
      : FINE;
  });
}
