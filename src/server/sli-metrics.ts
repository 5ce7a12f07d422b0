/** Health checks as service level indicators (`/metrics/slis`, KEP-3466). */
import { METRICS } from "../api/metrics/metrics.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { ServedCheck } from "./routes/health.ts";

const TYPE = "healthz";

/** The same checks; what each says whenever it is asked is shown in the registry. */
export function measuredChecks(
  checks: () => readonly ServedCheck[],
  metrics: MetricsRegistry,
): () => readonly ServedCheck[] {
  const last = metrics.gauge(METRICS.kubernetes_healthcheck);
  const total = metrics.counter(METRICS.kubernetes_healthchecks_total);
  const measured = (each: ServedCheck): ServedCheck => ({
    ...each,
    check: () => {
      const problem = each.check();
      const status = problem === undefined ? "success" : "error";
      last.set(problem === undefined ? 1 : 0, { name: each.name, type: TYPE });
      total.add({ name: each.name, type: TYPE, status });
      return problem;
    },
  });
  return () => checks().map(measured);
}
