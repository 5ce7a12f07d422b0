// pure

import type { KubeletConfig } from "../kubelet-config.ts";
import type { Effect, Field } from "./field-types.ts";
import { NODE_FIELDS } from "./fields-node.ts";
import { POD_FIELDS } from "./fields-pods.ts";
import { SERVING_FIELDS } from "./fields-serving.ts";

/**
 * Every field of the configuration, once: type, default, rule, and whether nodelet acts on it. Decoding,
 * defaults, `docs/configuration.md` and the report of settings without effect all read this table. To
 * flip a field, change the first word of its row: `active`, `planned` or `inert`.
 */
const TABLE = [...SERVING_FIELDS, ...POD_FIELDS, ...NODE_FIELDS] as const;

/** The path of a field, e.g. `authentication.anonymous.enabled`. */
export type FieldPath = (typeof TABLE)[number]["path"];

/** The same table with one type for all rows. */
export const FIELDS: readonly Field<FieldPath>[] = TABLE;

const BY_PATH: ReadonlyMap<string, Field<FieldPath>> = new Map(
  FIELDS.map((field) => [field.path, field]),
);

/** The field at `path`, if there is one. */
export function fieldAt(path: string): Field<FieldPath> | undefined {
  return BY_PATH.get(path);
}

/** Names of the groups that contain fields, e.g. `authentication` and `authentication.x509`. */
export const GROUP_PATHS: ReadonlySet<string> = new Set(
  FIELDS.flatMap(({ path }) => {
    const parts = path.split(".");
    return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("."));
  }),
);

/** How many fields are in each state. */
export function countEffects(): Readonly<Record<Effect, number>> {
  const count = { active: 0, planned: 0, inert: 0 };
  for (const field of FIELDS) count[field.effect] += 1;
  return count;
}

/** Dotted paths of all leaves of `T`; maps and lists are leaves. */
type LeafPath<T, Prefix extends string = ""> = {
  [K in keyof T & string]-?: NonNullable<T[K]> extends infer V
    ? V extends string | number | boolean | readonly unknown[]
      ? `${Prefix}${K}`
      : string extends keyof V
        ? `${Prefix}${K}`
        : LeafPath<V, `${Prefix}${K}.`>
    : never;
}[keyof T & string];

type TypePath = LeafPath<KubeletConfig>;
/** Fields that only one of table and type names. */
type Unmatched = Exclude<TypePath, FieldPath> | Exclude<FieldPath, TypePath>;
/** Proof at compile time that the table leaves no field out and invents none; the error names those that differ. */
({}) satisfies Readonly<Record<Unmatched, true>>;
