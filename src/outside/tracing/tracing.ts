/**
 * Tracing of this process. Owns: the exporter of spans. In: where they go, and how many. Out: a `Tracer`. Invariants:
 * the OpenTelemetry libraries are loaded only when tracing is configured; a collector that does not answer costs
 * a bounded queue of spans and holds up nothing.
 */
import type { Log } from "../../kit/log.ts";
import type { ExportingTracer, TracedProcess, TracingOptions } from "./otlp.ts";

export type { ExportingTracer, TracedProcess, TracingOptions } from "./otlp.ts";

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
