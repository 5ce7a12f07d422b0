// pure
import { type FieldProblem, invalid } from "../decode/field-problem.ts";
import type { Faults } from "../text/names.ts";
import { compareQuantities, parseQuantity, type Quantity, readQuantity } from "../text/quantity.ts";

/** Result of a validator; empty when valid. */
export type Problems = readonly FieldProblem[];

/** Nothing wrong. */
export const FINE: Problems = [];

/** `path.name`. */
export const child = (path: string, name: string): string => `${path}.${name}`;

/** `path[i]` or `path[key]`. */
export const entry = (path: string, key: number | string): string => `${path}[${key}]`;

/** One `Invalid value` for each fault of a text or number. */
export const faultsAt = (path: string, value: unknown, faults: Faults): Problems =>
  faults.map((fault) => invalid(path, value, fault));

/** The problems of every item, with the item's path. */
export const eachOf = <T>(
  items: readonly T[] | undefined,
  path: string,
  check: (item: T, path: string, index: number) => Problems,
): Problems => (items ?? []).flatMap((item, i) => check(item, entry(path, i), i));

/** The problems of something that may be absent. */
export const ifSet = <T>(value: T | undefined, check: (value: T) => Problems): Problems =>
  value === undefined ? FINE : check(value);

/** Entries of a map in a stable order. */
export const sortedEntries = <T>(
  map: Readonly<Record<string, T>> | undefined,
): readonly (readonly [string, T])[] =>
  Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));

/** Numbers that must not be below zero. */
export const notNegative = (path: string, value: number | undefined): Problems =>
  value !== undefined && value < 0
    ? [invalid(path, value, "must be greater than or equal to 0")]
    : FINE;

/** Numbers that must be above zero. */
export const positive = (path: string, value: number): Problems =>
  value > 0 ? FINE : [invalid(path, value, "must be greater than zero")];

const MAX_FILE_MODE = 0o777;

/** Permission bits of files. */
export const fileMode = (path: string, mode: number | undefined): Problems =>
  mode !== undefined && (mode < 0 || mode > MAX_FILE_MODE)
    ? [invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")]
    : FINE;

/** Paths without a `..` element. */
export const noBacksteps = (path: string, target: string): Problems =>
  target.split("/").includes("..") ? [invalid(path, target, "must not contain '..'")] : FINE;

/** Paths below something: relative and without `..`. */
export const descendingPath = (path: string, target: string): Problems => [
  ...(target.startsWith("/") ? [invalid(path, target, "must be a relative path")] : []),
  ...noBacksteps(path, target),
];

/** Paths of files we write: as `descendingPath`, and not starting with `..`, which we use ourselves. */
export const unreservedPath = (path: string, target: string): Problems => [
  ...descendingPath(path, target),
  ...(target.startsWith("..") && !target.startsWith("../")
    ? [invalid(path, target, "must not start with '..'")]
    : []),
];

const ZERO: Quantity = parseQuantity("0");

/** A quantity's text as a quantity; `undefined` where decoding has complained about it already. */
export function quantityOf(text: string): Quantity | undefined {
  const reading = readQuantity(text);
  return reading.kind === "quantity" ? reading.quantity : undefined;
}

/** Whether `text` is a quantity below zero. */
export function isNegative(text: string): boolean {
  const quantity = quantityOf(text);
  return quantity !== undefined && compareQuantities(quantity, ZERO) < 0;
}

/** Whether `text` is a quantity of zero or less. */
export function isNotPositive(text: string): boolean {
  const quantity = quantityOf(text);
  return quantity !== undefined && compareQuantities(quantity, ZERO) <= 0;
}
