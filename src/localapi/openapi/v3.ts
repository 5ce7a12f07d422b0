// pure
/** The API as OpenAPI v3: one document a group, as clients since 1.27 read it. */
import type { Kind } from "../kind.ts";
import { GROUP_VERSIONS } from "../kinds/offers.ts";
import {
  type Descriptions,
  definitions,
  groupVersionKind,
  objectPath,
  type Schema,
} from "./definitions.ts";
import { PATCH_PARAMETERS } from "./v2.ts";

const COMPONENTS = "#/components/schemas/";

function pathOf(group: string, version: string): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** Index of the OpenAPI v3 documents. */
export function openApiV3Index(): object {
  const paths = GROUP_VERSIONS.map(({ group, version }) => {
    const path = pathOf(group, version);
    return [path, { serverRelativeURL: `/openapi/v3/${path}` }];
  });
  return { paths: Object.fromEntries(paths) };
}

/** The document of a group; undefined when there is no such group. */
export function openApiV3(
  segments: readonly string[],
  version: string,
  descriptions: Descriptions,
): object | undefined {
  const path = segments.join("/");
  const of = GROUP_VERSIONS.find((each) => pathOf(each.group, each.version) === path);
  if (!of) return undefined;
  const { kinds } = of;
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version },
    paths: Object.fromEntries(kinds.map((kind) => [objectPath(kind), pathItem(kind)])),
    components: { schemas: reachable(definitions(COMPONENTS, descriptions), kinds) },
  };
}

function pathItem(kind: Kind): Schema {
  return {
    patch: {
      parameters: PATCH_PARAMETERS.map((name) => ({
        name,
        in: "query",
        schema: { type: name === "force" ? "boolean" : "string", uniqueItems: true },
      })),
      responses: { "200": { description: "OK" } },
      "x-kubernetes-action": "patch",
      "x-kubernetes-group-version-kind": groupVersionKind(kind),
    },
  };
}

/** The schemas of the kinds, and those that they refer to. */
function reachable(
  all: Readonly<Record<string, Schema>>,
  kinds: readonly Kind[],
): Readonly<Record<string, Schema>> {
  const isWanted = (schema: Schema) => {
    const marks = schema["x-kubernetes-group-version-kind"] as
      | readonly { group: string; version: string }[]
      | undefined;
    const isOf = (mark: { group: string; version: string }) =>
      kinds.some(({ group, version }) => group === mark.group && version === mark.version);
    return marks?.some(isOf) === true;
  };
  const found = new Map<string, Schema>();
  const waiting = Object.keys(all).filter((name) => isWanted(all[name] ?? {}));
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const schema = all[name];
    if (!schema || found.has(name)) continue;
    found.set(name, schema);
    for (const [, other = ""] of JSON.stringify(schema).matchAll(
      /"#\/components\/schemas\/([^"]+)"/g,
    ))
      waiting.push(other);
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
