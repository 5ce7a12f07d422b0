// pure
/** The types of the API as OpenAPI schemas, made of the same table that objects are decoded by. */
import { API_SCHEMA } from "../../api/generated/schema.ts";
import type { Kind } from "../kind.ts";
import { KINDS } from "../kinds/catalog.ts";
import { isAtomicType, listRule } from "../schema/list-rules.ts";

/** A schema; its `$ref`s begin with what `prefix` says. */
export type Schema = Readonly<Record<string, unknown>>;

/** Texts for people: of a type under the empty name, of its fields under theirs, by type. */
export type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

const SCALARS: Readonly<Record<string, Schema>> = {
  string: { type: "string" },
  bytes: { type: "string", format: "byte" },
  quantity: { type: "string" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  double: { type: "number", format: "double" },
  bool: { type: "boolean" },
  time: { type: "string", format: "date-time" },
  microtime: { type: "string", format: "date-time" },
  intOrString: { type: "string", format: "int-or-string" },
  any: { type: "object" },
};

const META: ReadonlySet<string> = new Set([
  "Condition",
  "DeleteOptions",
  "LabelSelector",
  "LabelSelectorRequirement",
  "ListMeta",
  "ManagedFieldsEntry",
  "ObjectMeta",
  "OwnerReference",
  "Preconditions",
  "Status",
  "StatusCause",
  "StatusDetails",
]);
const ROOT = "io.k8s.api";
/** Types that are no part of the core group, by how their names begin. */
const OTHERS: readonly (readonly [RegExp, string])[] = [
  [/^(Lease|LeaseSpec)$/, "coordination"],
  [/^(EventsEvent|EventsEventSeries)$/, "events"],
  [/^(RuntimeClass|Overhead|Scheduling)$/, "node"],
  [/^PriorityClass$/, "scheduling"],
  [/^(CSI(Node|Driver|TokenRequest)|StorageClass|VolumeAttachment|VolumeError)/, "storage"],
  [/^VolumeNodeResources$/, "storage"],
  [/^(CertificateSigningRequest|PodCertificateRequest|ClusterTrustBundle(Spec)?$)/, "certificates"],
  [/^(TokenRe|BoundObjectReference|UserInfo)/, "authentication"],
  [
    /^(SubjectAccess|ResourceAttributes|NonResourceAttributes|FieldSelector(Attributes|Requirement)|LabelSelectorAttributes)/,
    "authorization",
  ],
  [/^Eviction$/, "policy"],
];

/** The name of a type as the API's own description has it. */
function definitionName(type: string): string {
  if (META.has(type)) return `io.k8s.apimachinery.pkg.apis.meta.v1.${type}`;
  const group = OTHERS.find(([pattern]) => pattern.test(type))?.[1] ?? "core";
  const name = type.replace(/^(Core|Events)(?=Event)/, "");
  return `${ROOT}.${group}.v1.${name}`;
}

function schemaOf(kind: string, prefix: string): Schema {
  if (kind.startsWith("[]")) return { type: "array", items: schemaOf(kind.slice(2), prefix) };
  if (kind.startsWith("{}"))
    return { type: "object", additionalProperties: schemaOf(kind.slice(2), prefix) };
  return SCALARS[kind] ?? { $ref: `${prefix}${definitionName(kind)}` };
}

/** How a list is merged, in the extensions of the API. */
function listExtensions(type: string, field: string): Schema {
  const rule = listRule(type, field);
  if (!rule) return { "x-kubernetes-list-type": "atomic" };
  const { mergeKey, mapKeys, retainKeys } = rule;
  return {
    "x-kubernetes-list-type": mapKeys.length === 0 ? "set" : "map",
    ...(mapKeys.length === 0 ? {} : { "x-kubernetes-list-map-keys": mapKeys }),
    ...(mergeKey === undefined ? {} : { "x-kubernetes-patch-merge-key": mergeKey }),
    "x-kubernetes-patch-strategy": retainKeys ? "merge,retainKeys" : "merge",
  };
}

function typeSchema(type: string, prefix: string, descriptions: Descriptions): Schema {
  const texts = descriptions[type] ?? {};
  const fields = Object.entries(API_SCHEMA[type] ?? {});
  const required = fields.filter(([, kind]) => kind.endsWith("!")).map(([name]) => name);
  const properties = fields.map(([name, text]) => {
    const kind = text.replace(/!$/, "");
    const schema = schemaOf(kind, prefix);
    // A reference has no other fields: its type describes it.
    const described = "$ref" in schema ? schema : { ...describedBy(texts[name]), ...schema };
    return [
      name,
      kind.startsWith("[]") ? { ...described, ...listExtensions(type, name) } : described,
    ];
  });
  return {
    ...describedBy(texts[""]),
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    ...(isAtomicType(type) ? { "x-kubernetes-map-type": "atomic" } : {}),
  };
}

function describedBy(text: string | undefined): Schema {
  return text === undefined ? {} : { description: text };
}

/** The kinds of a schema. */
export const groupVersionKind = ({
  group,
  version,
  kind,
}: Pick<Kind, "group" | "version" | "kind">) => ({
  group,
  version,
  kind,
});

/** All types, and lists of all kinds, by name. */
export function definitions(
  prefix: string,
  descriptions: Descriptions,
): Readonly<Record<string, Schema>> {
  const types = Object.keys(API_SCHEMA).map((type) => [
    definitionName(type),
    withKinds(
      typeSchema(type, prefix, descriptions),
      KINDS.filter((kind) => kind.type === type),
    ),
  ]);
  const lists = KINDS.map((kind) => [
    `${definitionName(kind.type)}List`,
    withKinds(listSchema(kind, prefix), [{ ...kind, kind: `${kind.kind}List` }]),
  ]);
  return Object.fromEntries([...types, ...lists]) as Readonly<Record<string, Schema>>;
}

function withKinds(schema: Schema, kinds: readonly Kind[]): Schema {
  if (kinds.length === 0) return schema;
  return { ...schema, "x-kubernetes-group-version-kind": kinds.map(groupVersionKind) };
}

function listSchema({ type }: Kind, prefix: string): Schema {
  return {
    type: "object",
    required: ["items"],
    properties: {
      apiVersion: SCALARS["string"],
      kind: SCALARS["string"],
      metadata: { $ref: `${prefix}${definitionName("ListMeta")}` },
      items: { type: "array", items: { $ref: `${prefix}${definitionName(type)}` } },
    },
  };
}

/** The path of one object, with its parameters in braces. */
export function objectPath({ group, version, namespaced, plural }: Kind): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${root}${namespaced ? "/namespaces/{namespace}" : ""}/${plural}/{name}`;
}
