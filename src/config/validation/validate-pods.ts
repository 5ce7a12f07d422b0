// pure

import { formatDuration } from "../../api/text/duration.ts";
import { quoted } from "../../api/text/go-quote.ts";
import { parseImageReference } from "../../api/text/image-reference.ts";
import {
  compareQuantities,
  type Quantity,
  quantityFromCount,
  quantityValue,
  readQuantity,
} from "../../api/text/quantity.ts";
import { dottedSysctl } from "../../api/validation/security.ts";
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

const HAIRPIN_MODES = ["none", "hairpin-veth", "promiscuous-bridge"];
const DETECTION_STRATEGIES = ["Get", "Cache", "Watch"];
const PULL_POLICIES = [
  "NeverVerify",
  "NeverVerifyPreloadedImages",
  "NeverVerifyAllowlistedImages",
  "AlwaysVerify",
];
const ALLOWLIST_POLICY = "NeverVerifyAllowlistedImages";
const IDS_PER_POD = 65_536;
const MAX_IDS = 2 ** 32;
const MIN_RESTART_MS = 1_000;
const MAX_RESTART_MS = 300_000;
const MIN_MONITOR_MS = 3_000;

/** Rules about sources, runtime, images, logs and the inside of pods. */
export function validatePods(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  return [
    ...validateRuntime(config, gates),
    ...validateImages(config),
    ...validatePullCredentials(config, gates),
    ...validateContainerLogs(config),
    ...validateInside(config),
    ...validateSysctls(config),
    ...validateDefaultSysctls(config, gates),
  ];
}

function validateRuntime(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (config.containerRuntimeEndpoint === "") {
    problems.push(
      requiredValue(
        "containerRuntimeEndpoint",
        "the containerRuntimeEndpoint was not specified or empty",
        "the usual one is unix:///run/containerd/containerd.sock",
      ),
    );
  }
  for (const path of ["containerRuntimeEndpoint", "imageServiceEndpoint"] as const) {
    const scheme = /^([a-z][a-z0-9+.-]*):/.exec(config[path])?.[1];
    if (scheme === undefined || scheme === "unix") continue;
    const rule = `protocol ${quoted(scheme)} not supported`;
    problems.push(invalidValue(path, config[path], rule, "use unix:///path/to/runtime.sock"));
  }
  if (config.runOnce) {
    const why = "Runonce mode has been deprecated and should not be set";
    problems.push(forbiddenField("runOnce", why, "remove it"));
  }
  if (config.syncFrequency <= 0) {
    const written = formatDuration(config.syncFrequency);
    problems.push(invalidValue("syncFrequency", written, "must be greater than zero"));
  }
  const period = config.crashLoopBackOff.maxContainerRestartPeriod;
  const path = "crashLoopBackOff.maxContainerRestartPeriod";
  if (gates.isEnabled("KubeletCrashLoopBackOffMax")) {
    if (period !== undefined && !isRestartPeriod(period)) {
      problems.push(invalidValue(path, formatDuration(period), "must be set between 1s and 300s"));
    }
  } else if (period !== undefined) {
    const why = "FeatureGate KubeletCrashLoopBackOffMax not enabled, must not be set";
    problems.push(forbiddenField(path, why, "enable the gate, or remove the field"));
  }
  if (!HAIRPIN_MODES.includes(config.hairpinMode)) {
    problems.push(unsupportedValue("hairpinMode", config.hairpinMode, HAIRPIN_MODES));
  }
  const strategy = config.configMapAndSecretChangeDetectionStrategy;
  if (!DETECTION_STRATEGIES.includes(strategy)) {
    const field = "configMapAndSecretChangeDetectionStrategy";
    problems.push(unsupportedValue(field, strategy, DETECTION_STRATEGIES));
  }
  return problems;
}

/** The Go kubelet compares whole milliseconds. */
function isRestartPeriod(period: number): boolean {
  return period >= MIN_RESTART_MS && Math.trunc(period) <= MAX_RESTART_MS;
}

