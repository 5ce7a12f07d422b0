// pure
import type { SignalObservation } from "./observations.ts";
import type { ThresholdView } from "./plan.ts";

/** Amounts change by themselves all the time: over less time a rate says nothing. */
const MIN_SPAN_MS = 5_000;

/** Thresholds that would be met later than this are not forecast. */
const MAX_FORECAST_MS = 24 * 60 * 60_000;

/**
 * Milliseconds until a threshold that is not met will be, if what is left goes on shrinking as it did since
 * `before`; `undefined` when it does not shrink, when it will take more than a day, or when the span is too
 * short to predict.
 */
export function crossingMs(
  { observed, required, state }: Pick<ThresholdView, "observed" | "required" | "state">,
  before: SignalObservation | undefined,
): number | undefined {
  if (!observed || !before || state === "met") return undefined;
  const spanMs = observed.atMs - before.atMs;
  const shrunk = before.available - observed.available;
  if (spanMs < MIN_SPAN_MS || shrunk <= 0) return undefined;
  const ms = Math.max(0, ((observed.available - required) * spanMs) / shrunk);
  return ms <= MAX_FORECAST_MS ? ms : undefined;
}
