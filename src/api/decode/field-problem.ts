// pure

import { quoted } from "../text/go-quote.ts";

/** Validation error of a field, by Kubernetes' error types. */
export type FieldProblemKind =
  | "required"
  | "invalid"
  | "unsupported"
  | "forbidden"
  | "duplicate"
  | "notFound"
  | "tooLong"
  | "tooMany"
  | "unknownField"
  | "typeInvalid";

/** One thing wrong with an object: where, what, and why. */
export interface FieldProblem {
  /** E.g. `spec.containers[0].ports[1].hostPort`. */
  readonly path: string;
  readonly kind: FieldProblemKind;
  /** The value that is wrong, where the kind shows one. */
  readonly value?: unknown;
  /** The detail behind the kind's own words; may be empty. */
  readonly message: string;
}

const KIND_WORDS: Readonly<Record<Exclude<FieldProblemKind, "unknownField">, string>> = {
  required: "Required value",
  invalid: "Invalid value",
  unsupported: "Unsupported value",
  forbidden: "Forbidden",
  duplicate: "Duplicate value",
  notFound: "Not found",
  tooLong: "Too long",
  tooMany: "Too many",
  typeInvalid: "Invalid value",
};

/** Kinds whose text never repeats the value. */
const WITHOUT_VALUE: ReadonlySet<FieldProblemKind> = new Set(["required", "forbidden", "tooLong"]);

/** Longer values are cut in messages, which end up in events and logs. */
const MAX_SHOWN = 1024;

/** A value of any kind as messages show it: texts quoted, the rest as JSON, cut where it is long. */
export function shownFieldValue(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (value === undefined || value === null) return "null";
  if (typeof value !== "object") return String(value);
  const json = JSON.stringify(value, (_, part: unknown) =>
    typeof part === "bigint" ? part.toString() : part,
  );
  return json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN)}…` : json;
}

/** A problem in Kubernetes' wording, e.g. `spec.containers[0].name: Required value`. */
export function formatProblem(problem: FieldProblem): string {
  const { path, kind, message } = problem;
  if (kind === "unknownField")
    return `unknown field ${quoted(path)}${message === "" ? "" : ` (${message})`}`;
  const words = KIND_WORDS[kind];
  const shows = !WITHOUT_VALUE.has(kind) && "value" in problem;
  const body = shows ? `${words}: ${shownFieldValue(problem.value)}` : words;
  return `${path}: ${body}${message === "" ? "" : `: ${message}`}`;
}

/** All problems in one text, the way Kubernetes joins them; the same text only once. */
export function formatProblems(problems: readonly FieldProblem[]): string {
  const texts = [...new Set(problems.map(formatProblem))];
  return texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
}

/** `Required value`, with an optional detail. */
export const required = (path: string, message = ""): FieldProblem => ({
  path,
  kind: "required",
  message,
});

/** `Invalid value: "x": detail`. */
export const invalid = (path: string, value: unknown, message: string): FieldProblem => ({
  path,
  kind: "invalid",
  value,
  message,
});

/** `Unsupported value: "x": supported values: "A", "B"`. */
export const unsupported = (
  path: string,
  value: unknown,
  supported: readonly string[],
): FieldProblem => ({
  path,
  kind: "unsupported",
  value,
  message: supported.length === 0 ? "" : `supported values: ${supported.map(quoted).join(", ")}`,
});

/** `Forbidden: detail`. */
export const forbidden = (path: string, message: string): FieldProblem => ({
  path,
  kind: "forbidden",
  message,
});

/** `Duplicate value: "x"`. */
export const duplicate = (path: string, value: unknown): FieldProblem => ({
  path,
  kind: "duplicate",
  value,
  message: "",
});

/** `Not found: "x"`. */
export const notFound = (path: string, value: unknown): FieldProblem => ({
  path,
  kind: "notFound",
  value,
  message: "",
});

/** `Too long: may not be more than N bytes`. */
export const tooLong = (path: string, maxBytes: number): FieldProblem => ({
  path,
  kind: "tooLong",
  message: `may not be more than ${maxBytes} bytes`,
});

/** `Too many: 5: must have at most 3 items`. */
export const tooMany = (path: string, actual: number, max: number): FieldProblem => ({
  path,
  kind: "tooMany",
  value: actual,
  message: `must have at most ${max} items`,
});
