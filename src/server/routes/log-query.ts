// pure
import { parseTimestampNanos } from "../../api/text/timestamps.ts";
import type { LogQuery } from "../../subsystems/logs/logs.ts";
import { HttpProblem } from "../http-problem.ts";

/** Log options of a request (v1.PodLogOptions). */
export interface LogRequest extends Omit<LogQuery, "sinceNanos"> {
  readonly previous: boolean;
  /** From so long ago, or from a time on. */
  readonly since?: { readonly secondsAgo: bigint } | { readonly nanos: bigint };
}

const UNDECODABLE = new HttpProblem(400, '{"message": "Unable to decode query."}');
const INVALID = new HttpProblem(422, '{"message": "Invalid request."}');
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Reads the parameters of a log request as the Go kubelet decodes and validates them; throws
 * `HttpProblem`. `allowStream` is the gate PodLogsQuerySplitStreams; without it `stream` is ignored.
 */
export function parseLogQuery(query: URLSearchParams, allowStream: boolean): LogRequest {
  const tail = query.get("tail") ?? "";
  // The older name of the parameter, and its word for leaving it out.
  const tailText = tail === "" ? query.get("tailLines") : tail === "all" ? null : tail;
  const tailLines = whole(tailText);
  const sinceSeconds = whole(query.get("sinceSeconds"));
  const sinceTime = time(query.get("sinceTime"));
  const limitBytes = whole(query.get("limitBytes"));
  const stream = allowStream ? (query.get("stream") ?? undefined) : undefined;
  validate({ tailLines, limitBytes, sinceSeconds, sinceTime, stream });
  return {
    follow: flag(query, "follow"),
    previous: flag(query, "previous"),
    timestamps: flag(query, "timestamps"),
    ...(tailLines === undefined ? {} : { tailLines: Number(tailLines) }),
    ...(limitBytes === undefined ? {} : { limitBytes: Number(limitBytes) }),
    ...(sinceSeconds === undefined ? {} : { since: { secondsAgo: sinceSeconds } }),
    ...(sinceTime === undefined ? {} : { since: { nanos: sinceTime } }),
    ...(stream === "Stdout" ? { stream: "stdout" as const } : {}),
    ...(stream === "Stderr" ? { stream: "stderr" as const } : {}),
  };
}

interface Decoded {
  readonly tailLines: bigint | undefined;
  readonly limitBytes: bigint | undefined;
  readonly sinceSeconds: bigint | undefined;
  readonly sinceTime: bigint | undefined;
  readonly stream: string | undefined;
}

/** ValidatePodLogOptions of the Go kubelet. */
function validate({ tailLines, limitBytes, sinceSeconds, sinceTime, stream }: Decoded): void {
  if (tailLines !== undefined && tailLines < 0n) throw INVALID;
  if (limitBytes !== undefined && limitBytes < 1n) throw INVALID;
  if (sinceSeconds !== undefined && (sinceSeconds < 1n || sinceTime !== undefined)) throw INVALID;
  if (stream !== undefined && !["All", "Stdout", "Stderr"].includes(stream)) throw INVALID;
  // The Go kubelet does not know which lines of the tail went to which stream.
  if (stream !== undefined && stream !== "All" && tailLines !== undefined) throw INVALID;
}

/** Present and neither `false` nor `0` is true, whatever else it says (conversion of the query). */
function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value.toLowerCase() !== "false" && value !== "0";
}

function whole(text: string | null): bigint | undefined {
  if (text === null) return undefined;
  if (!/^[+-]?\d{1,19}$/.test(text)) throw UNDECODABLE;
  const value = BigInt(text.replace(/^\+/, ""));
  if (value > INT64_MAX || value < -INT64_MAX - 1n) throw UNDECODABLE;
  return value;
}

/** `metav1.Time` reads nothing and `null` as no time. */
function time(text: string | null): bigint | undefined {
  if (text === null || text === "" || text === "null") return undefined;
  const nanos = parseTimestampNanos(text);
  if (nanos === undefined) throw UNDECODABLE;
  return nanos;
}
