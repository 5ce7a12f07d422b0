// pure

import { formatDuration } from "../../api/text/duration.ts";
import { quoted } from "../../api/text/go-quote.ts";
import { labelValueFaults, qualifiedNameFaults } from "../../api/text/names.ts";
import { didYouMean } from "../../api/text/nearest.ts";
import { isZeroQuantity, readQuantity } from "../../api/text/quantity.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import { parseCpuList } from "../cpu-list.ts";
import { parseDecimal } from "../flags/go-numbers.ts";
import type { FeatureGates } from "../gates/feature-gates.ts";
import type { KubeletConfig, TextMap } from "../kubelet-config.ts";
import {
  type ConfigProblem,
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../problem.ts";
import { releaseOf } from "../release.ts";

const RESERVABLE = ["cpu", "memory", "ephemeral-storage", "pid"];
const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const MEMORY_RESERVATION_POLICIES = ["None", "TieredReservation"];
const CGROUP_DRIVERS = ["cgroupfs", "systemd"];
const DEFAULT_CFS_PERIOD_MS = 100;
const MAX_CFS_PERIOD_MS = 1_000;

/** Rules about the node's resources and what is kept from pods. */
export function validateNode(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  return [
    ...validateCgroups(config, gates),
    ...validateTaints(config),
    ...reservations("systemReserved", config.systemReserved),
    ...reservations("kubeReserved", config.kubeReserved),
    ...validateQosReserved(config.qosReserved),
    ...validateReservedCpus(config),
    ...validateReservedMemory(config),
    ...validateMemory(config, gates),
  ];
}

function validateCgroups(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (!CGROUP_DRIVERS.includes(config.cgroupDriver)) {
    problems.push(unsupportedValue("cgroupDriver", config.cgroupDriver, CGROUP_DRIVERS));
  }
  if (config.systemCgroups !== "" && config.cgroupRoot === "") {
    const why = "systemCgroups was specified and cgroupRoot was not specified";
    problems.push(requiredValue("cgroupRoot", why, "set cgroupRoot: /"));
  }
  if (config.systemCgroups === "/") {
    const rule = "the system's cgroup cannot be the root";
    problems.push(invalidValue("systemCgroups", "/", rule, "name a cgroup below it, as /system"));
  }
  const period = config.cpuCFSQuotaPeriod;
  const written = formatDuration(period);
  if (!gates.isEnabled("CustomCPUCFSQuotaPeriod")) {
    if (period !== DEFAULT_CFS_PERIOD_MS) {
      const rule = "requires feature gate CustomCPUCFSQuotaPeriod";
      problems.push(
        invalidValue("cpuCFSQuotaPeriod", written, rule, "enable the gate, or set 100ms"),
      );
    }
  } else if (period < 1 || period > MAX_CFS_PERIOD_MS) {
    problems.push(
      invalidValue("cpuCFSQuotaPeriod", written, "must be between 1ms and 1sec, inclusive"),
    );
  }
  if (config.draManagerReconcilePeriod <= 0) {
    const value = formatDuration(config.draManagerReconcilePeriod);
    problems.push(invalidValue("draManagerReconcilePeriod", value, "must be greater than zero"));
  }
  return problems;
}

function validateTaints(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  config.registerWithTaints.forEach((taint, i) => {
    const path = `registerWithTaints[${i}]`;
    for (const fault of qualifiedNameFaults(taint.key)) {
      problems.push(invalidValue(`${path}.key`, taint.key, fault));
    }
    for (const fault of labelValueFaults(taint.value ?? "")) {
      problems.push(invalidValue(`${path}.value`, taint.value, fault));
    }
    if (taint.effect !== "" && !TAINT_EFFECTS.includes(taint.effect)) {
      problems.push(unsupportedValue(`${path}.effect`, taint.effect, TAINT_EFFECTS));
    }
    if (taint.timeAdded !== undefined) {
      const why = "taint.TimeAdded is not nil";
      problems.push(forbiddenField(`${path}.timeAdded`, why, "remove it"));
    }
  });
  return problems;
}

function reservations(field: string, map: TextMap): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const [name, value] of Object.entries(map)) {
    const path = `${field}[${name}]`;
    if (!RESERVABLE.includes(name)) {
      const fix = didYouMean(name, RESERVABLE) || `the resources are ${RESERVABLE.join(", ")}`;
      problems.push(invalidValue(path, name, `cannot reserve ${quoted(name)} resource`, fix));
    }
    const reading = readQuantity(value);
    if (reading.kind === "fault") problems.push(invalidValue(path, value, reading.message));
    else if (reading.quantity.mantissa < 0n) {
      const rule = `resource quantity for ${quoted(name)} cannot be negative: ${value}`;
      problems.push(invalidValue(path, value, rule));
    }
  }
  return problems;
}

