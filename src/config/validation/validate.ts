// pure
import type { FeatureGates } from "../gates/feature-gates.ts";
import type { KubeletConfig } from "../kubelet-config.ts";
import { type ConfigProblem, forbiddenField, unsupportedValue } from "../problem.ts";
import { RELEASES, type Release } from "../release.ts";
import { validateAllocatable, validateShutdown } from "./validate-allocatable.ts";
import { validateEviction } from "./validate-eviction.ts";
import { validateManagers } from "./validate-managers.ts";
import { validateNode } from "./validate-node.ts";
import { validatePods } from "./validate-pods.ts";
import { validateRanges } from "./validate-ranges.ts";
import { validateServing } from "./validate-serving.ts";

/**
 * Everything that is wrong with a complete configuration; empty when it can be used. Each problem names
 * its field, says what Kubernetes says, and what to do. Facts of the machine: `validateOnHost`.
 */
export function validateConfig(
  config: KubeletConfig,
  gates: FeatureGates,
): readonly ConfigProblem[] {
  return [
    ...validateCompat(config),
    ...validateRanges(config),
    ...validateServing(config, gates),
    ...validatePods(config, gates),
    ...validateNode(config, gates),
    ...validateManagers(config, gates),
    ...validateAllocatable(config),
    ...validateEviction(config),
    ...validateShutdown(config, gates),
  ];
}

function validateCompat({ compat }: KubeletConfig): readonly ConfigProblem[] {
  return compat === undefined || RELEASES.includes(compat as Release)
    ? []
    : [unsupportedValue("compat", compat, RELEASES)];
}

/** Facts about the machine for validation. */
interface HostForValidation {
  readonly cgroupVersion: 1 | 2;
  /** Bytes of swap that are on. */
  readonly swapBytes: number;
}

/** Rules that depend on the machine; the agent must not start while one is broken. */
export function validateOnHost(
  config: KubeletConfig,
  host: HostForValidation,
): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (host.cgroupVersion === 1) {
    if (config.failCgroupV1) {
      const why =
        "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release";
      const fix = "boot the machine with cgroup v2, or set failCgroupV1: false";
      problems.push(forbiddenField("failCgroupV1", why, fix));
    }
    if (config.singleProcessOOMKill === false) {
      const why = "must not be explicitly set to false when using cgroup v1";
      problems.push(forbiddenField("singleProcessOOMKill", why, "remove it"));
    }
  }
  if (config.failSwapOn && host.swapBytes > 0) {
    const why =
      "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false";
    problems.push(forbiddenField("failSwapOn", why, "run swapoff -a, or set failSwapOn: false"));
  }
  return problems;
}
