// pure

import { formatDuration } from "../../api/text/duration.ts";
import { canonicalAddress, isIP, isIPv4, isUnspecified } from "../../api/text/ip.ts";
import { labelValueFaults, qualifiedNameFaults } from "../../api/text/names.ts";
import { type ConfigProblem, invalidValue, requiredValue, unsupportedValue } from "../problem.ts";
import { parseInspectorAddress } from "./inspector-address.ts";
import type { KubeletFlags } from "./kubelet-flags.ts";
import { DEFAULT_PAGE, parsePageAddress } from "./page-address.ts";

/** Labels of the kubernetes.io family that a node may give itself. */
const NODE_LABELS = [
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "kubernetes.io/arch",
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
];
/** Label prefixes of the kubernetes.io family that a node may use. */
const NODE_LABEL_PREFIXES = ["kubelet.kubernetes.io", "node.kubernetes.io"];

const MAX_ADDRESSES = 2;
const EVENT_MODES: readonly string[] = ["Protected", "Reference"];

/** Errors of the flags that are not configuration fields; empty when valid. */
export function validateFlags(flags: KubeletFlags): readonly ConfigProblem[] {
  return [
    ...validateLabels(flags),
    ...validateNodeIP(flags.nodeIP),
    ...validateTogether(flags),
    ...(["", "external"].includes(flags.cloudProvider)
      ? []
      : [unsupportedValue("--cloud-provider", flags.cloudProvider, ["", "external"])]),
    ...(EVENT_MODES.includes(flags.eventMode)
      ? []
      : [unsupportedValue("--event-mode", flags.eventMode, EVENT_MODES)]),
    ...(flags.fineProbeRate >= 1
      ? []
      : [invalidValue("--fine-probe-rate", flags.fineProbeRate, "must be at least 1")]),
    ...validateAllocateTimeout(flags.deviceAllocateTimeout),
    ...validateInspector(flags.inspect),
    ...validatePage(flags.page),
  ];
}

const DAY_MS = 86_400_000;

function validateAllocateTimeout(timeoutMs: number): readonly ConfigProblem[] {
  if (timeoutMs >= 0 && timeoutMs <= DAY_MS) return [];
  const fix = "write --device-allocate-timeout=30s, or 0s to wait for ever";
  return [
    invalidValue("--device-allocate-timeout", formatDuration(timeoutMs), "must be 0s to 24h", fix),
  ];
}

/** The inspector has no authentication, so only loopback addresses are allowed. */
function validateInspector(inspect: string): readonly ConfigProblem[] {
  if (inspect === "" || parseInspectorAddress(inspect) !== undefined) return [];
  const fix = "write --inspect=127.0.0.1:9229; from elsewhere use ssh -L 9229:127.0.0.1:9229";
  return [invalidValue("--inspect", inspect, "must be a port or host:port on loopback", fix)];
}

function validatePage(page: string): readonly ConfigProblem[] {
  if (page === "" || parsePageAddress(page) !== undefined) return [];
  const fix = `write --page=${DEFAULT_PAGE}, or --page=false for none`;
  return [invalidValue("--page", page, "must be a port or address:port", fix)];
}

function validateLabels({ nodeLabels }: KubeletFlags): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const [key, value] of Object.entries(nodeLabels)) {
    const path = `--node-labels[${key}]`;
    if (isReservedLabel(key)) {
      const rule = `unknown 'kubernetes.io' or 'k8s.io' label; it must begin with an allowed prefix (${NODE_LABEL_PREFIXES.join(", ")}) or be in the specifically allowed set (${NODE_LABELS.join(", ")})`;
      problems.push(
        invalidValue(path, key, rule, "use a prefix of your own, e.g. example.com/role"),
      );
    }
    for (const fault of qualifiedNameFaults(key)) problems.push(invalidValue(path, key, fault));
    for (const fault of labelValueFaults(value)) problems.push(invalidValue(path, value, fault));
  }
  return problems;
}

