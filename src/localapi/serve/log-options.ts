// pure
import type { FieldProblem } from "../../api/decode/field-problem.ts";

const INTEGER = /^[+-]?\d{1,19}$/;
const STREAMS = ["All", "Stdout", "Stderr"] as const;

/**
 * Validates the parameters of a request for a log (ValidatePodLogOptions). Text that is no number at all is
 * left to the agent, which refuses it.
 */
export function logOptionProblems(query: URLSearchParams): readonly FieldProblem[] {
  const sinceSeconds = wholeOf(query, "sinceSeconds");
  const hasTime = (query.get("sinceTime") ?? "") !== "";
  const stream = query.get("stream") ?? "";
  const tailLines = wholeOf(query, "tailLines");
  const problems: FieldProblem[] = [];
  const least = (path: string, value: bigint | undefined, from: bigint, message: string) => {
    if (value !== undefined && value < from)
      problems.push({ path, kind: "invalid", value: Number(value), message });
  };
  least("tailLines", tailLines, 0n, "must be greater than or equal to 0");
  least("limitBytes", wholeOf(query, "limitBytes"), 1n, "must be greater than 0");
  if (sinceSeconds !== undefined && hasTime)
    problems.push({
      path: "",
      kind: "forbidden",
      message: "at most one of `sinceTime` or `sinceSeconds` may be specified",
    });
  else least("sinceSeconds", sinceSeconds, 1n, "must be greater than 0");
  if (stream !== "" && !STREAMS.some((known) => known === stream))
    problems.push({
      path: "stream",
      kind: "unsupported",
      value: stream,
      message: `supported values: ${STREAMS.map((known) => `"${known}"`).join(", ")}`,
    });
  if (stream !== "" && stream !== "All" && tailLines !== undefined)
    problems.push({
      path: "",
      kind: "forbidden",
      message: "`tailLines` and specific `stream` are mutually exclusive for now",
    });
  return problems;
}

function wholeOf(query: URLSearchParams, name: string): bigint | undefined {
  const text = query.get(name) ?? "";
  return INTEGER.test(text) ? BigInt(text.replace(/^\+/, "")) : undefined;
}
