// pure

import type { FieldProblem, FieldProblemKind } from "../api/decode/field-problem.ts";
import * as field from "../api/decode/field-problem.ts";

/** Source of a text: a file with its line, or the command line. */
export interface SourcePlace {
  /** Path of a file, or `command line`. */
  readonly source: string;
  /** Line in that file, from 1. */
  readonly line?: number;
}

/**
 * Something in the configuration that cannot be used: a `FieldProblem` in Kubernetes' wording, or one
 * whose `message` says it all (`plain`), with what to do about it and where it stands.
 */
export interface ConfigProblem extends Omit<FieldProblem, "kind"> {
  readonly kind: FieldProblemKind | "plain";
  /** The fix; empty when the message contains it already. */
  readonly fix: string;
  readonly place?: SourcePlace;
}

/** A value outside its rule: `path: Invalid value: VALUE: rule`. */
export const invalidValue = (
  path: string,
  value: unknown,
  rule: string,
  fix = "",
): ConfigProblem => ({
  ...field.invalid(path, value, rule),
  fix,
});

/** A value that is none of a few: `path: Unsupported value: VALUE: supported values: ...`. */
export const unsupportedValue = (
  path: string,
  value: unknown,
  supported: readonly string[],
  fix = "",
): ConfigProblem => ({ ...field.unsupported(path, value, supported), fix });

/** A field that may not be set as things are: `path: Forbidden: why`. */
export const forbiddenField = (path: string, why: string, fix = ""): ConfigProblem => ({
  ...field.forbidden(path, why),
  fix,
});

/** A field that must be set as things are: `path: Required value: why`. */
export const requiredValue = (path: string, why: string, fix = ""): ConfigProblem => ({
  ...field.required(path, why),
  fix,
});

/** A list entry that is there already: `path: Duplicate value: VALUE`. */
export const duplicateValue = (path: string, value: unknown, fix = ""): ConfigProblem => ({
  ...field.duplicate(path, value),
  fix,
});

/** More entries than are read: `path: Too many: COUNT: must have at most MAX items`. */
export const tooManyValues = (path: string, count: number, max: number): ConfigProblem => ({
  ...field.tooMany(path, count, max),
  fix: "",
});

/** A value of another type than the field's: `path: Invalid value: VALUE: expected ..., got ...`. */
export const typeInvalid = (
  path: string,
  value: unknown,
  message: string,
  fix = "",
): ConfigProblem => ({ path, kind: "typeInvalid", value, message, fix });

/** A name that the configuration does not have: `unknown field "path"`. */
export const unknownField = (path: string, fix: string): ConfigProblem => ({
  path,
  kind: "unknownField",
  message: "",
  fix,
});

/** A message of its own. */
export const plain = (path: string, message: string, fix = ""): ConfigProblem => ({
  path,
  kind: "plain",
  message,
  fix,
});

/** The problem in one line, as it is printed: place, path, what is wrong, what to do. */
export function formatConfigProblem(problem: ConfigProblem): string {
  const { place, path, kind, message, fix } = problem;
  const line = place?.line === undefined ? "" : `:${place.line}`;
  const where = place === undefined ? "" : `${place.source}${line}: `;
  const explained =
    kind === "plain"
      ? `${path === "" ? "" : `${path}: `}${message}`
      : field.formatProblem({ ...problem, kind, path: path === "" ? "(file)" : path });
  return `${where}${explained}${fix === "" ? "" : ` (${fix})`}`;
}