function validateImages(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { imageGCLowThresholdPercent: low, imageGCHighThresholdPercent: high } = config;
  if (low >= high) {
    const rule = `must be less than imageGCHighThresholdPercent ${high}`;
    problems.push(invalidValue("imageGCLowThresholdPercent", low, rule));
  }
  const { imageMinimumGCAge: youngest, imageMaximumGCAge: oldest } = config;
  for (const [path, age] of Object.entries({
    imageMinimumGCAge: youngest,
    imageMaximumGCAge: oldest,
  })) {
    if (age < 0) problems.push(invalidValue(path, formatDuration(age), "must not be negative"));
  }
  if (oldest > 0 && oldest <= youngest) {
    const rule = `must be greater than imageMinimumGCAge ${formatDuration(youngest)}`;
    problems.push(invalidValue("imageMaximumGCAge", formatDuration(oldest), rule));
  }
  const parallel = config.maxParallelImagePulls;
  if (parallel !== undefined && parallel < 1) {
    problems.push(invalidValue("maxParallelImagePulls", parallel, "must be a positive number"));
  }
  if (config.serializeImagePulls && parallel !== undefined && parallel > 1) {
    const rule = "cannot be larger than 1 unless serializeImagePulls is set to false";
    const fix = "set serializeImagePulls: false in the same place";
    problems.push(invalidValue("maxParallelImagePulls", parallel, rule, fix));
  }
  return problems;
}

function validatePullCredentials(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const policyPath = "imagePullCredentialsVerificationPolicy";
  const listPath = "preloadedImagesVerificationAllowlist";
  const policy = config.imagePullCredentialsVerificationPolicy ?? "";
  const allowlist = config.preloadedImagesVerificationAllowlist;
  if (!gates.isEnabled("KubeletEnsureSecretPulledImages")) {
    const why = "must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled";
    return [
      ...(policy === "" ? [] : [forbiddenField(policyPath, why)]),
      ...(allowlist.length === 0 ? [] : [forbiddenField(listPath, why)]),
    ];
  }
  const problems: ConfigProblem[] = [];
  if (!PULL_POLICIES.includes(policy)) {
    problems.push(unsupportedValue(policyPath, policy, PULL_POLICIES));
  }
  if (allowlist.length > 0 && policy !== ALLOWLIST_POLICY) {
    const why = `can't be set if ${policyPath} is not ${quoted(ALLOWLIST_POLICY)}`;
    problems.push(forbiddenField(listPath, why, `set ${policyPath}: ${ALLOWLIST_POLICY}`));
  }
  allowlist.forEach((pattern, i) => {
    const fault = imagePatternFault(pattern);
    if (fault !== "") problems.push(invalidValue(`${listPath}[${i}]`, pattern, fault));
  });
  return problems;
}

/** Errors of an image pattern of the allowlist: `registry/path`, the last segment may be `*`. */
function imagePatternFault(pattern: string): string {
  if (pattern === "") return "image pattern must not be empty";
  if (pattern.trim() !== pattern) return "image pattern must not start or end with white space";
  const isWildcard = pattern.endsWith("/*");
  const image = isWildcard ? pattern.slice(0, -2) : pattern;
  if (image === "" || image.includes("*")) {
    return "a wildcard is only allowed as the whole last segment, after a registry: registry/path/*";
  }
  if (isWildcard) return "";
  if (image.includes("@")) return "image pattern must not have a digest";
  if ((image.split("/").at(-1) ?? "").includes(":")) return "image pattern must not have a tag";
  return parseImageReference(image) === undefined ? "image pattern is not an image name" : "";
}

function validateContainerLogs(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const size = readQuantity(config.containerLogMaxSize);
  if (size.kind === "fault") {
    problems.push(invalidValue("containerLogMaxSize", config.containerLogMaxSize, size.message));
  } else if (!isWhole(size.quantity)) {
    const rule = "must be a whole number of bytes that fits into 64 bits";
    problems.push(invalidValue("containerLogMaxSize", config.containerLogMaxSize, rule));
  }
  if (config.containerLogMonitorInterval < MIN_MONITOR_MS) {
    const rule = "must be a positive time duration greater than or equal to 3s";
    const written = formatDuration(config.containerLogMonitorInterval);
    problems.push(invalidValue("containerLogMonitorInterval", written, rule));
  }
  const { podLogsDir } = config;
  if (!podLogsDir.startsWith("/")) {
    problems.push(invalidValue("podLogsDir", podLogsDir, "must be absolute path"));
  }
  if (!isCleanPath(podLogsDir)) {
    const fix = "write it without //, /./, /../ and without a slash at the end";
    problems.push(invalidValue("podLogsDir", podLogsDir, "must be normalized", fix));
  }
  if (!isAscii(podLogsDir)) {
    problems.push(invalidValue("podLogsDir", podLogsDir, "must contain ASCII characters only"));
  }
  return problems;
}