function isReservedLabel(key: string): boolean {
  const prefix = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  const within = (domain: string) => prefix === domain || prefix.endsWith(`.${domain}`);
  if (!within("kubernetes.io") && !within("k8s.io")) return false;
  return !NODE_LABELS.includes(key) && !NODE_LABEL_PREFIXES.some(within);
}

function validateNodeIP(nodeIP: string): readonly ConfigProblem[] {
  if (nodeIP === "") return [];
  const addresses = nodeIP.split(",").map((address) => address.trim());
  const problems = addresses
    .filter((address) => !isIP(address))
    .map((address) => invalidValue("--node-ip", address, "must be a valid IP address"));
  if (problems.length > 0) return problems;
  const families = new Set(addresses.map(isIPv4));
  if (addresses.length > MAX_ADDRESSES || families.size !== addresses.length) {
    const rule = "must contain either a single IP or a dual-stack pair of IPs";
    return [invalidValue("--node-ip", nodeIP, rule, "give one IPv4 and one IPv6 address at most")];
  }
  if (addresses.length === 1 || !addresses.map(canonicalAddress).some(isUnspecified)) return [];
  const rule = "dual-stack node IP cannot include '0.0.0.0' or '::'";
  return [invalidValue("--node-ip", nodeIP, rule, "give the node's own address of each family")];
}

function validateTogether(flags: KubeletFlags): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { imageCredentialProviderConfig: file, imageCredentialProviderBinDir: folder } = flags;
  if ((file === "") !== (folder === "")) {
    const missing = file === "" ? "config" : "bin-dir";
    const why =
      "--image-credential-provider-config and --image-credential-provider-bin-dir must be set together";
    problems.push(requiredValue(`--image-credential-provider-${missing}`, why));
  }
  if (flags.exitOnLockContention && flags.lockFile === "") {
    const why = "cannot exit on lock file contention: no lock file specified";
    problems.push(requiredValue("--lock-file", why));
  }
  if (flags.bootstrapKubeconfig !== "" && flags.kubeconfig === "") {
    const why = "the kubeconfig made by bootstrapping needs a place";
    problems.push(
      requiredValue("--kubeconfig", why, "e.g. --kubeconfig=/etc/kubernetes/kubelet.conf"),
    );
  }
  return problems;
}

/** Unspecified, loopback, multicast and link-local addresses (kubelet_node_status.go validateNodeIP). */
const NO_NODE: readonly (readonly [RegExp, string])[] = [
  [/^0\.0\.0\.0$|^::$/, "nodeIP can't be all zeros address"],
  [/^127\.|^::1$/, "nodeIP can't be loopback address"],
  [/^(22[4-9]|23\d)\.|^ff/, "nodeIP can't be a multicast address"],
  [/^169\.254\.|^fe[89ab]/, "nodeIP can't be a link-local unicast address"],
];

/**
 * Validates the addresses of `--node-ip` on a machine that has `found`: clients of the node would reach
 * another machine (CVE-2022-3294). An unspecified address only says which family is preferred.
 */
export function validateNodeAddresses(
  given: readonly string[],
  found: readonly string[],
): readonly ConfigProblem[] {
  return given.flatMap((address) => {
    const fault = isUnspecified(address) ? undefined : nodeAddressFault(address, found);
    if (fault === undefined) return [];
    const fix = `the machine has ${found.join(", ") || "none"}`;
    return [invalidValue("--node-ip", address, fault, fault.startsWith("node IP") ? fix : "")];
  });
}

/** Why an address cannot be that of a node whose machine has `found`; undefined when it can. Both canonical. */
export function nodeAddressFault(address: string, found: readonly string[]): string | undefined {
  const why = NO_NODE.find(([pattern]) => pattern.test(address))?.[1];
  if (why !== undefined || found.includes(address)) return why;
  return `node IP: "${address}" not found in the host's network interfaces`;
}
