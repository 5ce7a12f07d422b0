// pure
import type { KubeletConfig } from "../kubelet-config.ts";
import { type ConfigProblem, invalidValue } from "../problem.ts";

type NumberField = {
  [K in keyof KubeletConfig]-?: KubeletConfig[K] extends number ? K : never;
}[keyof KubeletConfig];

interface RangeRule {
  readonly path: NumberField;
  readonly min: number;
  readonly max: number;
  readonly rule: string;
  readonly fix?: string;
}

const NOT_NEGATIVE = "must not be a negative number";
const PORT = "must be between 1 and 65535, inclusive";
const PERCENT = "must be between 0 and 100, inclusive";
const BIT = "must be between 0 and 31, inclusive";
const MAX_PORT = 65_535;
const ANY = Number.POSITIVE_INFINITY;

const atLeast = (path: NumberField, min: number, rule: string): RangeRule => ({
  path,
  min,
  max: ANY,
  rule,
});
const within = (
  path: NumberField,
  min: number,
  max: number,
  rule: string,
  fix?: string,
): RangeRule => (fix === undefined ? { path, min, max, rule } : { path, min, max, rule, fix });

/** Numbers that must lie between two bounds. Source: apis/config/validation of Kubernetes 1.37. */
const RANGES: readonly RangeRule[] = [
  within("port", 1, MAX_PORT, PORT, "the usual port is 10250"),
  within("readOnlyPort", 0, MAX_PORT, "must be between 0 and 65535, inclusive", "0 disables it"),
  within("healthzPort", 0, MAX_PORT, PORT, "0 disables it"),
  atLeast("nodeLeaseDurationSeconds", 1, "must be greater than 0"),
  atLeast("eventBurst", 0, NOT_NEGATIVE),
  atLeast("eventRecordQPS", 0, NOT_NEGATIVE),
  within("imageGCHighThresholdPercent", 0, 100, PERCENT),
  within("imageGCLowThresholdPercent", 0, 100, PERCENT),
  within("iptablesDropBit", 0, 31, BIT),
  within("iptablesMasqueradeBit", 0, 31, BIT),
  atLeast("kubeAPIBurst", 0, NOT_NEGATIVE),
  atLeast("kubeAPIQPS", 0, NOT_NEGATIVE),
  atLeast("nodeStatusMaxImages", -1, "must be -1 or greater"),
  atLeast("maxOpenFiles", 0, NOT_NEGATIVE),
  atLeast("maxPods", 0, NOT_NEGATIVE),
  within("oomScoreAdj", -1000, 1000, "must be between -1000 and 1000, inclusive"),
  atLeast("podsPerCore", 0, NOT_NEGATIVE),
  atLeast("registryBurst", 0, NOT_NEGATIVE),
  atLeast("registryPullQPS", 0, NOT_NEGATIVE),
  atLeast("containerLogMaxWorkers", 1, "must be greater than or equal to 1"),
  atLeast("containerLogMaxFiles", 2, "must be greater than 1"),
];

/** Rules about single numbers. */
export function validateRanges(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const { path, min, max, rule, fix } of RANGES) {
    const value = config[path];
    if (value < min || value > max) problems.push(invalidValue(path, value, rule, fix ?? ""));
  }
  return problems;
}
