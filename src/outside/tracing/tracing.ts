/**
 * Tracing of this process. Owns: the exporter of spans. In: where they go, and how many. Out: a `Tracer`. Invariants:
 * the OpenTelemetry libraries are loaded only when tracing is configured; a collector that does not answer costs
 * a bounded queue of spans and holds up nothing.
 */
import type { Log } from "../../kit/log.ts";
import type { Tracer } from "../../kit/tracing/tracing.ts";

/** Where spans go and which are recorded (`tracing` of KubeletConfiguration). */
export interface TracingOptions {
  /** `host:port` of an OTLP collector over gRPC without TLS; default localhost:4317. */
  readonly endpoint?: string;
  /** Traces recorded of a million that begin here; those that a caller records are recorded in any case. Default 0. */
  readonly samplingRatePerMillion?: number;
}

/** What spans say of the process. */
export interface TracedProcess {
  readonly nodeName: string;
  readonly version: string;
}

/** A tracer whose spans are exported. */
export interface ExportingTracer extends Tracer {
  /** Sends what is left, within a bounded time, and ends. */
  close(): Promise<void>;
}

/** Whether tracing is configured at all. */
export function isTracing(options: TracingOptions): boolean {
  return options.endpoint !== undefined || options.samplingRatePerMillion !== undefined;
}

/** Begins to export spans; loads the libraries. */
export async function openTracer(
  options: TracingOptions,
  process: TracedProcess,
  log: Log,
): Promise<ExportingTracer> {
  const { createOtlpTracer } = await import("./otlp.ts");
  return createOtlpTracer(options, process, log);
}
