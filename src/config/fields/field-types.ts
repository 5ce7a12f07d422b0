// pure
import type { JsonValue } from "../../api/generated/types.ts";

/** Format of a field's value in a config file. */
export type FieldType =
  | { readonly kind: "boolean" }
  | { readonly kind: "integer"; readonly bits: 32 | 64 }
  | { readonly kind: "number" }
  | { readonly kind: "string" }
  | { readonly kind: "quantity" }
  | { readonly kind: "duration"; readonly nanoseconds: boolean }
  | { readonly kind: "list"; readonly of: FieldType }
  | { readonly kind: "map"; readonly of: FieldType }
  | { readonly kind: "object"; readonly members: { readonly [name: string]: Member } };

/** A member of an object inside a list. */
export interface Member {
  readonly type: FieldType;
  /** Its value when it is not written, as for Go fields that are no pointers; `undefined`: it stays absent. */
  readonly zero: JsonValue | undefined;
}

/**
 * Whether setting a field changes anything: `active` nodelet acts on it; `planned` it is known and
 * checked but has no effect yet; `inert` it has no effect in any kubelet of this version.
 */
export type Effect = "active" | "planned" | "inert";

/** One field of the configuration: all that decoding, defaults, documentation and reports need. */
export interface Field<Path extends string = string> {
  /** Dotted path, e.g. `authentication.x509.clientCAFile`. */
  readonly path: Path;
  readonly type: FieldType;
  readonly effect: Effect;
  /** The default as it would be written in a file; `undefined` when there is none. */
  readonly default: JsonValue | undefined;
  /** Whether the type's zero value (`0`, `""`, `0s`) means "not set", as for Go fields that are no pointers. */
  readonly zeroIsUnset: boolean;
  /** The rule its value must keep, in words, for the documentation. */
  readonly rule: string;
  /** Its effect, one sentence. */
  readonly about: string;
}

/** Result of a type constructor: the type with its default and its treatment of zero. */
export interface Shape {
  readonly type: FieldType;
  readonly default: JsonValue | undefined;
  readonly zeroIsUnset: boolean;
}

const shape = (type: FieldType, fallback: JsonValue | undefined, zeroIsUnset: boolean): Shape => ({
  type,
  default: fallback,
  zeroIsUnset,
});

/** True or false. */
export const boolean = (fallback: boolean): Shape => shape({ kind: "boolean" }, fallback, false);

/** A 32 bit integer whose zero counts as a value. */
export const integer = (fallback: number): Shape =>
  shape({ kind: "integer", bits: 32 }, fallback, false);

/** A 32 bit integer whose zero means "not set". */
export const integerNotZero = (fallback: number): Shape =>
  shape({ kind: "integer", bits: 32 }, fallback, true);

/** A 64 bit integer whose zero counts as a value. */
export const longInteger = (fallback: number): Shape =>
  shape({ kind: "integer", bits: 64 }, fallback, false);

/** A 64 bit integer whose zero means "not set". */
export const longIntegerNotZero = (fallback: number): Shape =>
  shape({ kind: "integer", bits: 64 }, fallback, true);

/** A number that may have a fraction. */
export const number = (fallback: number): Shape => shape({ kind: "number" }, fallback, false);

/** A text; an empty one means "not set". */
export const text = (fallback: string): Shape => shape({ kind: "string" }, fallback, true);

/** A text that may be empty on purpose. */
export const textOrEmpty = (fallback: string): Shape => shape({ kind: "string" }, fallback, false);

/** A quantity such as `10Mi`, written as text or number. */
export const quantity = (fallback: string): Shape => shape({ kind: "quantity" }, fallback, false);

/** A duration such as `1m30s`; zero means "not set". */
export const duration = (fallback: string): Shape =>
  shape({ kind: "duration", nanoseconds: false }, fallback, true);

/** A duration whose zero counts as a value. */
export const durationOrZero = (fallback: string): Shape =>
  shape({ kind: "duration", nanoseconds: false }, fallback, false);

/** A duration that may also be written as a number of nanoseconds. */
export const durationOrNanoseconds = (fallback: string): Shape =>
  shape({ kind: "duration", nanoseconds: true }, fallback, true);

/** A list; what is not written is `fallback`. */
export const list = (of: FieldType, fallback: readonly JsonValue[] = []): Shape =>
  shape({ kind: "list", of }, fallback, false);

/** A map from names to values of one type. */
export const map = (of: FieldType, fallback: { readonly [name: string]: JsonValue } = {}): Shape =>
  shape({ kind: "map", of }, fallback, false);

/** The same field without a default: absent means something of its own. */
export const optional = (of: Shape): Shape => ({ ...of, default: undefined, zeroIsUnset: false });

/** Types for the insides of lists, maps and objects. */
export const STRING: FieldType = { kind: "string" };
/** True or false. */
export const BOOLEAN: FieldType = { kind: "boolean" };
/** A whole number of 32 bits. */
export const INT32: FieldType = { kind: "integer", bits: 32 };
/** A whole number of 64 bits. */
export const INT64: FieldType = { kind: "integer", bits: 64 };
/** A Kubernetes quantity such as `10Mi`. */
export const QUANTITY: FieldType = { kind: "quantity" };

/** A member that is `zero` when it is not written. */
export const orElse = (type: FieldType, zero: JsonValue): Member => ({ type, zero });
/** A member that may be left out. */
export const may = (type: FieldType): Member => ({ type, zero: undefined });

/** Members of a taint in `registerWithTaints`. */
export const TAINT_MEMBERS = {
  key: orElse(STRING, ""),
  value: may(STRING),
  effect: orElse(STRING, ""),
  timeAdded: may(STRING),
} as const;

/** Attributes of a row besides path and shape. */
interface RowText {
  readonly about: string;
  readonly rule?: string;
}

function row<P extends string>(effect: Effect, path: P, of: Shape, words: RowText): Field<P> {
  return { path, effect, ...of, about: words.about, rule: words.rule ?? "" };
}

/** A field that nodelet acts on. */
export const active = <P extends string>(path: P, of: Shape, about: string, rule = ""): Field<P> =>
  row("active", path, of, { about, rule });

/** A field that nodelet knows and checks, but that changes nothing yet. */
export const planned = <P extends string>(path: P, of: Shape, about: string, rule = ""): Field<P> =>
  row("planned", path, of, { about, rule });

/** A field without effect in the Go kubelet kubelet too. */
export const inert = <P extends string>(path: P, of: Shape, about: string, rule = ""): Field<P> =>
  row("inert", path, of, { about, rule });
