// pure
import { type FlagSpec, forField, own } from "./flag-types.ts";
import { REMOVED_FLAGS } from "./removed-flags.ts";

const EVICT_INSTEAD = "use evictionHard or evictionSoft in the file given to --config instead";

const OWN_FLAGS: readonly FlagSpec[] = [
  own("config", "config", "string", {
    group: "Configuration",
    about: "File to read the configuration from. Flags override what it says.",
  }),
  own("config-dir", "configDir", "string", {
    group: "Configuration",
    about: "Folder whose *.conf files are merged over --config, in the order of their names.",
  }),
  own("kubeconfig", "kubeconfig", "string", {
    group: "Cluster and node",
    about: "Kubeconfig file for the API server. Without it the node runs static pods only.",
  }),
  own("bootstrap-kubeconfig", "bootstrapKubeconfig", "string", {
    group: "Cluster and node",
    about:
      "Kubeconfig file for requesting a client certificate if the file of --kubeconfig does not exist.",
  }),
  own("hostname-override", "hostnameOverride", "string", {
    group: "Cluster and node",
    about: "Name of the node instead of the host name.",
  }),
  own("node-ip", "nodeIP", "string", {
    group: "Cluster and node",
    about: "IP address of the node, or a comma-separated IPv4 and IPv6 pair. :: prefers IPv6.",
  }),
  own("node-labels", "nodeLabels", "labels", {
    group: "Cluster and node",
    about: "Labels to register the node with, as comma-separated key=value pairs.",
  }),
  own("cloud-provider", "cloudProvider", "string", {
    group: "Cluster and node",
    about: "external if a cloud controller manager initializes the node; empty without a cloud.",
  }),
  {
    ...forField("provider-id", "providerID"),
    group: "Cluster and node",
  },
  own("root-dir", "rootDir", "string", {
    group: "Files and folders",
    about: "Folder for volumes, plugins and state.",
  }),
  own("cert-dir", "certDir", "string", {
    group: "Files and folders",
    about: "Folder for certificates that the agent creates or requests.",
  }),
  own("image-credential-provider-config", "imageCredentialProviderConfig", "string", {
    group: "Files and folders",
    about: "Configuration of credential provider plugins for image pulls: a file or folder.",
  }),
  own("image-credential-provider-bin-dir", "imageCredentialProviderBinDir", "string", {
    group: "Files and folders",
    about: "Folder with the programs of credential provider plugins.",
  }),
  own("lock-file", "lockFile", "string", {
    group: "Files and folders",
    about: "File that is locked while the agent runs; it waits for the lock before it starts.",
  }),
  own("exit-on-lock-contention", "exitOnLockContention", "bool", {
    group: "Other",
    about:
      "Exit when another process waits for the lock on the file of --lock-file, or removes the file.",
  }),
  { ...forField("compat", "compat"), group: "Only in nodelet" },
  own("event-mode", "eventMode", "string", {
    group: "Only in nodelet",
    about:
      "Protected never drops events of a pod's lifecycle; Reference handles events exactly like the Go kubelet.",
  }),
  own("image-policy", "imagePolicy", "string", {
    group: "Only in nodelet",
    about: "File with rules for images to keep, and for the order in which others are removed.",
  }),
  own("runtime-cgroups", "runtimeCgroups", "string", {
    group: "Other",
    about: "Cgroup that holds the container runtime, for its usage in /stats/summary.",
  }),
  own("device-wait", "deviceWait", "duration", {
    group: "Only in nodelet",
    about:
      "How long a pod waits for a device plugin that is known but not connected. 0s rejects the pod at once, like the Go kubelet.",
  }),
  own("device-allocate-timeout", "deviceAllocateTimeout", "duration", {
    group: "Only in nodelet",
    about:
      "How long a device plugin may take to answer Allocate, at most 24h. 0s waits without limit, like the Go kubelet.",
  }),
  own("keep-init-devices", "keepInitDevices", "bool", {
    group: "Only in nodelet",
    about:
      "Keep devices that only init containers used allocated until the pod ends, like the Go kubelet.",
  }),
  own("keep-probe-leftovers", "keepProbeLeftovers", "bool", {
    group: "Only in nodelet",
    about: "Keep processes that exec probes leave behind when they time out, like the Go kubelet.",
  }),
  own("fine-probe-rate", "fineProbeRate", "int32", {
    group: "Only in nodelet",
    about:
      "Maximum probe attempts per second on this node for all probes with periods below a second.",
  }),
  own("inspect", "inspect", "inspector", {
    group: "Only in nodelet",
    about:
      "Open Node's inspector for debuggers, on loopback only. Anyone who can reach it can do what the agent can.",
  }),
  own("page", "page", "page", {
    group: "Only in nodelet",
    about:
      "Serve the page of the node for browsers, on loopback unless an address is given; `nodelet page` prints the link.",
  }),
  own("housekeeping-interval", "housekeepingInterval", "duration", {
    group: "Other",
    about: "How often the Go kubelet's cAdvisor measures containers.",
    noEffect: "usage is measured on request",
  }),
  own("max-housekeeping-interval", "maxHousekeepingInterval", "duration", {
    group: "Other",
    about: "Longest pause between two measurements of the cAdvisor in OpenShift's kubelet.",
    noEffect: "usage is measured on request",
  }),
  {
    ...forField("v", "logging.verbosity", "level"),
    short: "v",
    group: "Logging",
  },
  { ...forField("vmodule", "logging.vmodule", "vmodule"), group: "Logging" },
  { ...forField("log-flush-frequency", "logging.flushFrequency", "duration"), group: "Logging" },
  { ...own("version", "version", "version", { group: "Other", about: "Print the version." }) },
  {
    ...own("help", "help", "bool", { group: "Other", about: "Print this text." }),
    short: "h",
  },
  own("minimum-container-ttl-duration", "minimumContainerTTLDuration", "duration", {
    group: "Deprecated",
    about: "Age before which a finished container is not removed.",
    deprecated: EVICT_INSTEAD,
  }),
  own("maximum-dead-containers-per-container", "maximumDeadContainersPerContainer", "int32", {
    group: "Deprecated",
    about: "Number of terminated instances kept of each container.",
    deprecated: EVICT_INSTEAD,
  }),
  own("maximum-dead-containers", "maximumDeadContainers", "int32", {
    group: "Deprecated",
    about: "Number of terminated containers kept in total; negative is no limit.",
    deprecated: EVICT_INSTEAD,
  }),
  own("register-schedulable", "registerSchedulable", "bool", {
    group: "Deprecated",
    about: "Register the node as schedulable.",
    deprecated: "use registerWithTaints in the file given to --config instead",
  }),
  own("experimental-mounter-path", "experimentalMounterPath", "string", {
    group: "Deprecated",
    about: "Program used for mounts; empty means mount.",
    deprecated: "use a CSI driver instead",
    noEffect: "mounts are made by system calls",
  }),
  own("experimental-allocatable-ignore-eviction", "experimentalAllocatableIgnoreEviction", "bool", {
    group: "Deprecated",
    about: "Do not subtract the hard eviction thresholds from what pods may use.",
    deprecated: "there is no replacement",
    noEffect: "the thresholds are always subtracted",
  }),
];

