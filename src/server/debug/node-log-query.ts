// pure

import {
  type FieldProblem,
  formatProblems,
  invalid,
  required,
  tooMany,
} from "../../api/decode/field-problem.ts";
import { parseTimestamp, rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import { HttpProblem } from "../http-problem.ts";

export interface NodeLogOptions {
  /** Unix milliseconds. */
  readonly sinceMs?: number;
  /** Unix milliseconds. */
  readonly untilMs?: number;
  /** Lines from the end. */
  readonly tailLines?: number;
  /** 0 is this boot, -1 the one before it. */
  readonly boot?: number;
  /** A regular expression that lines are filtered by. */
  readonly pattern?: string;
}

/** A parsed request for the node's logs. */
export type NodeLogRequest =
  /** No query: the path is a file or folder. */
  | { readonly kind: "path" }
  | { readonly kind: "file"; readonly path: string }
  | {
      readonly kind: "services";
      readonly services: readonly string[];
      readonly options: NodeLogOptions;
    };

const MAX_TAIL_LINES = 100_000;
const MAX_SERVICE_LENGTH = 256;
const MAX_SERVICES = 4;
/** Longer expressions are refused: none that filters logs needs more. */
const MAX_PATTERN = 1_024;
const UNSAFE_SERVICE = /[^a-zA-Z\-_0-9@]/;
const BAD_REQUEST = 400;
const NOT_ACCEPTABLE = 406;

interface Parsed {
  readonly files: readonly string[];
  readonly services: readonly string[];
  readonly options: NodeLogOptions;
}

/**
 * Reads and checks the parameters of a log query as the Go kubelet does, with its texts and status codes; throws
 * `HttpProblem`. `path` is what stands behind `/logs/`; a query goes without one.
 */
export function parseNodeLogQuery(query: URLSearchParams, path: string): NodeLogRequest {
  const { files, services, options } = readQuery(query);
  const isEmpty = files.length === 0 && services.length === 0 && Object.keys(options).length === 0;
  if (isEmpty) return { kind: "path" };
  if (path !== "") throw new HttpProblem(NOT_ACCEPTABLE, "path not allowed in query mode\n");
  refuse(NOT_ACCEPTABLE, problemsOf({ files, services, options }));
  const [file] = files;
  return file === undefined
    ? { kind: "services", services, options }
    : { kind: "file", path: file.replaceAll("\\", "/") };
}

function refuse(status: number, problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw new HttpProblem(status, `${formatProblems(problems)}\n`);
}

function readQuery(query: URLSearchParams): Parsed {
  const problems: FieldProblem[] = [];
  const named = query.getAll("query");
  const files = named.filter((name) => /[/\\]/.test(name));
  const services = named.filter((name) => !/[/\\]/.test(name) && name.trim() !== "");
  if (named.length > 0 && files.length === 0 && services.length === 0)
    problems.push(invalid("query", named, "query cannot be empty"));
  const read = <T>(name: string, parse: (text: string) => T | undefined, detail: string) => {
    const text = query.get(name) ?? "";
    if (text === "") return undefined;
    const value = parse(text);
    if (value === undefined) problems.push(invalid(name, text, detail));
    return value;
  };
  const sinceMs = read("sinceTime", parseTimestamp, "invalid time format");
  const untilMs = read("untilTime", parseTimestamp, "invalid time format");
  const boot = read("boot", parseWhole, "must be a whole number");
  const tailLines = read("tailLines", parseWhole, "must be a whole number");
  const pattern = query.get("pattern") ?? "";
  refuse(BAD_REQUEST, problems);
  const options = {
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(untilMs === undefined ? {} : { untilMs }),
    ...(boot === undefined ? {} : { boot }),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(pattern === "" ? {} : { pattern }),
  };
  return { files, services, options };
}

function parseWhole(text: string): number | undefined {
  return /^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function problemsOf({ files, services, options }: Parsed): readonly FieldProblem[] {
  const { sinceMs, untilMs, boot, tailLines, pattern } = options;
  const problems: FieldProblem[] = [...serviceProblems(services)];
  if (files.length === 0 && services.length === 0)
    problems.push(required("query", "cannot be empty with options"));
  else if (files.length > 0 && services.length > 0)
    problems.push(
      invalid("query", [...files, ...services].join(", "), "cannot specify a file and service"),
    );
  else if (files.length > 1)
    problems.push(invalid("query", files, "cannot specify more than one file"));
  else if (files.length === 1 && Object.keys(options).length > 0)
    problems.push(invalid("query", files, "cannot specify file with options"));
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs)
    problems.push(invalid("untilTime", rfc3339(untilMs as WallMs), "must be after `sinceTime`"));
  if (boot !== undefined && boot > 0) problems.push(invalid("boot", boot, "must be less than 1"));
  if (tailLines !== undefined && (tailLines < 0 || tailLines > MAX_TAIL_LINES))
    problems.push(
      invalid("tailLines", tailLines, `must be between 0 and ${MAX_TAIL_LINES}, inclusive`),
    );
  if (pattern !== undefined) appendAll(problems, patternProblems(pattern));
  return problems;
}

function serviceProblems(services: readonly string[]): readonly FieldProblem[] {
  const problems = services.flatMap((service) => {
    if (service.length > MAX_SERVICE_LENGTH)
      return [invalid("query", service, `length must be at most ${MAX_SERVICE_LENGTH}`)];
    return UNSAFE_SERVICE.test(service)
      ? [invalid("query", service, "input contains unsupported characters")]
      : [];
  });
  return services.length > MAX_SERVICES
    ? [...problems, tooMany("query", services.length, MAX_SERVICES)]
    : problems;
}

/** Syntax of RE2 that JavaScript writes differently: flag groups and group names. */
const RE2_FLAGS = /\(\?[imsU]+(-[imsU]+)?\)/g;
/** Syntax of PCRE that RE2, with which the Go kubelet checks patterns, refuses: it may take exponential time. */
const NOT_RE2 = /\(\?(=|!|<=|<!|>|\||#|R|\d)|\\[1-9]|\\k/;

/** A pattern goes to `journalctl` as PCRE2; only what RE2 accepts too is passed on (syntax.Parse of Go). */
function patternProblems(pattern: string): readonly FieldProblem[] {
  const fail = (detail: string) => [invalid("pattern", pattern, `error parsing regexp: ${detail}`)];
  if (pattern.length > MAX_PATTERN) return fail(`longer than ${MAX_PATTERN} characters`);
  if (pattern.includes("\0") || NOT_RE2.test(pattern))
    return fail("invalid or unsupported Perl syntax");
  try {
    new RegExp(pattern.replaceAll(RE2_FLAGS, "").replaceAll("(?P<", "(?<"));
    return [];
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

/**
 * The arguments of `journalctl` for a query (getLoggingCmd of kubelet_server_journal_linux.go), one element each: no
 * shell reads them. Times are written with their zone, which `journalctl` otherwise takes for the machine's.
 */
export function journalArguments(
  services: readonly string[],
  { sinceMs, untilMs, tailLines, boot, pattern }: NodeLogOptions,
): readonly string[] {
  return [
    "--utc",
    "--no-pager",
    "--output=short-precise",
    ...(sinceMs === undefined ? [] : [`--since=${journalTime(sinceMs)}`]),
    ...(untilMs === undefined ? [] : [`--until=${journalTime(untilMs)}`]),
    ...(tailLines === undefined ? [] : ["--pager-end", `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`, "--case-sensitive=false"]),
    ...(boot === undefined ? [] : [`--boot=${boot}`]),
  ];
}

function journalTime(ms: number): string {
  return `${rfc3339(ms as WallMs)
    .slice(0, 19)
    .replace("T", " ")} UTC`;
}

/** Files below the log folder in which a service that writes no journal may log, in the order in which they are tried. */
export function logFilesOf(service: string): readonly string[] {
  return [service, `${service}.log`, `${service}/${service}.log`];
}
