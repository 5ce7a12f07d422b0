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
  const write =
    options.format === "json" ? sink.write : (line: string) => sink.write(klogLine(line));
  const root = pino(
    {
      base: null,
      timestamp: () =>
        `,"ts":${Date.now()}.${String(process.hrtime.bigint() % 1000n).padStart(3, "0")}`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  process.once("exit", sink.flush);
  return { ...wrap(root, options.verbosity), flush: sink.flush };
}

function wrap(logger: Logger, verbosity: number): Log {
  const clean = (fields: LogFields | undefined): Record<string, unknown> => {
    if (!fields) return {};
    if (!("error" in fields)) return { ...fields };
    const { error, ...rest } = fields;
    const stack =
      verbosity >= STACK_VERBOSITY && error instanceof Error ? { stack: error.stack } : {};
    return { ...rest, err: messageOf(error), ...stack };
  };
  return {
    error: (message, fields) => logger.error(clean(fields), message),
    warn: (message, fields) => logger.warn(clean(fields), message),
    info: (message, fields) => logger.info({ v: 0, ...clean(fields) }, message),
    verbose: (level, message, fields) => {
      if (level <= verbosity) logger.info({ v: level, ...clean(fields) }, message);
    },
    enabled: (level) => level <= verbosity,
    child: (name, fields) => wrap(logger.child({ logger: name, ...fields }), verbosity),
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
export function klogLine(json: string): string {
  const { level, ts, v, msg, logger, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const letter = level === "error" ? "E" : level === "warn" ? "W" : "I";
  const [ms = "0", micros = "000"] = String(ts).split(".");
  const at = new Date(Number(ms));
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${two(at.getMonth() + 1)}${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const fraction = `${String(at.getMilliseconds()).padStart(3, "0")}${micros.padEnd(3, "0").slice(0, 3)}`;
  const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  const pid = String(process.pid).padStart(7);
  return `${letter}${day} ${time}.${fraction} ${pid} ${logger ?? "nodelet"}] ${JSON.stringify(msg)}${pairs.join("")}\n`;
}
