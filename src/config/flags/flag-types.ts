// pure
import { type FieldPath, fieldAt } from "../fields/fields.ts";
import type { KubeletFlags } from "./kubelet-flags.ts";

/** How the text of a flag is read. */
export type FlagType =
  | "bool"
  | "string"
  | "int32"
  | "int64"
  | "level"
  | "duration"
  | "quantity"
  | "ip"
  | "strings"
  | "int32s"
  | "map"
  | "mapNoSplit"
  | "mapBool"
  | "thresholds"
  | "headers"
  | "labels"
  | "reservedMemory"
  | "taints"
  | "vmodule"
  | "inspector"
  | "page"
  | "version";

/** Target of a flag: a configuration field, an option of its own, or nothing any more. */
export type FlagTarget =
  | { readonly kind: "config"; readonly path: FieldPath }
  | { readonly kind: "flag"; readonly key: keyof KubeletFlags }
  | { readonly kind: "ignored"; readonly why: string; readonly accepts?: readonly string[] }
  | { readonly kind: "refused"; readonly instead: string; readonly accepts?: readonly string[] };

/** Headings of the help text, in this order. */
export const FLAG_GROUPS = [
  "Configuration",
  "Cluster and node",
  "Files and folders",
  "Logging",
  "Only in nodelet",
  "Other",
  "Deprecated: use the configuration file",
  "Deprecated",
] as const;

/** A heading of the help text. */
type FlagGroup = (typeof FLAG_GROUPS)[number];

/** One flag. */
export interface FlagSpec {
  readonly name: string;
  readonly short?: string;
  readonly type: FlagType;
  readonly target: FlagTarget;
  readonly group: FlagGroup;
  readonly about: string;
  /** Replacement of a deprecated flag; `undefined` when it is not deprecated. */
  readonly deprecated?: string;
  /** Why it is accepted and has no effect; logged at the start when it is given. */
  readonly noEffect?: string;
}

/** A flag of its own, see `KubeletFlags`. */
export function own(
  name: string,
  key: keyof KubeletFlags,
  type: FlagType,
  words: Pick<FlagSpec, "group" | "about" | "deprecated" | "noEffect">,
): FlagSpec {
  return { name, type, target: { kind: "flag", key }, ...words };
}

/** A deprecated flag that sets a configuration field; its help is the field's. */
export function forField(name: string, path: FieldPath, type?: FlagType): FlagSpec {
  return {
    name,
    type: type ?? flagTypeOf(path),
    target: { kind: "config", path },
    group: "Deprecated: use the configuration file",
    about: fieldAt(path)?.about ?? "",
    deprecated: `set ${path} in the file given to --config instead`,
  };
}

function flagTypeOf(path: FieldPath): FlagType {
  const type = fieldAt(path)?.type;
  switch (type?.kind) {
    case "boolean":
      return "bool";
    case "integer":
      return type.bits === 32 ? "int32" : "int64";
    case "duration":
      return "duration";
    case "quantity":
      return "quantity";
    case "list":
      return type.of.kind === "integer" ? "int32s" : "strings";
    case "map":
      return type.of.kind === "boolean" ? "mapBool" : "map";
    default:
      return "string";
  }
}
