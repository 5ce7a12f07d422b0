// pure

import { duplicate, forbidden, invalid, required, unsupported } from "../decode/field-problem.ts";
import type {
  Affinity,
  LabelSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  PodSchedulingGate,
  Toleration,
  TopologySpreadConstraint,
} from "../generated/types.ts";
import {
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  labelValueFaults,
  qualifiedNameFaults,
} from "../text/names.ts";
import { child, eachOf, entry, FINE, faultsAt, ifSet, type Problems, positive } from "./fields.ts";
import { labelProblems } from "./metadata.ts";

const nameProblems = (path: string, name: string): Problems =>
  faultsAt(path, name, qualifiedNameFaults(name));

/** A selector of objects by their labels. */
export function labelSelectorProblems(selector: LabelSelector, path: string): Problems {
  return [
    ...labelProblems(selector.matchLabels, child(path, "matchLabels")),
    ...eachOf(selector.matchExpressions, child(path, "matchExpressions"), (expression, at) => {
      const { key, operator, values = [] } = expression;
      const set = operator === "In" || operator === "NotIn";
      const existence = operator === "Exists" || operator === "DoesNotExist";
      return [
        ...(set && values.length === 0
          ? [required(child(at, "values"), "must be specified when `operator` is 'In' or 'NotIn'")]
          : []),
        ...(existence && values.length > 0
          ? [
              forbidden(
                child(at, "values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
              ),
            ]
          : []),
        ...(set || existence
          ? []
          : [invalid(child(at, "operator"), operator, "not a valid selector operator")]),
        ...nameProblems(child(at, "key"), key),
        ...eachOf(values, child(at, "values"), (value, valuePath) =>
          faultsAt(valuePath, value, labelValueFaults(value)),
        ),
      ];
    }),
  ];
}

function nodeValuesProblems({ operator, values = [] }: NodeSelectorRequirement, path: string) {
  const at = child(path, "values");
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length === 0
        ? [required(at, "must be specified when `operator` is 'In' or 'NotIn'")]
        : FINE;
    case "Exists":
    case "DoesNotExist":
      return values.length > 0
        ? [forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
        : FINE;
    case "Gt":
    case "Lt":
      return values.length === 1
        ? FINE
        : [required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'")];
    default:
      return [invalid(child(path, "operator"), operator, "not a valid selector operator")];
  }
}

const nodeExpressionProblems =
  (checkValues: boolean) =>
  (requirement: NodeSelectorRequirement, path: string): Problems => [
    ...nodeValuesProblems(requirement, path),
    ...nameProblems(child(path, "key"), requirement.key),
    ...(checkValues
      ? eachOf(requirement.values, child(path, "values"), (value, at) =>
          faultsAt(at, value, labelValueFaults(value)),
        )
      : FINE),
  ];

function nodeFieldProblems(requirement: NodeSelectorRequirement, path: string): Problems {
  const { key, operator, values = [] } = requirement;
  const set = operator === "In" || operator === "NotIn";
  return [
    ...(set && values.length !== 1
      ? [
          required(
            child(path, "values"),
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
          ),
        ]
      : []),
    ...(set ? [] : [invalid(child(path, "operator"), operator, "not a valid selector operator")]),
    ...(key === "metadata.name"
      ? eachOf(values, child(path, "values"), (value, at) =>
          faultsAt(at, value, dns1123SubdomainFaults(value)),
        )
      : [invalid(child(path, "key"), key, "not a valid field selector key")]),
  ];
}

const nodeTermProblems = (term: NodeSelectorTerm, path: string, checkValues: boolean): Problems => [
  ...eachOf(
    term.matchExpressions,
    child(path, "matchExpressions"),
    nodeExpressionProblems(checkValues),
  ),
  ...eachOf(term.matchFields, child(path, "matchFields"), nodeFieldProblems),
];

const weightProblems = (weight: number, path: string): Problems =>
  weight >= 1 && weight <= 100
    ? FINE
    : [invalid(child(path, "weight"), weight, "must be in the range 1-100")];

function matchKeysProblems(
  {
    matchLabelKeys = [],
    mismatchLabelKeys = [],
    labelSelector,
  }: Omit<PodAffinityTerm, "topologyKey">,
  path: string,
): Problems {
  const keys = (list: readonly string[], name: string): Problems => {
    if (list.length === 0) return FINE;
    const at = child(path, name);
    if (labelSelector === undefined)
      return [forbidden(at, "must not be specified when labelSelector is not set")];
    return eachOf(list, at, (key, keyPath) => nameProblems(keyPath, key));
  };
  const seen = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  const inBoth = (labelSelector?.matchExpressions ?? []).flatMap(({ key }) => {
    const at = matchLabelKeys.lastIndexOf(key);
    const again = at >= 0 && seen.has(key);
    seen.add(key);
    return again
      ? [invalid(entry(path, at), key, "exists in both matchLabelKeys and labelSelector")]
      : [];
  });
  return [
    ...keys(matchLabelKeys, "matchLabelKeys"),
    ...keys(mismatchLabelKeys, "mismatchLabelKeys"),
    ...inBoth,
    ...eachOf(matchLabelKeys, child(path, "matchLabelKeys"), (key, at) =>
      mismatchLabelKeys.includes(key)
        ? [invalid(at, key, "exists in both matchLabelKeys and mismatchLabelKeys")]
        : FINE,
    ),
  ];
}

function podTermProblems(term: PodAffinityTerm, path: string): Problems {
  const { topologyKey } = term;
  return [
    ...ifSet(term.labelSelector, (selector) =>
      labelSelectorProblems(selector, child(path, "labelSelector")),
    ),
    ...ifSet(term.namespaceSelector, (selector) =>
      labelSelectorProblems(selector, child(path, "namespaceSelector")),
    ),
    ...(term.namespaces ?? []).flatMap((name) =>
      faultsAt(child(path, "namespace"), name, dns1123LabelFaults(name)),
    ),
    ...matchKeysProblems(term, path),
    ...(topologyKey === "" ? [required(child(path, "topologyKey"), "can not be empty")] : []),
    ...nameProblems(child(path, "topologyKey"), topologyKey),
  ];
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

const podAffinityProblems = (affinity: PodAffinity, path: string): Problems => [
  ...eachOf(affinity[REQUIRED], child(path, REQUIRED), podTermProblems),
  ...eachOf(affinity[PREFERRED], child(path, PREFERRED), ({ weight, podAffinityTerm }, at) => [
    ...weightProblems(weight, at),
    ...podTermProblems(podAffinityTerm, child(at, "podAffinityTerm")),
  ]),
];

/** Node and pod affinity. */
export function affinityProblems(affinity: Affinity, path: string): Problems {
  const nodePath = child(path, "nodeAffinity");
  const terms = affinity.nodeAffinity?.[REQUIRED]?.nodeSelectorTerms;
  const termsPath = child(child(nodePath, REQUIRED), "nodeSelectorTerms");
  return [
    ...(terms?.length === 0
      ? [required(termsPath, "must have at least one node selector term")]
      : []),
    ...eachOf(terms, termsPath, (term, at) => nodeTermProblems(term, at, true)),
    ...eachOf(
      affinity.nodeAffinity?.[PREFERRED],
      child(nodePath, PREFERRED),
      ({ weight, preference }, at) => [
        ...weightProblems(weight, at),
        ...nodeTermProblems(preference, child(at, "preference"), false),
      ],
    ),
    ...ifSet(affinity.podAffinity, (pods) => podAffinityProblems(pods, child(path, "podAffinity"))),
    ...ifSet(affinity.podAntiAffinity, (pods) =>
      podAffinityProblems(pods, child(path, "podAntiAffinity")),
    ),
  ];
}

const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;
const DECIMAL = /^(?:0|-?[1-9][0-9]*)$/;

function tolerationValueProblems(
  { operator = "", value = "" }: Toleration,
  path: string,
): Problems {
  switch (operator) {
    case "":
    case "Equal": {
      const faults = labelValueFaults(value);
      return faults.length === 0
        ? FINE
        : [invalid(child(path, "operator"), value, faults.join(";"))];
    }
    case "Exists":
      return value === ""
        ? FINE
        : [
            invalid(
              child(path, "operator"),
              value,
              "value must be empty when `operator` is 'Exists'",
            ),
          ];
    case "Lt":
    case "Gt":
      return DECIMAL.test(value)
        ? FINE
        : [
            invalid(
              child(path, "value"),
              value,
              "must be a valid decimal integer in canonical form",
            ),
          ];
    default:
      return [unsupported(child(path, "operator"), operator, ["Equal", "Exists"])];
  }
}

/** Which taints of nodes the pod does not mind. */
export const tolerationProblems = (
  tolerations: readonly Toleration[] | undefined,
  path: string,
): Problems =>
  eachOf(tolerations, path, (toleration, at) => {
    const { key = "", operator = "", effect = "", tolerationSeconds } = toleration;
    return [
      ...(key === "" ? FINE : nameProblems(child(at, "key"), key)),
      ...(key === "" && operator !== "Exists"
        ? [
            invalid(
              child(at, "operator"),
              operator,
              'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            ),
          ]
        : []),
      ...(tolerationSeconds !== undefined && effect !== "NoExecute"
        ? [
            invalid(
              child(at, "effect"),
              effect,
              "effect must be 'NoExecute' when `tolerationSeconds` is set",
            ),
          ]
        : []),
      ...tolerationValueProblems(toleration, at),
      ...(effect === "" || (TAINT_EFFECTS as readonly string[]).includes(effect)
        ? []
        : [unsupported(child(at, "effect"), effect, TAINT_EFFECTS)]),
    ];
  });

/** Scheduling gates to be removed before the pod may be scheduled. */
export function schedulingGateProblems(
  gates: readonly PodSchedulingGate[] | undefined,
  path: string,
): Problems {
  const seen = new Set<string>();
  return eachOf(gates, path, ({ name }, at) => {
    const again = seen.has(name);
    seen.add(name);
    return [...nameProblems(at, name), ...(again ? [duplicate(at, name)] : [])];
  });
}

const SPREAD_ACTIONS = ["DoNotSchedule", "ScheduleAnyway"] as const;
const INCLUSION_POLICIES = ["Honor", "Ignore"] as const;

function minDomainsProblems(
  { minDomains, whenUnsatisfiable }: TopologySpreadConstraint,
  path: string,
): Problems {
  if (minDomains === undefined) return FINE;
  return [
    ...positive(path, minDomains),
    ...(whenUnsatisfiable === "DoNotSchedule"
      ? []
      : [
          invalid(
            path,
            minDomains,
            `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
          ),
        ]),
  ];
}

/** How evenly pods of a kind are to be spread over the nodes. */
export const topologySpreadProblems = (
  constraints: readonly TopologySpreadConstraint[] | undefined,
  path: string,
): Problems =>
  eachOf(constraints, path, (constraint, at, index) => {
    const { topologyKey, whenUnsatisfiable: action, labelSelector, matchLabelKeys } = constraint;
    const repeated = (constraints ?? [])
      .slice(index + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === action);
    const policy = (name: "nodeAffinityPolicy" | "nodeTaintsPolicy"): Problems => {
      const value = constraint[name];
      return value === undefined || (INCLUSION_POLICIES as readonly string[]).includes(value)
        ? FINE
        : [unsupported(child(at, name), value, INCLUSION_POLICIES)];
    };
    return [
      ...positive(child(at, "maxSkew"), constraint.maxSkew),
      ...(topologyKey === "" ? [required(child(at, "topologyKey"), "can not be empty")] : []),
      ...((SPREAD_ACTIONS as readonly string[]).includes(action)
        ? []
        : [unsupported(child(at, "whenUnsatisfiable"), action, SPREAD_ACTIONS)]),
      ...(repeated
        ? [duplicate(child(at, "{topologyKey, whenUnsatisfiable}"), `{${topologyKey}, ${action}}`)]
        : []),
      ...minDomainsProblems(constraint, child(at, "minDomains")),
      ...policy("nodeAffinityPolicy"),
      ...policy("nodeTaintsPolicy"),
      ...matchKeysProblems(
        {
          ...(matchLabelKeys === undefined ? {} : { matchLabelKeys }),
          ...(labelSelector === undefined ? {} : { labelSelector }),
        },
        at,
      ),
      ...ifSet(labelSelector, (selector) =>
        labelSelectorProblems(selector, child(at, "labelSelector")),
      ),
    ];
  });
