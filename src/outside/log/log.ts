import { writeSync } from "node:fs";
import { type Logger, pino } from "pino";
import { messageOf } from "../../kit/errors.ts";
import type { Log, LogFields } from "../../kit/log.ts";

/** Layout, verbosity and place of the lines. */
export interface LogOptions {
  /** `text` is klog's own layout, `json` the Go kubelet's JSON layout. */
  readonly format: "text" | "json";
  /** klog verbosity; lines above it are not written. */
  readonly verbosity: number;
  /** File descriptor the lines go to. */
  readonly fd: number;
}

/** Stack traces of errors are written from this verbosity on. */
const STACK_VERBOSITY = 4;
/** Lines are gathered up to this size within one turn of the event loop. */
const BUFFER_BYTES = 4096;

/** The log of the process. What was logged in one turn of the event loop is written at its end. */
export function createLog(options: LogOptions): Log & { flush(): void } {
  const sink = bufferedSink(options.fd);
  const lines = options.format === "json" ? jsonLines(sink) : textLines(sink, {});
  process.once("exit", sink.flush);
  return { ...wrap(lines, options.verbosity), flush: sink.flush };
}

type Fields = Readonly<Record<string, unknown>>;

/** Makes lines of one layout. */
interface Lines {
  /** `v` is the verbosity of an info line. */
  write(level: "error" | "warn" | "info", fields: Fields, message: string): void;
  child(fields: Fields): Lines;
}

function jsonLines(sink: Sink): Lines {
  const of = (logger: Logger): Lines => ({
    write: (level, fields, message) => logger[level](fields, message),
    child: (fields) => of(logger.child(fields)),
  });
  return of(
    pino(
      {
        base: null,
        timestamp: () => `,"ts":${Date.now()}.${micros()}`,
        formatters: { level: (label) => ({ level: label }) },
      },
      { write: sink.write },
    ),
  );
}

function textLines(sink: Sink, known: Fields): Lines {
  return {
    write: (level, fields, message) =>
      sink.write(klogLine(level, { ...known, ...fields }, message)),
    child: (fields) => textLines(sink, { ...known, ...fields }),
  };
}

function wrap(lines: Lines, verbosity: number): Log {
  const clean = (fields: LogFields | undefined): Fields => {
    if (!fields) return {};
    if (!("error" in fields)) return fields;
    const { error, ...rest } = fields;
    const stack =
      verbosity >= STACK_VERBOSITY && error instanceof Error ? { stack: error.stack } : {};
    return { ...rest, err: messageOf(error), ...stack };
  };
  return {
    error: (message, fields) => lines.write("error", clean(fields), message),
    warn: (message, fields) => lines.write("warn", clean(fields), message),
    info: (message, fields) => lines.write("info", { v: 0, ...clean(fields) }, message),
    verbose: (level, message, fields) => {
      if (level <= verbosity) lines.write("info", { v: level, ...clean(fields) }, message);
    },
    enabled: (level) => level <= verbosity,
    child: (name, fields) => wrap(lines.child({ logger: name, ...fields }), verbosity),
  };
}

interface Sink {
  readonly write: (line: string) => void;
  readonly flush: () => void;
}

function bufferedSink(fd: number): Sink {
  let pending = "";
  let scheduled = false;
  const flush = () => {
    scheduled = false;
    const text = pending;
    pending = "";
    if (text !== "") writeAll(fd, Buffer.from(text));
  };
  const write = (line: string) => {
    pending += line;
    if (pending.length >= BUFFER_BYTES) flush();
    else if (!scheduled) {
      scheduled = true;
      setImmediate(flush);
    }
  };
  return { write, flush };
}

/** A pipe may be full for a moment; a closed one is not worth dying for. */
function writeAll(fd: number, bytes: Buffer): void {
  let written = 0;
  for (let tries = 0; written < bytes.length && tries < 1000; tries += 1) {
    try {
      written += writeSync(fd, bytes, written);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
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