const FIELD_FLAGS: readonly FlagSpec[] = [
  forField("enable-server", "enableServer"),
  forField("fail-swap-on", "failSwapOn"),
  forField("pod-manifest-path", "staticPodPath"),
  forField("sync-frequency", "syncFrequency"),
  forField("fail-cgroupv1", "failCgroupV1"),
  forField("file-check-frequency", "fileCheckFrequency"),
  forField("http-check-frequency", "httpCheckFrequency"),
  forField("manifest-url", "staticPodURL"),
  forField("manifest-url-header", "staticPodURLHeader", "headers"),
  forField("address", "address", "ip"),
  forField("port", "port"),
  forField("read-only-port", "readOnlyPort"),
  forField("container-runtime-endpoint", "containerRuntimeEndpoint"),
  forField("image-service-endpoint", "imageServiceEndpoint"),
  forField("anonymous-auth", "authentication.anonymous.enabled"),
  forField("authentication-token-webhook", "authentication.webhook.enabled"),
  forField("authentication-token-webhook-cache-ttl", "authentication.webhook.cacheTTL"),
  forField("client-ca-file", "authentication.x509.clientCAFile"),
  forField("authorization-mode", "authorization.mode"),
  forField(
    "authorization-webhook-cache-authorized-ttl",
    "authorization.webhook.cacheAuthorizedTTL",
  ),
  forField(
    "authorization-webhook-cache-unauthorized-ttl",
    "authorization.webhook.cacheUnauthorizedTTL",
  ),
  forField("tls-cert-file", "tlsCertFile"),
  forField("tls-private-key-file", "tlsPrivateKeyFile"),
  forField("tls-cipher-suites", "tlsCipherSuites"),
  forField("tls-curve-preferences", "tlsCurvePreferences"),
  forField("tls-min-version", "tlsMinVersion"),
  forField("rotate-server-certificates", "serverTLSBootstrap"),
  forField("rotate-certificates", "rotateCertificates"),
  forField("registry-qps", "registryPullQPS"),
  forField("registry-burst", "registryBurst"),
  forField("event-qps", "eventRecordQPS"),
  forField("event-burst", "eventBurst"),
  forField("enable-debugging-handlers", "enableDebuggingHandlers"),
  forField("contention-profiling", "enableContentionProfiling"),
  forField("healthz-port", "healthzPort"),
  forField("healthz-bind-address", "healthzBindAddress", "ip"),
  forField("oom-score-adj", "oomScoreAdj"),
  forField("cluster-domain", "clusterDomain"),
  forField("volume-plugin-dir", "volumePluginDir"),
  forField("cluster-dns", "clusterDNS"),
  forField("streaming-connection-idle-timeout", "streamingConnectionIdleTimeout"),
  forField("node-status-update-frequency", "nodeStatusUpdateFrequency"),
  forField("minimum-image-ttl-duration", "imageMinimumGCAge"),
  forField("image-gc-high-threshold", "imageGCHighThresholdPercent"),
  forField("image-gc-low-threshold", "imageGCLowThresholdPercent"),
  forField("volume-stats-agg-period", "volumeStatsAggPeriod"),
  forField("feature-gates", "featureGates"),
  forField("kubelet-cgroups", "kubeletCgroups"),
  forField("system-cgroups", "systemCgroups"),
  forField("cgroups-per-qos", "cgroupsPerQOS"),
  forField("cgroup-driver", "cgroupDriver"),
  forField("cgroup-root", "cgroupRoot"),
  forField("cpu-manager-policy", "cpuManagerPolicy"),
  forField("cpu-manager-policy-options", "cpuManagerPolicyOptions", "mapNoSplit"),
  forField("cpu-manager-reconcile-period", "cpuManagerReconcilePeriod"),
  forField("qos-reserved", "qosReserved"),
  forField("topology-manager-policy", "topologyManagerPolicy"),
  forField("topology-manager-scope", "topologyManagerScope"),
  forField("topology-manager-policy-options", "topologyManagerPolicyOptions", "mapNoSplit"),
  forField("runtime-request-timeout", "runtimeRequestTimeout"),
  forField("hairpin-mode", "hairpinMode"),
  forField("max-pods", "maxPods"),
  forField("pod-cidr", "podCIDR"),
  forField("pod-max-pids", "podPidsLimit"),
  forField("resolv-conf", "resolvConf"),
  forField("runonce", "runOnce"),
  forField("cpu-cfs-quota", "cpuCFSQuota"),
  forField("cpu-cfs-quota-period", "cpuCFSQuotaPeriod"),
  forField("enable-controller-attach-detach", "enableControllerAttachDetach"),
  forField("make-iptables-util-chains", "makeIPTablesUtilChains"),
  forField("container-log-max-size", "containerLogMaxSize"),
  forField("container-log-max-files", "containerLogMaxFiles"),
  forField("allowed-unsafe-sysctls", "allowedUnsafeSysctls"),
  forField("node-status-max-images", "nodeStatusMaxImages"),
  forField("kernel-memcg-notification", "kernelMemcgNotification"),
  forField("local-storage-capacity-isolation", "localStorageCapacityIsolation"),
  forField("max-open-files", "maxOpenFiles"),
  forField("kube-api-content-type", "contentType"),
  forField("kube-api-qps", "kubeAPIQPS"),
  forField("kube-api-burst", "kubeAPIBurst"),
  forField("serialize-image-pulls", "serializeImagePulls"),
  forField("eviction-hard", "evictionHard", "thresholds"),
  forField("eviction-soft", "evictionSoft", "thresholds"),
  forField("eviction-soft-grace-period", "evictionSoftGracePeriod"),
  forField("eviction-pressure-transition-period", "evictionPressureTransitionPeriod"),
  forField("eviction-max-pod-grace-period", "evictionMaxPodGracePeriod"),
  forField("eviction-minimum-reclaim", "evictionMinimumReclaim"),
  forField("pods-per-core", "podsPerCore"),
  forField("protect-kernel-defaults", "protectKernelDefaults"),
  forField("reserved-cpus", "reservedSystemCPUs"),
  forField("system-reserved", "systemReserved"),
  forField("kube-reserved", "kubeReserved"),
  forField("enforce-node-allocatable", "enforceNodeAllocatable"),
  forField("system-reserved-cgroup", "systemReservedCgroup"),
  forField("kube-reserved-cgroup", "kubeReservedCgroup"),
  forField("logging-format", "logging.format"),
  forField("log-text-split-stream", "logging.options.text.splitStream"),
  forField("log-text-info-buffer-size", "logging.options.text.infoBufferSize"),
  forField("log-json-split-stream", "logging.options.json.splitStream"),
  forField("log-json-info-buffer-size", "logging.options.json.infoBufferSize"),
  forField("memory-manager-policy", "memoryManagerPolicy"),
  forField("reserved-memory", "reservedMemory", "reservedMemory"),
  forField("register-node", "registerNode"),
  forField("register-with-taints", "registerWithTaints", "taints"),
  forField("seccomp-default", "seccompDefault"),
];

