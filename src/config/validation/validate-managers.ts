// pure
import { quoted } from "../../api/text/go-quote.ts";
import { didYouMean } from "../../api/text/nearest.ts";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isZeroQuantity,
  type Quantity,
  quantityFromBytes,
  readQuantity,
} from "../../api/text/quantity.ts";
import { deriveEvictionHard } from "../derive.ts";
import { parseBool, parseDecimal } from "../flags/go-numbers.ts";
import type { FeatureGates } from "../gates/feature-gates.ts";
import type { KubeletConfig } from "../kubelet-config.ts";
import {
  type ConfigProblem,
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../problem.ts";

const CPU_POLICIES = ["none", "static"];
const MEMORY_POLICIES = ["None", "Static"];
const TOPOLOGY_POLICIES = ["none", "best-effort", "restricted", "single-numa-node"];
const TOPOLOGY_SCOPES = ["container", "pod"];
const TOPOLOGY_OPTIONS = ["prefer-closest-numa-nodes", "max-allowable-numa-nodes"];
/** The topology manager takes no less for `max-allowable-numa-nodes`. */
const MIN_NUMA_NODES = 8;

/** Options of the static CPU policy, with the gate of those that are not stable. */
const CPU_OPTIONS: Readonly<Record<string, string>> = {
  "full-pcpus-only": "",
  "distribute-cpus-across-numa": "CPUManagerPolicyBetaOptions",
  "distribute-cpus-across-cores": "CPUManagerPolicyAlphaOptions",
  "align-by-socket": "CPUManagerPolicyAlphaOptions",
  "strict-cpu-reservation": "",
  "prefer-align-cpus-by-uncorecache": "",
};

/** Options of the static CPU policy that exclude one another. */
const CPU_CONFLICTS = [
  ["full-pcpus-only", "distribute-cpus-across-cores"],
  ["distribute-cpus-across-numa", "distribute-cpus-across-cores"],
  ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"],
  ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"],
] as const;

/**
 * Rules about the managers of CPUs, memory and topology. The Go kubelet finds most of them when it creates these
 * managers. Source: pkg/kubelet/cm/cpumanager, memorymanager and topologymanager of Kubernetes 1.37.
 */
export function validateManagers(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const choices = [
    ["cpuManagerPolicy", config.cpuManagerPolicy, CPU_POLICIES],
    ["memoryManagerPolicy", config.memoryManagerPolicy, MEMORY_POLICIES],
    ["topologyManagerPolicy", config.topologyManagerPolicy, TOPOLOGY_POLICIES],
    ["topologyManagerScope", config.topologyManagerScope, TOPOLOGY_SCOPES],
  ] as const;
  return [
    ...choices.flatMap(([path, value, supported]) =>
      supported.includes(value) ? [] : [unsupportedValue(path, value, supported)],
    ),
    ...cpuProblems(config, gates),
    ...memoryProblems(config),
    ...topologyProblems(config),
  ];
}

function cpuProblems(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const { cpuManagerPolicy: policy, cpuManagerPolicyOptions: options } = config;
  const path = "cpuManagerPolicyOptions";
  if (policy === "none" && Object.keys(options).length > 0) {
    const why = "None policy: received unsupported options";
    return [forbiddenField(path, why, "set cpuManagerPolicy: static, or remove the options")];
  }
  if (policy !== "static") return [];
  const problems = reservedCpuProblems(config);
  const chosen = new Set<string>();
  const enabled: Readonly<Record<string, boolean>> = {
    CPUManagerPolicyAlphaOptions: gates.isEnabled("CPUManagerPolicyAlphaOptions"),
    CPUManagerPolicyBetaOptions: gates.isEnabled("CPUManagerPolicyBetaOptions"),
  };
  for (const [name, value] of Object.entries(options)) {
    const at = `${path}[${name}]`;
    const gate = Object.hasOwn(CPU_OPTIONS, name) ? (CPU_OPTIONS[name] ?? "") : undefined;
    if (gate === undefined) {
      problems.push(unknownOption(at, name, Object.keys(CPU_OPTIONS)));
      continue;
    }
    if (gate !== "" && !enabled[gate]) {
      problems.push(forbiddenField(at, `requires feature gate ${gate}`, "enable the gate"));
    }
    const parsed = parseBool(value);
    if (!parsed.ok) problems.push(invalidValue(at, value, parsed.error, "write true or false"));
    else if (parsed.value) chosen.add(name);
  }
  for (const [one, other] of CPU_CONFLICTS) {
    if (!chosen.has(one) || !chosen.has(other)) continue;
    const why = `static policy options ${one} and ${other} can not be used at the same time`;
    problems.push(forbiddenField(path, why, "keep one of them"));
  }
  if (chosen.has("align-by-socket") && config.topologyManagerPolicy === "single-numa-node") {
    const why = "align-by-socket is incompatible with topologyManagerPolicy single-numa-node";
    problems.push(forbiddenField(path, why, "keep one of them"));
  }
  return problems;
}

/** Without a reservation the CPUs that all pods share could all be given away. */
function reservedCpuProblems(config: KubeletConfig): ConfigProblem[] {
  if (config.reservedSystemCPUs !== "") return [];
  const reserved = [config.systemReserved["cpu"], config.kubeReserved["cpu"]].some((text) => {
    const reading = readQuantity(text ?? "0");
    // What cannot be read is reported where it stands.
    return reading.kind === "fault" || !isZeroQuantity(reading.quantity);
  });
  if (reserved) return [];
  const why =
    "the static policy requires systemReserved.cpu + kubeReserved.cpu to be greater than zero";
  return [requiredValue("kubeReserved[cpu]", why, "e.g. kubeReserved: {cpu: 500m}")];
}

/**
 * What is reserved on the NUMA nodes has to add up to what is kept from pods. A threshold of eviction in percent
 * depends on the machine: then nothing is said here.
 */
function memoryProblems(config: KubeletConfig): ConfigProblem[] {
  if (config.memoryManagerPolicy !== "Static") return [];
  const threshold = deriveEvictionHard(config)["memory.available"] ?? "0";
  if (threshold.endsWith("%")) return [];
  const kept = sum([config.systemReserved["memory"], config.kubeReserved["memory"], threshold]);
  const types = new Set(["memory", ...config.reservedMemory.flatMap((e) => Object.keys(e.limits))]);
  return [...types].flatMap((type) => {
    const reserved = sum(config.reservedMemory.map(({ limits }) => limits[type]));
    const expected = type === "memory" ? kept : sum([]);
    if (compareQuantities(reserved, expected) === 0) return [];
    const why = `the total amount ${quoted(formatQuantity(reserved))} of type ${quoted(type)} is not equal to the value ${quoted(formatQuantity(expected))} determined by Node Allocatable feature`;
    const fix = "it is the sum of systemReserved, kubeReserved and evictionHard[memory.available]";
    return [forbiddenField("reservedMemory", why, fix)];
  });
}

/** What cannot be read counts as nothing: it is reported where it stands. */
function sum(texts: readonly (string | undefined)[]): Quantity {
  return texts.reduce((total: Quantity, text) => {
    const reading = readQuantity(text ?? "0");
    return reading.kind === "quantity" ? addQuantities(total, reading.quantity) : total;
  }, quantityFromBytes(0));
}

function topologyProblems(config: KubeletConfig): ConfigProblem[] {
  if (config.topologyManagerPolicy === "none") return [];
  const problems: ConfigProblem[] = [];
  for (const [name, value] of Object.entries(config.topologyManagerPolicyOptions)) {
    const at = `topologyManagerPolicyOptions[${name}]`;
    if (!TOPOLOGY_OPTIONS.includes(name)) {
      problems.push(unknownOption(at, name, TOPOLOGY_OPTIONS));
    } else if (name === "max-allowable-numa-nodes") {
      const parsed = parseDecimal(value);
      if (!parsed.ok) problems.push(invalidValue(at, value, parsed.error));
      else if (parsed.value < MIN_NUMA_NODES) {
        problems.push(invalidValue(at, value, `must not be less than ${MIN_NUMA_NODES}`));
      }
    } else {
      const parsed = parseBool(value);
      if (!parsed.ok) problems.push(invalidValue(at, value, parsed.error, "write true or false"));
    }
  }
  return problems;
}

function unknownOption(path: string, name: string, known: readonly string[]): ConfigProblem {
  const fix = didYouMean(name, known) || `the options are ${known.join(", ")}`;
  return invalidValue(path, name, `unknown option ${quoted(name)}`, fix);
}
