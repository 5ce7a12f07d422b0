/** Values that go with a span. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Properties of a span. */
export interface SpanOptions {
  /** `client` asks another process, `server` answers one; default work of our own. */
  readonly kind?: "client" | "server";
  readonly attributes?: SpanAttributes;
  /** Headers of a request that this answers: they may name the caller's span (`traceparent`, W3C Trace Context). */
  readonly from?: Readonly<Record<string, string | undefined>>;
}

/** Records what takes how long, across processes (OpenTelemetry). */
export interface Tracer {
  /**
   * Runs `work` within a span, which ends with it; what is thrown marks the span as failed and is thrown on. Spans that
   * begin within have this one as their parent.
   */
  run<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** Headers by which another process that is asked within a span continues it; none outside of one. */
  headers(): Readonly<Record<string, string>>;
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** Records nothing. */
export const noTracer: Tracer = {
  run: (_name, _options, work) => work(),
  headers: () => NO_HEADERS,
};
