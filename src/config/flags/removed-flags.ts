// pure

import type { FieldPath } from "../fields/fields.ts";
import { type FlagSpec, type FlagTarget, type FlagType, forField } from "./flag-types.ts";

function removed(name: string, type: FlagType, target: FlagTarget): FlagSpec {
  const about = target.kind === "refused" ? target.instead : "No longer does anything.";
  const deprecated = target.kind === "ignored" ? target.why : "it was removed from Kubernetes";
  return { name, type, target, group: "Deprecated", about, deprecated };
}

function ignored(why: string, type: FlagType, names: string): readonly FlagSpec[] {
  return names
    .trim()
    .split(/\s+/)
    .map((name) => removed(name, type, { kind: "ignored", why }));
}

function alias(name: string, path: FieldPath, type?: FlagType): FlagSpec {
  return { ...forField(name, path, type), group: "Deprecated" };
}

const DOCKER = "it was for Docker, which Kubernetes no longer supports as a runtime";
const NETWORK = "the container runtime sets up the network";
const LOG = "log lines go to stderr, as one stream";
const CADVISOR = "it was a setting of cAdvisor that reached the kubelet by mistake";
const TESTING = "it was for tests of the kubelet";
const GONE = "it has no effect since its removal from Kubernetes";

const REMOVED_IN_1_37 = `
  application-metrics-count-limit boot-id-file container-hints containerd containerd-namespace
  event-storage-age-limit event-storage-event-limit global-housekeeping-interval machine-id-file
  storage-driver-user storage-driver-password storage-driver-host storage-driver-db
  storage-driver-table storage-driver-buffer-duration`;
const SWITCHES_REMOVED_IN_1_37 = "enable-load-reader log-cadvisor-usage storage-driver-secure";

/** Whether a flag, by its name without dashes, is one that 1.36 has and the Go kubelet 1.37 does not start with. */
export function isRemovedIn137(flag: string): boolean {
  return `${REMOVED_IN_1_37} ${SWITCHES_REMOVED_IN_1_37}`.split(/\s+/).includes(flag);
}

/**
 * Flags that Kubernetes had between 1.20 and 1.37 and has no more (docs/adr/0019-removed-flags.md). A unit
 * file that still carries one must keep working where ignoring it is harmless, and must not start where the node would then be
 * something else than asked for.
 */
export const REMOVED_FLAGS: readonly FlagSpec[] = [
  ...ignored(DOCKER, "string", "docker docker-endpoint docker-env-metadata-whitelist docker-root"),
  ...ignored(DOCKER, "string", "docker-tls-ca docker-tls-cert docker-tls-key"),
  ...ignored(
    DOCKER,
    "string",
    "experimental-dockershim-root-directory image-pull-progress-deadline",
  ),
  ...ignored(DOCKER, "bool", "docker-only docker-tls experimental-dockershim"),
  ...ignored(NETWORK, "string", "cni-bin-dir cni-cache-dir cni-conf-dir network-plugin-mtu"),
  ...ignored(NETWORK, "string", "non-masquerade-cidr"),
  ...ignored(
    LOG,
    "bool",
    "add-dir-header alsologtostderr logtostderr one-output skip-headers skip-log-headers",
  ),
  ...ignored(LOG, "bool", "experimental-logging-sanitization logging-sanitization"),
  ...ignored(LOG, "string", "log-backtrace-at log-dir log-file log-file-max-size stderrthreshold"),
  ...ignored(CADVISOR, "string", REMOVED_IN_1_37),
  ...ignored(CADVISOR, "bool", SWITCHES_REMOVED_IN_1_37),
  ...ignored(CADVISOR, "string", "cadvisor-port"),
  ...ignored(CADVISOR, "bool", "enable-cadvisor-json-endpoints"),
  ...ignored(TESTING, "string", "chaos-chance"),
  ...ignored(TESTING, "bool", "really-crash-for-testing"),
  ...ignored(
    GONE,
    "bool",
    `allow-privileged experimental-check-node-capabilities-before-mount keep-terminated-pod-volumes
     redirect-container-streaming`,
  ),
  ...ignored(GONE, "string", "azure-container-registry-config bootstrap-checkpoint-path"),
  ...ignored(GONE, "string", "master-service-namespace"),
  removed("pod-infra-container-image", "string", {
    kind: "ignored",
    why: "the container runtime pins its own sandbox image; set it there",
  }),
  removed("cloud-config", "string", {
    kind: "ignored",
    why: "cloud providers run outside the kubelet",
  }),
  removed("container-runtime", "string", {
    kind: "refused",
    instead: "point --container-runtime-endpoint to containerd or another CRI runtime",
    accepts: ["remote"],
  }),
  removed("network-plugin", "string", {
    kind: "refused",
    instead: "set up a CNI network in the container runtime",
    accepts: ["", "cni"],
  }),
  removed("dynamic-config-dir", "string", {
    kind: "refused",
    instead: "use --config and --config-dir",
    accepts: [""],
  }),
  removed("seccomp-profile-root", "string", {
    kind: "refused",
    instead: "put the profiles into <root-dir>/seccomp, by default /var/lib/kubelet/seccomp",
    accepts: ["", "/var/lib/kubelet/seccomp"],
  }),
  removed("api-servers", "strings", { kind: "refused", instead: "use --kubeconfig" }),
  removed("auth-path", "string", { kind: "refused", instead: "use --kubeconfig" }),
  removed("require-kubeconfig", "bool", {
    kind: "ignored",
    why: "a file named by --kubeconfig must always exist",
  }),
  removed("windows-service", "bool", {
    kind: "refused",
    instead: "nodelet runs on Linux only",
    accepts: ["false"],
  }),
  removed("windows-priorityclass", "string", {
    kind: "refused",
    instead: "nodelet runs on Linux only",
  }),
  {
    name: "experimental-bootstrap-kubeconfig",
    type: "string",
    target: { kind: "flag", key: "bootstrapKubeconfig" },
    group: "Deprecated",
    about: "The old name of --bootstrap-kubeconfig.",
    deprecated: "use --bootstrap-kubeconfig instead",
  },
  alias("experimental-qos-reserved", "qosReserved"),
  alias("experimental-fail-swap-on", "failSwapOn"),
  alias("experimental-kernel-memcg-notification", "kernelMemcgNotification"),
  alias("experimental-allowed-unsafe-sysctls", "allowedUnsafeSysctls"),
  alias("experimental-cgroups-per-qos", "cgroupsPerQOS"),
  alias("iptables-masquerade-bit", "iptablesMasqueradeBit"),
  alias("iptables-drop-bit", "iptablesDropBit"),
];
