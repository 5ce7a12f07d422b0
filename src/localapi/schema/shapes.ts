// pure
import { API_SCHEMA } from "../../api/generated/schema.ts";
import { isAtomicType, type ListRule, listRule } from "./list-rules.ts";

/** Shape of a field's value, as far as merging and field ownership need it. */
export type SchemaShape =
  | { readonly kind: "struct"; readonly type: string }
  | { readonly kind: "map"; readonly of: SchemaShape }
  | { readonly kind: "list"; readonly of: SchemaShape; readonly rule: ListRule | undefined }
  /** One value: a scalar, or something with one owner as a whole. */
  | { readonly kind: "leaf" };

const LEAF: SchemaShape = { kind: "leaf" };

/** The shape of a whole object of the type. */
export const structShape = (type: string): SchemaShape => ({ kind: "struct", type });

function shapeOfKind(kind: string, rule: ListRule | undefined): SchemaShape {
  if (kind.startsWith("[]"))
    return { kind: "list", of: shapeOfKind(kind.slice(2), undefined), rule };
  if (kind.startsWith("{}")) return { kind: "map", of: shapeOfKind(kind.slice(2), undefined) };
  return Object.hasOwn(API_SCHEMA, kind) ? { kind: "struct", type: kind } : LEAF;
}

/** The shape of a field; a leaf for unknown fields. */
export function fieldShape(shape: SchemaShape, field: string): SchemaShape {
  if (shape.kind === "map") return shape.of;
  if (shape.kind !== "struct") return LEAF;
  const fields = API_SCHEMA[shape.type] ?? {};
  if (!Object.hasOwn(fields, field)) return LEAF;
  const kind = (fields[field] ?? "").replace(/!$/, "");
  return shapeOfKind(kind, listRule(shape.type, field));
}

/** Whether the fields of a value have owners of their own. */
export function isGranular(shape: SchemaShape): boolean {
  switch (shape.kind) {
    case "struct":
      return !isAtomicType(shape.type);
    case "map":
      return true;
    case "list":
      return shape.rule !== undefined;
    case "leaf":
      return false;
  }
}
