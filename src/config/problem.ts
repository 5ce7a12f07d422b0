// pure
import { quote } from "./duration.ts";

/** Where a text came from: a file with its line, or a flag. */
export interface Place {
  /** Path of a file, or `--flag`. */
  readonly source: string;
  /** Line in that file, from 1. */
  readonly line?: number;
}

/** Something in the configuration that cannot be used. */
export interface ConfigProblem {
  /** Dotted path of the field, or `--flag`, or empty when the whole file is meant. */
  readonly path: string;
  /** What is wrong, worded as Kubernetes words it: `Invalid value: 70000: must be between ...`. */
  readonly message: string;
  /** What to do about it; empty when the message says it already. */
  readonly fix: string;
  readonly place?: Place;
}

/** A value as it is shown in a message: texts quoted, long ones cut. */
export function shown(value: unknown): string {
  if (typeof value === "string") {
    return quote(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}...` : value);
  }
  if (typeof value === "bigint") return String(value);
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}

const MAX_SHOWN = 120;

/** A value outside its rule: `path: Invalid value: VALUE: rule`. */
export function invalid(path: string, value: unknown, rule: string, fix = ""): ConfigProblem {
  return { path, message: `Invalid value: ${shown(value)}: ${rule}`, fix };
}

/** A value that is none of a few: `path: Unsupported value: VALUE: supported values: ...`. */
export function unsupported(
  path: string,
  value: unknown,
  supported: readonly string[],
  fix = "",
): ConfigProblem {
  const names = supported.map((name) => quote(name)).join(", ");
  return {
    path,
    message: `Unsupported value: ${shown(value)}: supported values: ${names}`,
    fix,
  };
}

/** A field that may not be set as things are: `path: Forbidden: why`. */
export function forbidden(path: string, why: string, fix = ""): ConfigProblem {
  return { path, message: `Forbidden: ${why}`, fix };
}

/** A field that must be set as things are: `path: Required value: why`. */
export function required(path: string, why: string, fix = ""): ConfigProblem {
  return { path, message: `Required value: ${why}`, fix };
}

/** The problem in one line, as it is printed: place, path, message, fix. */
export function formatProblem(problem: ConfigProblem): string {
  const { place } = problem;
  const line = place?.line === undefined ? "" : `:${place.line}`;
  const where = place === undefined ? "" : `${place.source}${line}: `;
  const path = problem.path === "" || problem.path === place?.source ? "" : `${problem.path}: `;
  return `${where}${path}${problem.message}${problem.fix === "" ? "" : ` (${problem.fix})`}`;
}
