// pure
/** The API as OpenAPI v2, as far as kubectl reads it: types, and which requests know dry runs. */

import type { Kind } from "../kind.ts";
import { KINDS } from "../kinds/catalog.ts";
import {
  type Descriptions,
  definitions,
  groupVersionKind,
  objectPath,
  type Schema,
} from "./definitions.ts";

/** Parameters of a PATCH that clients check for. */
export const PATCH_PARAMETERS: readonly string[] = [
  "dryRun",
  "fieldManager",
  "fieldValidation",
  "force",
];

/** The whole document. */
export interface OpenApiV2 {
  readonly swagger: "2.0";
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Schema>>;
  readonly definitions: Readonly<Record<string, Schema>>;
}

/** The document of this server. */
export function openApiV2(version: string, descriptions: Descriptions): OpenApiV2 {
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version },
    paths: Object.fromEntries(KINDS.map((kind) => [objectPath(kind), pathItem(kind)])),
    definitions: definitions("#/definitions/", descriptions),
  };
}

function pathItem(kind: Kind): Schema {
  return {
    patch: {
      consumes: [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
      ],
      parameters: PATCH_PARAMETERS.map((name) => ({
        name,
        in: "query",
        type: name === "force" ? "boolean" : "string",
        uniqueItems: true,
      })),
      responses: { "200": { description: "OK" } },
      "x-kubernetes-action": "patch",
      "x-kubernetes-group-version-kind": groupVersionKind(kind),
    },
  };
}
