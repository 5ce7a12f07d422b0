import { METRICS } from "../../api/metrics/metrics.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { ClaimTable } from "./claim-info.ts";

/** Measuring what is done for the claims of pods. */
export interface ClaimMeasures {
  /** Measures one attempt for one pod; one that is given up does not count. */
  measure(
    operation: "PrepareResources" | "UnprepareResources",
    signal: AbortSignal,
    act: () => Promise<void>,
  ): Promise<void>;
}

/** Name of all drivers together in the metric of claims in use. */
const ANY_DRIVER = "<any>";

/** The metrics of claims. */
export function claimMeasures(
  { metrics, clock }: { readonly metrics: MetricsRegistry; readonly clock: Clock },
  claims: () => ClaimTable,
): ClaimMeasures {
  const seconds = metrics.histogram(METRICS.dra_operations_duration_seconds);
  metrics.counter(METRICS.dra_node_prepare_skips_total);
  metrics.counter(METRICS.dra_node_unprepare_skips_total);
  metrics.collected(METRICS.dra_resource_claims_in_use, () => {
    const prepared = [...claims().values()].filter(({ isPrepared }) => isPrepared);
    const drivers = Map.groupBy(
      prepared.flatMap((claim) => [...claim.drivers.keys()]),
      (driver) => driver,
    );
    return [
      { labels: { driver_name: ANY_DRIVER }, value: prepared.length },
      ...[...drivers].map(([driver_name, { length }]) => ({
        labels: { driver_name },
        value: length,
      })),
    ];
  });
  return {
    measure: async (operation_name, signal, act) => {
      const began = clock.monotonic();
      const ended = (is_error: "true" | "false") =>
        seconds.observe((clock.monotonic() - began) / 1000, { operation_name, is_error });
      try {
        await act();
        ended("false");
      } catch (error) {
        if (!signal.aborted) ended("true");
        throw error;
      }
    },
  };
}
