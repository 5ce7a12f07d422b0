// pure
import type {
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
} from "../generated/types.ts";
import { type LabelRequirement, type LabelSet, matchesLabels } from "../text/labels.ts";

/** Labels and fields a node is selected by. */
interface SelectableNode {
  readonly labels: LabelSet;
  /** Left out where only labels count. */
  readonly name?: string;
}

const OPERATORS: Readonly<Record<string, LabelRequirement["operator"]>> = {
  In: "in",
  NotIn: "notIn",
  Exists: "exists",
  DoesNotExist: "doesNotExist",
  Gt: "greaterThan",
  Lt: "lessThan",
};

/** Whether any term selects the node (component-helpers nodeaffinity). */
export function matchesNodeSelector(
  { nodeSelectorTerms }: NodeSelector,
  node: SelectableNode,
): boolean {
  return nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** A term without any condition selects nothing. */
function matchesTerm(
  { matchExpressions, matchFields }: NodeSelectorTerm,
  { labels, name }: SelectableNode,
): boolean {
  const expressions = requirementsOf(matchExpressions);
  const fields = requirementsOf(matchFields);
  if (!expressions || !fields || expressions.length + fields.length === 0) return false;
  const own: LabelSet = name === undefined ? {} : { "metadata.name": name };
  return matchesLabels(expressions, labels) && matchesLabels(fields, own);
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
