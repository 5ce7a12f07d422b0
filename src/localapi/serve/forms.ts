// pure
/** Objects and lists of them in the form that is asked for. */

import type { ListMeta } from "../../api/generated/types.ts";
import { apiVersionOf } from "../../api/text/api-version.ts";
import { type ApiObject, without } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import type { Form } from "./negotiate.ts";

/** Which part of objects a table carries along. */
export type Included = "None" | "Metadata" | "Object";

/** How to show objects. */
export interface Showing {
  readonly kind: Kind;
  readonly form: Form;
  readonly included: Included;
  /** Unix milliseconds. */
  readonly now: number;
}

function partial({ metadata }: ApiObject, version: string): object {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata };
}

function rowOf(object: ApiObject, { kind, form, included, now }: Showing): object {
  const cells = kind.table.cells(object, now);
  switch (included) {
    case "None":
      return { cells };
    case "Object":
      return { cells, object: kind.view ? kind.view.show(object) : object };
    case "Metadata":
      return { cells, object: partial(object, form.version) };
  }
}

/** A table; one that continues another has no columns of its own. */
export function tableOf(
  objects: readonly ApiObject[],
  showing: Showing,
  metadata: ListMeta,
  continues = false,
): object {
  const { kind, form } = showing;
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${form.version}`,
    metadata,
    columnDefinitions: continues
      ? null
      : kind.table.columns.map(({ name, type, format = "", priority }) => ({
          name,
          type,
          format,
          description: "",
          priority,
        })),
    rows: objects.map((object) => rowOf(object, showing)),
  };
}

/** One object. */
export function showObject(object: ApiObject, showing: Showing): object {
  const { kind, form } = showing;
  const { resourceVersion } = object.metadata;
  switch (form.as) {
    case "object":
      return kind.view ? kind.view.show(object) : object;
    case "metadata":
      return partial(object, form.version);
    case "table":
      return tableOf([object], showing, resourceVersion === undefined ? {} : { resourceVersion });
  }
}

/** A list. */
export function showList(
  objects: readonly ApiObject[],
  showing: Showing,
  metadata: ListMeta,
): object {
  const { kind, form } = showing;
  switch (form.as) {
    case "object":
      return {
        kind: `${kind.kind}List`,
        apiVersion: apiVersionOf(kind),
        metadata,
        items: objects.map((object) =>
          without(kind.view ? kind.view.show(object) : object, "apiVersion", "kind"),
        ),
      };
    case "metadata":
      return {
        kind: "PartialObjectMetadataList",
        apiVersion: `meta.k8s.io/${form.version}`,
        metadata,
        items: objects.map((object) => partial(object, form.version)),
      };
    case "table":
      return tableOf(objects, showing, metadata);
  }
}