/** Flags that set a field and are no more deprecated than the field: they may stay on the command line. */
const IN_GOOD_STANDING: ReadonlySet<string> = new Set([
  "compat",
  "v",
  "vmodule",
  "log-flush-frequency",
  "provider-id",
  "seccomp-default",
]);

function inGoodStanding(flag: FlagSpec): FlagSpec {
  if (!IN_GOOD_STANDING.has(flag.name)) return flag;
  const { deprecated: _, ...rest } = flag;
  return rest.group === "Deprecated: use the configuration file"
    ? { ...rest, group: "Other" }
    : rest;
}

/**
 * Every flag that `nodelet run` and `kubelet` take: those of Kubernetes 1.37 and the removed ones of
 * 1.20 and later. Source: cmd/kubelet/app/options.
 */
export const FLAGS: readonly FlagSpec[] = [...OWN_FLAGS, ...FIELD_FLAGS]
  .map(inGoodStanding)
  .concat(REMOVED_FLAGS);

const BY_NAME: ReadonlyMap<string, FlagSpec> = new Map(FLAGS.map((flag) => [flag.name, flag]));
const BY_SHORT: ReadonlyMap<string, FlagSpec> = new Map(
  FLAGS.flatMap((flag) => (flag.short === undefined ? [] : [[flag.short, flag] as const])),
);

/** The flag of that name, `-` and `_` being the same. */
export function flagNamed(name: string): FlagSpec | undefined {
  return BY_NAME.get(name.replaceAll("_", "-"));
}

/** The flag of that letter. */
export function flagOfLetter(letter: string): FlagSpec | undefined {
  return BY_SHORT.get(letter);
}

/** The field that a flag's name stands for, when a file uses the flag's name by mistake. */
export function fieldOfFlag(name: string): string | undefined {
  const target = flagNamed(name)?.target;
  return target?.kind === "config" ? target.path : undefined;
}