function isWhole(quantity: Quantity): boolean {
  const value = quantityValue(quantity);
  const isExact = compareQuantities(quantityFromCount(value), quantity) === 0;
  return isExact && value >= -(2n ** 63n) && value < 2n ** 63n;
}

function isAscii(text: string): boolean {
  for (const character of text) if ((character.codePointAt(0) ?? 0) > 127) return false;
  return true;
}

function isCleanPath(path: string): boolean {
  if (path === "/") return true;
  const parts = path.split("/").slice(path.startsWith("/") ? 1 : 0);
  return parts.every((part) => part !== "" && part !== "." && part !== "..");
}

function validateInside(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { idsPerPod } = config.userNamespaces;
  if (idsPerPod <= 0 || idsPerPod % IDS_PER_POD !== 0) {
    const rule = `must be a positive multiple of ${IDS_PER_POD}`;
    problems.push(invalidValue("userNamespaces.idsPerPod", idsPerPod, rule));
  } else if (idsPerPod >= MAX_IDS) {
    problems.push(
      invalidValue("userNamespaces.idsPerPod", idsPerPod, `must be less than ${MAX_IDS}`),
    );
  }
  return problems;
}

/** Settings of a pod's own IPC namespace. Source: component-helpers/node/util/sysctl of Kubernetes 1.37. */
const IPC_SYSCTLS = [
  ...["kernel.sem", "kernel.shm", "kernel.shmall", "kernel.shmmax", "kernel.shmmni"],
  ...["kernel.shm_rmid_forced", "kernel.msg", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni"],
];
/** Names of any namespace that a pod has. */
const SYSCTL_NAMES = [...IPC_SYSCTLS, "kernel.domainname"];
const SYSCTL_PREFIXES = ["net.", "fs.mqueue.", "user."];
const SYSCTL =
  /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9]([-_a-z0-9]*[a-z0-9])?|\*|[a-z0-9][-_a-z0-9]*\*)$/;
const MAX_SYSCTL = 253;

const SYSCTL_NAME = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

const isNamespaced = (dotted: string): boolean =>
  SYSCTL_NAMES.includes(dotted) || SYSCTL_PREFIXES.some((prefix) => dotted.startsWith(prefix));

function validateDefaultSysctls(config: KubeletConfig, gates: FeatureGates): ConfigProblem[] {
  const names = Object.keys(config.defaultPodSysctls);
  if (names.length === 0) return [];
  const field = "defaultPodSysctls";
  if (!gates.isEnabled("DefaultPodSysctls")) {
    const why = `DefaultPodSysctls feature gate is required for Kubelet configuration option ${field}`;
    return [forbiddenField(field, why, "enable the gate, or remove it")];
  }
  const seen = new Set<string>();
  return names.flatMap((name): ConfigProblem[] => {
    const path = `${field}[${name}]`;
    if (name.length > MAX_SYSCTL || !SYSCTL_NAME.test(name))
      return [invalidValue(path, name, `is not a valid sysctl name for ${field}`)];
    const dotted = dottedSysctl(name);
    const isKnown = isNamespaced(dotted);
    const isAgain = seen.has(dotted);
    seen.add(dotted);
    return [
      ...(isKnown ? [] : [invalidValue(path, name, `is not known to be namespaced for ${field}`)]),
      ...(isAgain ? [duplicateValue(path, dotted, "remove one of the two spellings")] : []),
    ];
  });
}

function validateSysctls(config: KubeletConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  config.allowedUnsafeSysctls.forEach((pattern, i) => {
    const path = `allowedUnsafeSysctls[${i}]`;
    if (pattern.length > MAX_SYSCTL || !SYSCTL.test(pattern)) {
      problems.push(
        invalidValue(path, pattern, "is neither a sysctl name nor a prefix of one that ends in *"),
      );
      return;
    }
    // What stands before the first `*` has to be a name or to begin like one; kernel.shm and kernel.msg are no names.
    const [known = ""] = pattern.replaceAll("/", ".").split("*", 1);
    if (SYSCTL_NAMES.includes(known)) return;
    if (SYSCTL_PREFIXES.some((prefix) => known.startsWith(prefix))) return;
    const fix =
      "only kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.*, net.*, user.* and kernel.domainname belong to a pod";
    problems.push(invalidValue(path, pattern, "the sysctl is not known to be namespaced", fix));
  });
  return problems;
}
