import { type Logger, pino } from "pino";
import { Cell } from "../../kit/cell.ts";
import { messageOf } from "../../kit/errors.ts";
import type { Log, LogFields } from "../../kit/log.ts";
import { createLineSink, type LineSink, type LineTarget } from "./line-sink.ts";

/** Another verbosity for the loggers whose name matches `pattern`. */
interface LoggerVerbosity {
  /** `*` stands for any characters, `?` for one. */
  readonly pattern: string;
  readonly verbosity: number;
}

/** Layout, verbosity and place of the lines. */
export interface LogOptions {
  /** `text` is klog's own layout, `json` the Go kubelet's JSON layout. */
  readonly format: "text" | "json";
  /** klog verbosity; lines above it are not written. */
  readonly verbosity: number;
  /** Verbosity of single loggers; the first that matches counts (`vmodule`, whose files are loggers here). */
  readonly loggers?: readonly LoggerVerbosity[];
  /** File descriptor the lines go to. */
  readonly fd: number;
  /** Destination of lines that are no errors (`splitStream`). */
  readonly info?: LineTarget;
}

/** The log of the process. */
export interface OwnLog extends Log {
  /** Writes what was gathered. */
  flush(): void;
  /** klog verbosity in force; setting it changes what is logged from then on. */
  readonly verbosity: Cell<number>;
}

/** Stack traces of errors are written from this verbosity on. */
const STACK_VERBOSITY = 4;

/**
 * The log of the process. What was logged in one turn of the event loop is written at its end. Where nobody reads it
 * the lines wait, bounded; those above that are dropped, and a warning says how many once there is a reader again.
 */
export function createLog(options: LogOptions): OwnLog {
  const sinks = openSinks(options, (count) =>
    lines.write("warn", { lines: count }, "dropped log lines that nobody read"),
  );
  const lines: Lines = options.format === "json" ? jsonLines(sinks) : textLines(sinks, {});
  const flush = () => {
    sinks.info.flush();
    sinks.error.flush();
  };
  process.once("exit", flush);
  const levels = new Levels(options);
  return { ...wrap(lines, levels, undefined), flush, verbosity: levels.ofAll };
}

/** Which verbosity holds for a logger. */
class Levels {
  readonly ofAll: Cell<number>;
  readonly #loggers: readonly { readonly matches: RegExp; readonly verbosity: number }[];

  constructor({ verbosity, loggers = [] }: Pick<LogOptions, "verbosity" | "loggers">) {
    this.ofAll = new Cell(verbosity);
    this.#loggers = loggers.map((logger) => ({
      matches: globOf(logger.pattern),
      verbosity: logger.verbosity,
    }));
  }

  /** Reads the verbosity of a logger; the name is looked up once. */
  of(logger: string | undefined): () => number {
    const own = this.#loggers.find(({ matches }) => logger !== undefined && matches.test(logger));
    return own ? () => own.verbosity : () => this.ofAll.get();
  }
}

function globOf(pattern: string): RegExp {
  const literal = pattern.replaceAll(/[.+^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${literal.replaceAll("*", ".*").replaceAll("?", ".")}$`);
}

type Fields = Readonly<Record<string, unknown>>;
type Level = "error" | "warn" | "info";

/** Makes lines of one layout. */
interface Lines {
  /** `v` is the verbosity of an info line. */
  write(level: Level, fields: Fields, message: string): void;
  child(fields: Fields): Lines;
}

/** Destinations of errors and of all other lines. */
interface Sinks {
  readonly error: LineSink;
  readonly info: LineSink;
}

function openSinks(
  { fd, info }: Pick<LogOptions, "fd" | "info">,
  onDropped: (count: number) => void,
): Sinks {
  const error = createLineSink({ fd, bufferBytes: 0, flushMs: 0 }, onDropped);
  return { error, info: info ? createLineSink(info, onDropped) : error };
}

function jsonLines({ error, info }: Sinks): Lines {
  const of = (errors: Logger, others: Logger): Lines => ({
    write: (level, fields, message) =>
      (level === "error" ? errors : others)[level](fields, message),
    child: (fields) => {
      const child = errors.child(fields);
      return of(child, others === errors ? child : others.child(fields));
    },
  });
  const errors = jsonLogger(error);
  return of(errors, info === error ? errors : jsonLogger(info));
}

function jsonLogger(sink: LineSink): Logger {
  return pino(
    {
      base: null,
      timestamp: () => `,"ts":${Date.now()}.${micros()}`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: sink.write },
  );
}

function textLines(sinks: Sinks, known: Fields): Lines {
  return {
    write: (level, fields, message) => {
      const sink = level === "error" ? sinks.error : sinks.info;
      sink.write(klogLine(level, { ...known, ...fields }, message));
    },
    child: (fields) => textLines(sinks, { ...known, ...fields }),
  };
}

function wrap(lines: Lines, levels: Levels, logger: string | undefined): Log {
  const verbosity = levels.of(logger);
  const clean = (fields: LogFields | undefined): Fields => {
    if (!fields) return {};
    if (!("error" in fields)) return fields;
    const { error, ...rest } = fields;
    const stack =
      verbosity() >= STACK_VERBOSITY && error instanceof Error ? { stack: error.stack } : {};
    return { ...rest, err: messageOf(error), ...stack };
  };
  return {
    error: (message, fields) => lines.write("error", clean(fields), message),
    warn: (message, fields) => lines.write("warn", clean(fields), message),
    info: (message, fields) => lines.write("info", { v: 0, ...clean(fields) }, message),
    verbose: (level, message, fields) => {
      if (level <= verbosity()) lines.write("info", { v: level, ...clean(fields) }, message);
    },
    enabled: (level) => level <= verbosity(),
    child: (name, fields) => wrap(lines.child({ logger: name, ...fields }), levels, name),
  };
}

/** `I1121 05:12:13.123456   4711 pod] "message" key="value"` (klog's header, the logger for file and line). */
function klogLine(level: "error" | "warn" | "info", fields: Fields, message: string): string {
  const { logger = "nodelet", v: _, ...shown } = fields;
  const letter = level === "error" ? "E" : level === "warn" ? "W" : "I";
  const at = new Date();
  const day = `${two(at.getMonth() + 1)}${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const fraction = `${String(at.getMilliseconds()).padStart(3, "0")}${micros()}`;
  let pairs = "";
  for (const [key, value] of Object.entries(shown)) {
    const text = jsonOf(value);
    if (text !== undefined) pairs += ` ${key}=${text}`;
  }
  const pid = String(process.pid).padStart(7);
  return `${letter}${day} ${time}.${fraction} ${pid} ${logger}] ${JSON.stringify(message)}${pairs}\n`;
}

/** Nothing that is logged ends the agent: what has no JSON is shown as text. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return JSON.stringify(String(value));
  }
}

/** Microseconds below a millisecond, three digits. */
function micros(): string {
  return String(process.hrtime.bigint() % 1000n).padStart(3, "0");
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