function validateQosReserved(map: TextMap): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const [name, value] of Object.entries(map)) {
    const path = `qosReserved[${name}]`;
    if (name !== "memory") {
      const rule = `cannot reserve ${quoted(name)} resource`;
      problems.push(invalidValue(path, name, rule, "only memory can be reserved"));
    }
    const fault = readPercentage(value);
    if (typeof fault === "string") problems.push(invalidValue(path, value, fault));
  }
  return problems;
}

/** A share of 100 as `qosReserved` takes it, or why it is none. */
export function readPercentage(text: string): number | string {
  if (!text.endsWith("%")) return "percentage expected, such as 50%";
  const parsed = parseDecimal(text.replace(/%+$/, ""));
  if (!parsed.ok) return "percentage expected, such as 50%";
  return parsed.value >= 0 && parsed.value <= 100
    ? parsed.value
    : "percentage must be between 0 and 100";
}

function validateReservedCpus(config: KubeletConfig): ConfigProblem[] {
  const { reservedSystemCPUs } = config;
  if (reservedSystemCPUs === "") return [];
  const problems: ConfigProblem[] = [];
  if (config.systemReservedCgroup !== "" || config.kubeReservedCgroup !== "") {
    const why = "can't use reservedSystemCPUs with systemReservedCgroup or kubeReservedCgroup";
    problems.push(forbiddenField("reservedSystemCPUs", why, "remove one of them"));
  }
  const parsed = parseCpuList(reservedSystemCPUs);
  if (!parsed.ok) {
    const rule = `unable to parse reservedSystemCPUs: ${parsed.error}`;
    problems.push(invalidValue("reservedSystemCPUs", reservedSystemCPUs, rule, "e.g. 0-3,8"));
  }
  return problems;
}

function validateReservedMemory(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const seen = new Set<string>();
  config.reservedMemory.forEach(({ numaNode, limits }, i) => {
    const path = `reservedMemory[${i}]`;
    for (const [name, value] of Object.entries(limits)) {
      const at = `${path}.limits[${name}]`;
      if (name !== "memory" && !name.startsWith("hugepages-")) {
        const rule = `the limit type ${quoted(name)} for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`;
        problems.push(invalidValue(at, name, rule));
      }
      const reading = readQuantity(value);
      if (reading.kind === "quantity" && isZeroQuantity(reading.quantity)) {
        const rule = `reserved memory may not be zero for NUMA node ${numaNode} and resource ${quoted(name)}`;
        problems.push(invalidValue(at, value, rule));
      }
      const key = `${numaNode} ${name}`;
      if (seen.has(key)) {
        const rule = `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ${quoted(name)}`;
        problems.push(invalidValue(at, value, rule));
      }
      seen.add(key);
    }
  });
  return problems;
}

/** The default of 1.36, which files may still hold while the gate is off. */
const FORMER_THROTTLING_FACTOR = 0.9;

function validateThrottling(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const { memoryThrottlingFactor: factor } = config;
  if (factor === undefined) return [];
  const path = "memoryThrottlingFactor";
  const problems: ConfigProblem[] = [];
  const isNeedless = !gates.isEnabled("MemoryQoS") && factor !== FORMER_THROTTLING_FACTOR;
  if (isNeedless && releaseOf(config.compat) !== "1.36") {
    const why = `${path} must not be set when MemoryQoS feature gate is disabled`;
    problems.push(forbiddenField(path, why, "enable the gate, or remove it"));
  }
  if (factor <= 0 || factor > 1) {
    const rule = "must be greater than 0 and less than or equal to 1.0";
    problems.push(invalidValue(path, factor, rule));
  }
  return problems;
}

function validateMemory(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { swapBehavior } = config.memorySwap;
  if (!["", "NoSwap", "LimitedSwap"].includes(swapBehavior)) {
    const supported = ["", "LimitedSwap", "NoSwap"];
    problems.push(unsupportedValue("memorySwap.swapBehavior", swapBehavior, supported));
  }
  appendAll(problems, validateThrottling(config, gates));
  const policy = config.memoryReservationPolicy;
  if (!MEMORY_RESERVATION_POLICIES.includes(policy)) {
    problems.push(unsupportedValue("memoryReservationPolicy", policy, MEMORY_RESERVATION_POLICIES));
  } else if (policy !== "None" && !gates.isEnabled("MemoryQoS")) {
    const why = `memoryReservationPolicy ${quoted(policy)} requires MemoryQoS feature gate to be enabled`;
    problems.push(forbiddenField("memoryReservationPolicy", why, "enable the gate, or set None"));
  }
  return problems;
}
