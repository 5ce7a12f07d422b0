// pure
import { apiVersionOf } from "../../api/text/api-version.ts";
import {
  type FieldRequirement,
  type LabelRequirements,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "../../api/text/labels.ts";
import type { ApiObject } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import { badRequest } from "../status-error.ts";

/** Whether an object is one of those that a list or watch is about. */
export type Selects = (object: ApiObject) => boolean;

/** Selector of a list or watch. Throws `StatusError` BadRequest for invalid selectors. */
export function selectorOf(
  kind: Kind,
  at: { readonly namespace: string; readonly name: string },
  query: URLSearchParams,
): Selects {
  const labels = labelsOf(query.get("labelSelector") ?? "");
  const fields = fieldsOf(kind, query);
  return (object) => {
    const { metadata } = object;
    return (
      (at.namespace === "" || metadata.namespace === at.namespace) &&
      (at.name === "" || metadata.name === at.name) &&
      matchesLabels(labels, metadata.labels) &&
      matchesFields(fields, (field) => selectableOf(kind, object, field))
    );
  };
}

function labelsOf(text: string): LabelRequirements {
  const reading = parseLabelSelector(text);
  if (reading.kind === "fault") throw badRequest(reading.message);
  return reading.selector;
}

function fieldsOf(kind: Kind, query: URLSearchParams): readonly FieldRequirement[] {
  const text = query.get("fieldSelector") ?? "";
  const reading = parseFieldSelector(text);
  if (reading.kind === "fault") throw badRequest(reading.message);
  for (const { field } of reading.selector)
    if (!isSelectable(kind, field))
      throw badRequest(
        `Unable to find "${apiVersionOf(kind)}, Resource=${kind.plural}" that match label selector "${query.get("labelSelector") ?? ""}", field selector "${text}": field label not supported: ${field}`,
      );
  return reading.selector;
}

function isSelectable({ namespaced, selectable }: Kind, field: string): boolean {
  if (field === "metadata.name") return true;
  return (field === "metadata.namespace" && namespaced) || Object.hasOwn(selectable, field);
}

function selectableOf({ selectable }: Kind, object: ApiObject, field: string): string {
  if (field === "metadata.name") return object.metadata.name;
  if (field === "metadata.namespace") return object.metadata.namespace ?? "";
  return selectable[field]?.(object) ?? "";
}
