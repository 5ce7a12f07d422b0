// pure
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
  Taint,
} from "../../api/generated/types.ts";
import { type LabelRequirement, type LabelSet, matchesLabels } from "../../api/labels.ts";
import { isStaticPod } from "../../api/pod.ts";
import { tolerates } from "../../api/taints.ts";

/** The node's object in the API, as far as pods can ask for it. */
export interface NodeFace {
  readonly name: string;
  readonly labels: LabelSet;
  readonly taints: readonly Taint[];
}

const OPERATORS: Readonly<Record<string, LabelRequirement["operator"]>> = {
  In: "in",
  NotIn: "notIn",
  Exists: "exists",
  DoesNotExist: "doesNotExist",
  Gt: "greaterThan",
  Lt: "lessThan",
};

/** Whether the node is one that the pod's selector and required affinity ask for (component-helpers nodeaffinity). */
export function matchesNode({ spec }: Pod, node: NodeFace): boolean {
  const selected = Object.entries(spec?.nodeSelector ?? {}).every(
    ([key, value]) => node.labels[key] === value,
  );
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!selected || !required) return selected;
  return required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** A term without any condition selects nothing. */
function matchesTerm({ matchExpressions, matchFields }: NodeSelectorTerm, node: NodeFace): boolean {
  const expressions = requirementsOf(matchExpressions);
  const fields = requirementsOf(matchFields);
  if (!expressions || !fields || expressions.length + fields.length === 0) return false;
  return (
    matchesLabels(expressions, node.labels) && matchesLabels(fields, { "metadata.name": node.name })
  );
}

function requirementsOf(
  given: readonly NodeSelectorRequirement[] | undefined,
): readonly LabelRequirement[] | undefined {
  const requirements: LabelRequirement[] = [];
  for (const { key, operator: name, values } of given ?? []) {
    const operator = OPERATORS[name];
    if (operator === undefined) return undefined;
    requirements.push({ key, operator, values: values ?? [] });
  }
  return requirements;
}

/** The first `NoExecute` taint that the pod does not put up with; static pods put up with all. */
export function untoleratedTaint(pod: Pod, { taints }: NodeFace): Taint | undefined {
  if (isStaticPod(pod)) return undefined;
  const tolerations = pod.spec?.tolerations ?? [];
  return taints.find(
    (taint) => taint.effect === "NoExecute" && !tolerations.some((each) => tolerates(each, taint)),
  );
}
