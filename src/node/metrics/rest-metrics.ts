/** Metrics of requests to the API server, under client-go's names. */
import { METRICS } from "../../api/metrics/metrics.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { ApiActivity, CallObserver } from "../../outside/kube/kube.ts";

/** Host of an API server in this very process. */
const IN_PROCESS = "localhost";

interface RestMetricsDeps {
  readonly metrics: MetricsRegistry;
  readonly clock: Pick<Clock, "monotonic" | "wall">;
}

/** Counts the requests of one server's clients; `host` is asked at each. */
export function restMetrics(
  { metrics, clock }: RestMetricsDeps,
  host: () => string | undefined,
): CallObserver {
  const requests = metrics.counter(METRICS.rest_client_requests_total);
  const seconds = metrics.histogram(METRICS.rest_client_request_duration_seconds);
  const sentBytes = metrics.histogram(METRICS.rest_client_request_size_bytes);
  const receivedBytes = metrics.histogram(METRICS.rest_client_response_size_bytes);
  const waits = metrics.histogram(METRICS.rest_client_rate_limiter_duration_seconds);
  const retries = metrics.counter(METRICS.rest_client_request_retries_total);
  const at = () => host() ?? IN_PROCESS;
  return {
    ended: ({ verb, code, seconds: took, sent, received }) => {
      const labels = { verb, host: at() };
      requests.add({ code, method: verb, host: labels.host });
      seconds.observe(took, labels);
      if (sent > 0) sentBytes.observe(sent, labels);
      if (received > 0) receivedBytes.observe(received, labels);
    },
    admitted: (verb, took) => waits.observe(took, { verb, host: at() }),
    repeated: (verb, code) => retries.add({ code: String(code), verb, host: at() }),
    notified: informerMeasure(metrics, clock),
  };
}

function informerMeasure(
  metrics: MetricsRegistry,
  clock: Pick<Clock, "monotonic">,
): CallObserver["notified"] {
  const latency = metrics.histogram(METRICS.informer_processing_latency_seconds);
  const queued = metrics.gauge(METRICS.informer_queued_items);
  const waiting = new Map<string, number>();
  return ({ group, version, plural }, objects) => {
    const labels = { name: plural, group, version, resource: plural };
    const key = `${group}/${version}/${plural}`;
    const change = (by: number) => {
      const now = (waiting.get(key) ?? 0) + by;
      waiting.set(key, now);
      queued.set(now, labels);
    };
    const began = clock.monotonic();
    change(objects);
    return () => {
      change(-objects);
      latency.observe((clock.monotonic() - began) / 1000, labels);
    };
  };
}

/** Counts connections to API servers and runs of credential programs. */
export function exposeApiActivity(
  { metrics, clock }: RestMetricsDeps,
  activity: ApiActivity | undefined,
): void {
  const lookups = metrics.histogram(METRICS.rest_client_dns_resolution_duration_seconds);
  const programs = metrics.counter(METRICS.rest_client_exec_plugin_call_total);
  const ages = metrics.histogram(METRICS.rest_client_exec_plugin_certificate_rotation_age);
  metrics.collected(METRICS.rest_client_exec_plugin_ttl_seconds, () => {
    const untilMs = activity?.certificateUntilMs;
    const value =
      untilMs === undefined ? Number.POSITIVE_INFINITY : (untilMs - clock.wall()) / 1000;
    return [{ value }];
  });
  metrics.collected(METRICS.rest_client_transport_cache_entries, () => [
    { value: activity?.open ?? 0 },
  ]);
  metrics.collected(METRICS.rest_client_transport_create_calls_total, () =>
    activity ? [{ labels: { result: "uncacheable" }, value: activity.created }] : [],
  );
  activity?.follow((fact) => {
    switch (fact.kind) {
      case "lookup":
        lookups.observe(fact.seconds, { host: fact.host });
        break;
      case "program":
        programs.add({ code: fact.code, call_status: fact.status });
        break;
      case "programCertificate":
        ages.observe(fact.ageSeconds);
        break;
      default:
        fact satisfies never;
    }
  });
}
