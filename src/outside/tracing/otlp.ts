import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { parseTraceParent, setGlobalErrorHandler } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { readTraceEndpoint } from "../../config/validation/trace-endpoint.ts";
import { messageOf, OutsideError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { SpanOptions, Tracer } from "../../kit/tracing/tracing.ts";
import { plainCredentials } from "../grpc/plain-credentials.ts";

/** Collector and sampling of spans (`tracing` of KubeletConfiguration). */
export interface TracingOptions {
  /** An OTLP collector over gRPC without TLS, as `readTraceEndpoint` takes it; default localhost:4317. */
  readonly endpoint?: string;
  /** Traces recorded of a million that begin here; those that a caller records are recorded in any case. Default 0. */
  readonly samplingRatePerMillion?: number;
}

/** Resource attributes of the process. */
export interface TracedProcess {
  readonly nodeName: string;
  readonly version: string;
}

/** A tracer whose spans are exported. */
export interface ExportingTracer extends Tracer {
  /** Sends what is left, within a bounded time, and ends. */
  close(): Promise<void>;
}

const DEFAULT_ENDPOINT = "localhost:4317";
const MILLION = 1_000_000;
/** Spans that wait for the collector; more are dropped (the library's own bound). */
const MAX_QUEUED_SPANS = 2_048;
/** How long the spans that are left may take when the agent ends. */
const CLOSE_MS = 2_000;
const EXPORT_TIMEOUT_MS = 10_000;
/** Failures to export are warned of at most so often. */
const WARN_EVERY_MS = 60_000;
/** `traceparent` is `00-<trace>-<span>-<flags>`. */
const SAMPLED = 1;

/** Exports spans by OTLP over gRPC, with the resource and the sampler of the Go kubelet (component-base/tracing). */
export function createOtlpTracer(
  options: TracingOptions,
  { nodeName, version }: TracedProcess,
  log: Log,
): ExportingTracer {
  const { samplingRatePerMillion: rate = 0 } = options;
  const endpoint = options.endpoint || DEFAULT_ENDPOINT;
  setGlobalErrorHandler(warnSeldom(log, endpoint));
  const exporter = new OTLPTraceExporter({
    url: exporterUrl(endpoint),
    credentials: plainCredentials(),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": "kubelet",
      "service.version": version,
      "service.instance.id": nodeName,
      "k8s.node.name": nodeName,
    }),
    sampler: new ParentBasedSampler({
      root: rate > 0 ? new TraceIdRatioBasedSampler(rate / MILLION) : new AlwaysOffSampler(),
    }),
    spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: MAX_QUEUED_SPANS })],
  });
  const tracer = provider.getTracer("kubelet");
  const active = new AsyncLocalStorage<Context>();
  return {
    run: async (name, { kind, attributes = {}, from }, work) => {
      const parent = (from && contextOf(from)) ?? active.getStore() ?? ROOT_CONTEXT;
      const span = tracer.startSpan(name, { kind: kindOf(kind), attributes }, parent);
      try {
        return await active.run(trace.setSpan(parent, span), work);
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
        throw error;
      } finally {
        span.end();
      }
    },
    headers: () => headersOf(trace.getSpan(active.getStore() ?? ROOT_CONTEXT)),
    close: async () => {
      const over = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS).unref());
      await Promise.race([provider.shutdown(), over]).catch(() => {});
    },
  };
}

/** The endpoint as the exporter takes it. */
function exporterUrl(endpoint: string): string {
  const target = readTraceEndpoint(endpoint);
  switch (target.kind) {
    case "tcp":
      return `http://${target.address}`;
    case "socket":
      return `unix://${target.path}`;
    case "fault":
      throw new OutsideError("invalid", `tracing.endpoint: ${target.why}`);
    default:
      return target satisfies never;
  }
}

function kindOf(kind: SpanOptions["kind"]): SpanKind {
  switch (kind) {
    case "client":
      return SpanKind.CLIENT;
    case "server":
      return SpanKind.SERVER;
    case undefined:
      return SpanKind.INTERNAL;
    default:
      return kind satisfies never;
  }
}

/** The span that a request came from; `undefined` where its headers name none. */
function contextOf(headers: Readonly<Record<string, string | undefined>>): Context | undefined {
  const parent = parseTraceParent(headers["traceparent"] ?? "");
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : undefined;
}

/** The headers of W3C Trace Context. */
function headersOf(span: Span | undefined): Readonly<Record<string, string>> {
  if (!span) return {};
  const { traceId, spanId, traceFlags } = span.spanContext();
  const flags = (traceFlags & SAMPLED).toString(16).padStart(2, "0");
  return { traceparent: `00-${traceId}-${spanId}-${flags}` };
}

/** A collector that is away fails with every batch. */
function warnSeldom(log: Log, endpoint: string): (error: unknown) => void {
  let silentUntil = 0;
  return (error) => {
    const now = performance.now();
    if (now < silentUntil) return;
    silentUntil = now + WARN_EVERY_MS;
    log.warn("failed to export spans", { endpoint, error: messageOf(error) });
  };
}
