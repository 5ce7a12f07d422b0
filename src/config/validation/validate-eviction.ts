// pure

import { EVICTION_SIGNALS, isEvictionSignal } from "../../api/node/eviction-signals.ts";
import { parseDuration } from "../../api/text/duration.ts";
import { didYouMean } from "../../api/text/nearest.ts";
import { DISABLED_SHARES, readEvictionAmount } from "../eviction-thresholds.ts";
import type { KubeletConfig, TextMap } from "../kubelet-config.ts";
import { type ConfigProblem, invalidValue, requiredValue } from "../problem.ts";

/**
 * Rules about eviction. The Go kubelet finds these at start-up instead of validation; either way it does
 * not start. Source: pkg/kubelet/eviction/helpers.go of Kubernetes 1.37.
 */
export function validateEviction(config: KubeletConfig): ConfigProblem[] {
  const { evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim } = config;
  return [
    ...thresholds("evictionHard", evictionHard),
    ...thresholds("evictionSoft", evictionSoft),
    ...gracePeriods(evictionSoft, evictionSoftGracePeriod),
    ...reclaims(evictionMinimumReclaim),
  ];
}

function unknownSignal(path: string, signal: string): ConfigProblem {
  return invalidValue(
    path,
    signal,
    `unsupported eviction signal ${signal}`,
    didYouMean(signal, EVICTION_SIGNALS) || `the signals are ${EVICTION_SIGNALS.join(", ")}`,
  );
}

function thresholds(field: string, map: TextMap): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const [signal, value] of Object.entries(map)) {
    const path = `${field}[${signal}]`;
    if (!isEvictionSignal(signal)) problems.push(unknownSignal(path, signal));
    const rule = thresholdFault(signal, value);
    if (rule !== "") problems.push(invalidValue(path, value, rule, "e.g. 100Mi or 10%"));
  }
  return problems;
}

function thresholdFault(signal: string, value: string): string {
  const reading = readEvictionAmount(value);
  if (!reading.ok) return reading.error;
  const { amount } = reading;
  if (amount.kind === "share") {
    if (amount.share < 0) return `eviction percentage threshold ${signal} must be >= 0%`;
    // The Go kubelet counts with 32 bits.
    if (Math.fround(amount.share) > 1)
      return `eviction percentage threshold ${signal} must be <= 100%`;
    return "";
  }
  return amount.quantity.mantissa > 0n ? "" : `eviction threshold ${signal} must be positive`;
}

function gracePeriods(soft: TextMap, periods: TextMap): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const [signal, value] of Object.entries(periods)) {
    const path = `evictionSoftGracePeriod[${signal}]`;
    if (!isEvictionSignal(signal)) problems.push(unknownSignal(path, signal));
    const parsed = parseDuration(value);
    if (!parsed.ok) problems.push(invalidValue(path, value, parsed.error, "e.g. 1m30s"));
    else if (parsed.nanoseconds < 0n) {
      problems.push(invalidValue(path, value, "must be a positive value"));
    }
  }
  for (const [signal, value] of Object.entries(soft)) {
    if (Object.hasOwn(periods, signal) || DISABLED_SHARES.includes(value)) continue;
    const why = `grace period must be specified for the soft eviction threshold ${signal}`;
    const fix = `e.g. evictionSoftGracePeriod: {${signal}: 1m30s}`;
    problems.push(requiredValue(`evictionSoftGracePeriod[${signal}]`, why, fix));
  }
  return problems;
}

function reclaims(map: TextMap): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const [signal, value] of Object.entries(map)) {
    const path = `evictionMinimumReclaim[${signal}]`;
    if (!isEvictionSignal(signal)) problems.push(unknownSignal(path, signal));
    const reading = readEvictionAmount(value);
    if (!reading.ok) problems.push(invalidValue(path, value, reading.error, "e.g. 500Mi or 5%"));
    else if (reading.amount.kind === "share" && reading.amount.share <= 0) {
      const rule = `eviction percentage minimum reclaim ${signal} must be positive`;
      problems.push(invalidValue(path, value, rule));
    } else if (reading.amount.kind === "quantity" && reading.amount.quantity.mantissa < 0n) {
      problems.push(
        invalidValue(path, value, `negative eviction minimum reclaim specified for ${signal}`),
      );
    }
  }
  return problems;
}
