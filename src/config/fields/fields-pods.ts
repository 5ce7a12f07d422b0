// pure
import {
  active,
  BOOLEAN,
  boolean,
  duration,
  durationOrZero,
  inert,
  integer,
  integerNotZero,
  list,
  longInteger,
  map,
  number,
  optional,
  planned,
  STRING,
  text,
  textOrEmpty,
} from "./field-types.ts";

const NOT_NEGATIVE = "0 or more";
const PERCENT = "0 to 100";

/** Fields about sources of pods, how pods run, images and logs. */
export const POD_FIELDS = [
  active("staticPodPath", text(""), "Folder or file with the manifests of static pods."),
  active("staticPodURL", text(""), "URL that static pod manifests are fetched from."),
  active(
    "staticPodURLHeader",
    map({ kind: "list", of: STRING }),
    "Headers sent with the requests to staticPodURL.",
  ),
  active("fileCheckFrequency", duration("20s"), "How often staticPodPath is read."),
  active("httpCheckFrequency", duration("20s"), "How often staticPodURL is fetched."),
  active(
    "syncFrequency",
    duration("1m0s"),
    "Maximum time between two syncs of a pod, which varies by up to half of it; changes trigger a sync at once.",
    "more than 0s",
  ),
  active(
    "podLogsDir",
    text("/var/log/pods"),
    "Folder of the container logs.",
    "an absolute, normalised ASCII path",
  ),
  active(
    "containerRuntimeEndpoint",
    text("unix:///run/containerd/containerd.sock"),
    "Socket of the container runtime.",
    "not empty",
  ),
  active(
    "imageServiceEndpoint",
    text(""),
    "Socket of the image service; empty means containerRuntimeEndpoint.",
  ),
  active(
    "runtimeRequestTimeout",
    duration("2m0s"),
    "Timeout of requests to the runtime, except pulls, logs, exec and attach.",
  ),
  active(
    "crashLoopBackOff.maxContainerRestartPeriod",
    optional(durationOrZero("")),
    "Maximum back-off between restarts of a crashing container; 5m0s with the gate KubeletCrashLoopBackOffMax.",
    "1s to 300s",
  ),
  active("clusterDomain", text(""), "DNS domain added to the search list of pods."),
  active("clusterDNS", list(STRING), "DNS servers of pods with dnsPolicy ClusterFirst."),
  active(
    "resolvConf",
    textOrEmpty("/etc/resolv.conf"),
    "Resolver file of the node that pods' DNS starts from; empty means none.",
  ),
  active("maxPods", integerNotZero(110), "Maximum number of pods on this node.", NOT_NEGATIVE),
  active(
    "podsPerCore",
    integer(0),
    "Maximum number of pods per CPU, within maxPods; 0 is no limit.",
    NOT_NEGATIVE,
  ),
  active("podCIDR", text(""), "Pod CIDR without a cluster, passed to the runtime."),
  active(
    "podPidsLimit",
    longInteger(-1),
    "Maximum number of processes in a pod; -1 leaves only the node's own limit.",
  ),
  planned(
    "hairpinMode",
    text("promiscuous-bridge"),
    "How a pod reaches itself through its own Service.",
    "promiscuous-bridge, hairpin-veth or none",
  ),
  inert(
    "runOnce",
    boolean(false),
    "Run the static pods once and exit; no longer possible.",
    "false",
  ),
  active(
    "featureGates",
    map(BOOLEAN),
    "Feature gates that are enabled or disabled; see the list of gates.",
  ),
  active(
    "imagePullCredentialsVerificationPolicy",
    optional(text("")),
    "Which images that are already present need pull credentials; NeverVerifyPreloadedImages with the gate KubeletEnsureSecretPulledImages.",
    "NeverVerify, NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages or AlwaysVerify",
  ),
  active(
    "preloadedImagesVerificationAllowlist",
    list(STRING),
    "Images that need no credentials under NeverVerifyAllowlistedImages; a last segment /* matches any.",
  ),
  active("registryPullQPS", integer(5), "Image pulls per second; 0 is no limit.", NOT_NEGATIVE),
  active(
    "registryBurst",
    integerNotZero(10),
    "Maximum burst of image pulls above registryPullQPS.",
    NOT_NEGATIVE,
  ),
  active(
    "serializeImagePulls",
    boolean(true),
    "Pull one image at a time from each registry; false when maxParallelImagePulls is 2 or more.",
  ),
  active(
    "maxParallelImagePulls",
    optional(integer(0)),
    "Maximum number of parallel image pulls; no limit when not set.",
    "1 or more; above 1 only with serializeImagePulls false",
  ),
  active(
    "imageMinimumGCAge",
    duration("2m0s"),
    "Minimum age before an unused image is removed.",
    "not negative",
  ),
  active(
    "imageMaximumGCAge",
    durationOrZero("0s"),
    "Maximum time an image may be unused before it is removed; 0s is no limit.",
    "0s, or more than imageMinimumGCAge",
  ),
  active(
    "imageGCHighThresholdPercent",
    integer(85),
    "Disk usage at which image garbage collection starts.",
    PERCENT,
  ),
  active(
    "imageGCLowThresholdPercent",
    integer(80),
    "Disk usage at which image garbage collection stops.",
    "0 to 100, less than imageGCHighThresholdPercent",
  ),
  active(
    "containerLogMaxSize",
    text("10Mi"),
    "Size at which a container log is rotated; a negative one disables rotation.",
    "a quantity of whole bytes",
  ),
  active("containerLogMaxFiles", integer(5), "Log files kept per container.", "2 or more"),
  active("containerLogMaxWorkers", integer(1), "Logs rotated at the same time.", "1 or more"),
  active(
    "containerLogMonitorInterval",
    durationOrZero("10s"),
    "How often log sizes are checked.",
    "3s or more",
  ),
  active(
    "configMapAndSecretChangeDetectionStrategy",
    text("Watch"),
    "How changes of ConfigMaps and Secrets are detected.",
    "Get, Cache or Watch",
  ),
  active(
    "seccompDefault",
    boolean(false),
    "RuntimeDefault for containers without a seccomp profile.",
  ),
  active(
    "allowedUnsafeSysctls",
    list(STRING),
    "Unsafe sysctls that pods may set.",
    "names, or beginnings that end in *, of kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.* and net.*",
  ),
  active(
    "defaultPodSysctls",
    map(STRING),
    "Kernel settings of pods, where they do not share the namespace with the node and set no other value; gate " +
      "DefaultPodSysctls.",
    "names of settings of a namespace, each once, only with the gate",
  ),
  active(
    "userNamespaces.idsPerPod",
    longInteger(65536),
    "User and group ids given to a pod with a user namespace.",
    "a multiple of 65536 below 4294967296",
  ),
  planned(
    "volumePluginDir",
    text("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"),
    "Folder searched for FlexVolume plugins.",
  ),
  active("volumeStatsAggPeriod", duration("1m0s"), "How old the measured size of a volume may be."),
  active(
    "enableControllerAttachDetach",
    boolean(true),
    "Let the attach/detach controller of the cluster attach volumes.",
  ),
  active(
    "localStorageCapacityIsolation",
    boolean(true),
    "Count and limit the local storage of pods.",
  ),
  active(
    "memoryThrottlingFactor",
    optional(number(0)),
    "Share of the way from request to limit at which a container is slowed down, cgroup v2 with the gate MemoryQoS; " +
      "absent: nothing is.",
    "more than 0, at most 1; without the gate 0.9 alone, the default of 1.36",
  ),
  active(
    "memoryReservationPolicy",
    text("None"),
    "Protection of requested memory from reclaim, cgroup v2 with the gate MemoryQoS.",
    "None or TieredReservation",
  ),
  active(
    "singleProcessOOMKill",
    optional(boolean(false)),
    "Kill only the process that ran out of memory, not its container; cgroup v2 only, v1 always does.",
  ),
] as const;
