// pure

import { formatDuration } from "../../api/text/duration.ts";
import { quoted } from "../../api/text/go-quote.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { FeatureGates } from "../gates/feature-gates.ts";
import type { KubeletConfig } from "../kubelet-config.ts";
import {
  type ConfigProblem,
  duplicateValue,
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../problem.ts";

const FIELD = "enforceNodeAllocatable";
const ENFORCEMENTS = [
  "pods",
  "system-reserved",
  "system-reserved-compressible",
  "kube-reserved",
  "kube-reserved-compressible",
  "none",
];
const RESERVED_CGROUPS = [
  { owner: "system-reserved", field: "systemReservedCgroup" },
  { owner: "kube-reserved", field: "kubeReservedCgroup" },
] as const;
const MIN_SHUTDOWN_MS = 1_000;

/** Rules about the enforcement of reservations. Source: apis/config/validation of Kubernetes 1.37. */
export function validateAllocatable(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const enforced = new Set(config.enforceNodeAllocatable);
  for (const { owner } of RESERVED_CGROUPS) {
    const compressible = `${owner}-compressible`;
    if (!enforced.has(owner) || !enforced.has(compressible)) continue;
    const why = `both ${quoted(owner)} and ${quoted(compressible)} cannot be specified together`;
    problems.push(forbiddenField(FIELD, why, "keep one of them"));
  }
  const seen = new Set<string>();
  config.enforceNodeAllocatable.forEach((name, i) => {
    const path = `${FIELD}[${i}]`;
    if (seen.has(name)) {
      problems.push(duplicateValue(path, name, "remove it"));
      return;
    }
    seen.add(name);
    appendAll(problems, enforcementProblems(config, name, path));
  });
  return problems;
}

function enforcementProblems(config: KubeletConfig, name: string, path: string): ConfigProblem[] {
  if (!ENFORCEMENTS.includes(name)) return [unsupportedValue(path, name, ENFORCEMENTS)];
  if (name === "none") {
    if (config.enforceNodeAllocatable.length === 1) return [];
    const why = `may not contain additional enforcements when ${quoted("none")} is specified`;
    return [forbiddenField(path, why, "keep either none or the others")];
  }
  const problems: ConfigProblem[] = [];
  for (const { owner, field } of RESERVED_CGROUPS) {
    if (!name.startsWith(owner) || config[field] !== "") continue;
    const why = `must be specified when ${quoted(owner)} or ${quoted(`${owner}-compressible`)} included in ${FIELD}`;
    problems.push(requiredValue(field, why, `e.g. ${field}: /${owner}.slice`));
  }
  if (!config.cgroupsPerQOS) {
    const rule = `must be set to true when ${quoted(name)} contained in ${FIELD}`;
    const fix = `set cgroupsPerQOS: true, or ${FIELD}: [none]`;
    problems.push(invalidValue("cgroupsPerQOS", false, rule, fix));
  }
  return problems;
}

/** Rules about the time pods get when the node shuts down. */
export function validateShutdown(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const {
    shutdownGracePeriod: total,
    shutdownGracePeriodCriticalPods: critical,
    shutdownGracePeriodByPodPriority: byPriority,
  } = config;
  if (gates.isEnabled("GracefulNodeShutdown")) {
    if (critical > total) {
      const rule = `must be <= shutdownGracePeriod ${formatDuration(total)}`;
      problems.push(
        invalidValue("shutdownGracePeriodCriticalPods", formatDuration(critical), rule),
      );
    }
    for (const [path, period] of Object.entries({
      shutdownGracePeriod: total,
      shutdownGracePeriodCriticalPods: critical,
    })) {
      if (period === 0 || period >= MIN_SHUTDOWN_MS) continue;
      const rule = "must be either zero or otherwise >= 1 sec";
      problems.push(invalidValue(path, formatDuration(period), rule));
    }
  } else if (total > 0 || critical > 0) {
    const why =
      "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown";
    problems.push(
      forbiddenField("shutdownGracePeriod", why, "enable the gate, or remove the field"),
    );
  }
  if (byPriority.length === 0) return problems;
  const path = "shutdownGracePeriodByPodPriority";
  if (!gates.isEnabled("GracefulNodeShutdownBasedOnPodPriority")) {
    const why =
      "Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority";
    problems.push(forbiddenField(path, why, "enable the gate, or remove the field"));
  } else if (total > 0 || critical > 0) {
    const why =
      "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time";
    problems.push(forbiddenField(path, why, "keep one of them"));
  }
  return problems;
}
