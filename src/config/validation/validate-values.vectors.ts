// pure

/** Numbers out of bounds: a body and its one problem. */
export const NUMBERS: readonly (readonly [body: string, problem: string])[] = [
  [
    "port: 70000",
    "port: Invalid value: 70000: must be between 1 and 65535, inclusive (the usual port is 10250)",
  ],
  [
    "port: -1",
    "port: Invalid value: -1: must be between 1 and 65535, inclusive (the usual port is 10250)",
  ],
  [
    "readOnlyPort: 65536",
    "readOnlyPort: Invalid value: 65536: must be between 0 and 65535, inclusive (0 disables it)",
  ],
  [
    "healthzPort: 65536",
    "healthzPort: Invalid value: 65536: must be between 1 and 65535, inclusive (0 disables it)",
  ],
  [
    "nodeLeaseDurationSeconds: -1",
    "nodeLeaseDurationSeconds: Invalid value: -1: must be greater than 0",
  ],
  ["eventBurst: -1", "eventBurst: Invalid value: -1: must not be a negative number"],
  ["eventRecordQPS: -1", "eventRecordQPS: Invalid value: -1: must not be a negative number"],
  [
    "imageGCHighThresholdPercent: 101",
    "imageGCHighThresholdPercent: Invalid value: 101: must be between 0 and 100, inclusive",
  ],
  [
    "imageGCLowThresholdPercent: -1",
    "imageGCLowThresholdPercent: Invalid value: -1: must be between 0 and 100, inclusive",
  ],
  [
    "imageGCLowThresholdPercent: 85",
    "imageGCLowThresholdPercent: Invalid value: 85: must be less than imageGCHighThresholdPercent 85",
  ],
  [
    "iptablesDropBit: 32",
    "iptablesDropBit: Invalid value: 32: must be between 0 and 31, inclusive",
  ],
  [
    "iptablesMasqueradeBit: -1",
    "iptablesMasqueradeBit: Invalid value: -1: must be between 0 and 31, inclusive",
  ],
  ["kubeAPIBurst: -1", "kubeAPIBurst: Invalid value: -1: must not be a negative number"],
  ["kubeAPIQPS: -1", "kubeAPIQPS: Invalid value: -1: must not be a negative number"],
  ["nodeStatusMaxImages: -2", "nodeStatusMaxImages: Invalid value: -2: must be -1 or greater"],
  ["maxOpenFiles: -1", "maxOpenFiles: Invalid value: -1: must not be a negative number"],
  ["maxPods: -1", "maxPods: Invalid value: -1: must not be a negative number"],
  [
    "oomScoreAdj: -1001",
    "oomScoreAdj: Invalid value: -1001: must be between -1000 and 1000, inclusive",
  ],
  [
    "oomScoreAdj: 1001",
    "oomScoreAdj: Invalid value: 1001: must be between -1000 and 1000, inclusive",
  ],
  ["podsPerCore: -1", "podsPerCore: Invalid value: -1: must not be a negative number"],
  ["registryBurst: -1", "registryBurst: Invalid value: -1: must not be a negative number"],
  ["registryPullQPS: -1", "registryPullQPS: Invalid value: -1: must not be a negative number"],
  [
    "containerLogMaxWorkers: 0",
    "containerLogMaxWorkers: Invalid value: 0: must be greater than or equal to 1",
  ],
  ["containerLogMaxFiles: 1", "containerLogMaxFiles: Invalid value: 1: must be greater than 1"],
  [
    "memoryThrottlingFactor: 0",
    "memoryThrottlingFactor: Invalid value: 0: must be greater than 0 and less than or equal to 1.0",
  ],
  [
    "memoryThrottlingFactor: 1.1",
    "memoryThrottlingFactor: Invalid value: 1.1: must be greater than 0 and less than or equal to 1.0",
  ],
  [
    "userNamespaces: {idsPerPod: 65535}",
    "userNamespaces.idsPerPod: Invalid value: 65535: must be a positive multiple of 65536",
  ],
  [
    "userNamespaces: {idsPerPod: 0}",
    "userNamespaces.idsPerPod: Invalid value: 0: must be a positive multiple of 65536",
  ],
  [
    "userNamespaces: {idsPerPod: 4294967296}",
    "userNamespaces.idsPerPod: Invalid value: 4294967296: must be less than 4294967296",
  ],
  [
    "tracing: {samplingRatePerMillion: -1}",
    "tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive",
  ],
  [
    "tracing: {samplingRatePerMillion: 1000001}",
    "tracing.samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million",
  ],
  [
    "logging: {verbosity: -1}",
    "logging.verbosity: Invalid value: -1: must be between 0 and 2147483647, inclusive",
  ],
  [
    "tlsCurvePreferences: [29, 0]",
    'tlsCurvePreferences[1]: Unsupported value: 0: supported values: "23", "24", "25", "29", "4587", "4588", "4589"',
  ],
  [
    "maxParallelImagePulls: 0",
    "maxParallelImagePulls: Invalid value: 0: must be a positive number",
  ],
];

/** Durations out of bounds. */
export const DURATIONS: readonly (readonly [body: string, problem: string])[] = [
  [
    "cpuCFSQuotaPeriod: 500us",
    'cpuCFSQuotaPeriod: Invalid value: "500\u00b5s": must be between 1ms and 1sec, inclusive',
  ],
  [
    "cpuCFSQuotaPeriod: 0s",
    'cpuCFSQuotaPeriod: Invalid value: "0s": must be between 1ms and 1sec, inclusive',
  ],
  [
    "cpuCFSQuotaPeriod: 1001ms",
    'cpuCFSQuotaPeriod: Invalid value: "1.001s": must be between 1ms and 1sec, inclusive',
  ],
  [
    "cpuCFSQuotaPeriod: 50ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}",
    'cpuCFSQuotaPeriod: Invalid value: "50ms": requires feature gate CustomCPUCFSQuotaPeriod (enable the gate, or set 100ms)',
  ],
  ["imageMinimumGCAge: -1s", 'imageMinimumGCAge: Invalid value: "-1s": must not be negative'],
  ["imageMaximumGCAge: -1s", 'imageMaximumGCAge: Invalid value: "-1s": must not be negative'],
  [
    "imageMaximumGCAge: 2m",
    'imageMaximumGCAge: Invalid value: "2m0s": must be greater than imageMinimumGCAge 2m0s',
  ],
  [
    "draManagerReconcilePeriod: -1s",
    'draManagerReconcilePeriod: Invalid value: "-1s": must be greater than zero',
  ],
  [
    "containerLogMonitorInterval: 2999ms",
    'containerLogMonitorInterval: Invalid value: "2.999s": must be a positive time duration greater than or equal to 3s',
  ],
  [
    "crashLoopBackOff: {maxContainerRestartPeriod: 999ms}",
    'crashLoopBackOff.maxContainerRestartPeriod: Invalid value: "999ms": must be set between 1s and 300s',
  ],
  [
    "crashLoopBackOff: {maxContainerRestartPeriod: 301s}",
    'crashLoopBackOff.maxContainerRestartPeriod: Invalid value: "5m1s": must be set between 1s and 300s',
  ],
  [
    "crashLoopBackOff: {maxContainerRestartPeriod: 1m}\nfeatureGates: {KubeletCrashLoopBackOffMax: false}",
    "crashLoopBackOff.maxContainerRestartPeriod: Forbidden: FeatureGate KubeletCrashLoopBackOffMax not enabled, must not be set (enable the gate, or remove the field)",
  ],
  [
    "shutdownGracePeriod: 999ms",
    'shutdownGracePeriod: Invalid value: "999ms": must be either zero or otherwise >= 1 sec',
  ],
  [
    "shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 11s",
    'shutdownGracePeriodCriticalPods: Invalid value: "11s": must be <= shutdownGracePeriod 10s',
  ],
  [
    "shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 500ms",
    'shutdownGracePeriodCriticalPods: Invalid value: "500ms": must be either zero or otherwise >= 1 sec',
  ],
  [
    "shutdownGracePeriod: 10s\nfeatureGates: {GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false, WindowsGracefulNodeShutdown: false}",
    "shutdownGracePeriod: Forbidden: specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown (enable the gate, or remove the field)",
  ],
  [
    "shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 5}]",
    "shutdownGracePeriodByPodPriority: Forbidden: Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time (keep one of them)",
  ],
  [
    "shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 5}]\nfeatureGates: {GracefulNodeShutdownBasedOnPodPriority: false}",
    "shutdownGracePeriodByPodPriority: Forbidden: Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority (enable the gate, or remove the field)",
  ],
];

/** Values that are none of those allowed, and settings that exclude one another. */
export const CHOICES: readonly (readonly [body: string, problem: string])[] = [
  [
    "authorization: {mode: RBAC}",
    'authorization.mode: Unsupported value: "RBAC": supported values: "AlwaysAllow", "Webhook"',
  ],
  [
    "cgroupDriver: SystemD",
    'cgroupDriver: Unsupported value: "SystemD": supported values: "cgroupfs", "systemd"',
  ],
  [
    "hairpinMode: always",
    'hairpinMode: Unsupported value: "always": supported values: "none", "hairpin-veth", "promiscuous-bridge"',
  ],
  [
    "configMapAndSecretChangeDetectionStrategy: watch",
    'configMapAndSecretChangeDetectionStrategy: Unsupported value: "watch": supported values: "Get", "Cache", "Watch"',
  ],
  [
    "topologyManagerPolicy: strict",
    'topologyManagerPolicy: Unsupported value: "strict": supported values: "none", "best-effort", "restricted", "single-numa-node"',
  ],
  [
    "topologyManagerScope: node",
    'topologyManagerScope: Unsupported value: "node": supported values: "container", "pod"',
  ],
  [
    "cpuManagerPolicy: Static",
    'cpuManagerPolicy: Unsupported value: "Static": supported values: "none", "static"',
  ],
  [
    "memoryManagerPolicy: static",
    'memoryManagerPolicy: Unsupported value: "static": supported values: "None", "Static"',
  ],
  [
    'cpuManagerPolicy: static\nkubeReserved: {cpu: "1"}\ncpuManagerPolicyOptions: {full-pcpu-only: "true"}',
    'cpuManagerPolicyOptions[full-pcpu-only]: Invalid value: "full-pcpu-only": unknown option "full-pcpu-only" (did you mean full-pcpus-only?)',
  ],
  [
    'topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {x: "true"}',
    'topologyManagerPolicyOptions[x]: Invalid value: "x": unknown option "x" (the options are prefer-closest-numa-nodes, max-allowable-numa-nodes)',
  ],
  [
    "memorySwap: {swapBehavior: UnlimitedSwap}",
    'memorySwap.swapBehavior: Unsupported value: "UnlimitedSwap": supported values: "", "LimitedSwap", "NoSwap"',
  ],
  [
    'defaultPodSysctls: {net.ipv4.ip_forward: "1"}',
    "defaultPodSysctls: Forbidden: DefaultPodSysctls feature gate is required for Kubelet configuration option defaultPodSysctls (enable the gate, or remove it)",
  ],
  [
    'defaultPodSysctls: {net.ipv4.ip_forward: "1", net/ipv4/ip_forward: "0"}\nfeatureGates: {DefaultPodSysctls: true}',
    'defaultPodSysctls[net/ipv4/ip_forward]: Duplicate value: "net.ipv4.ip_forward" (remove one of the two spellings)',
  ],
  [
    'defaultPodSysctls: {kernel.panic: "1"}\nfeatureGates: {DefaultPodSysctls: true}',
    'defaultPodSysctls[kernel.panic]: Invalid value: "kernel.panic": is not known to be namespaced for defaultPodSysctls',
  ],
  ['compat: "1.35"', 'compat: Unsupported value: "1.35": supported values: "1.36", "1.37"'],
  [
    "memoryThrottlingFactor: 0.8\nfeatureGates: {MemoryQoS: false}",
    "memoryThrottlingFactor: Forbidden: memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled (enable the gate, or remove it)",
  ],
  [
    "memoryReservationPolicy: All",
    'memoryReservationPolicy: Unsupported value: "All": supported values: "None", "TieredReservation"',
  ],
  [
    "memoryReservationPolicy: TieredReservation\nfeatureGates: {MemoryQoS: false}",
    'memoryReservationPolicy: Forbidden: memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled (enable the gate, or set None)',
  ],
  [
    "logging: {format: xml}",
    'logging.format: Invalid value: "xml": Unsupported log format (use text or json)',
  ],
  [
    "logging: {format: json, vmodule: [{filePattern: a, verbosity: 1}]}",
    "logging.vmodule: Forbidden: Only supported for text log format",
  ],
  [
    'logging: {vmodule: [{filePattern: "", verbosity: 1}]}',
    "logging.vmodule[0].filePattern: Required value: File pattern is empty",
  ],
  [
    "logging: {vmodule: [{filePattern: a=b, verbosity: 1}]}",
    "logging.vmodule[0].filePattern: Invalid value: \"a=b\": File pattern must not contain '=' or ','",
  ],
  [
    "logging: {options: {text: {splitStream: true}}}",
    "logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled (enable the gate, or remove the field)",
  ],
  [
    "logging: {options: {json: {infoBufferSize: 1Ki}}}",
    "logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled (enable the gate, or remove the field)",
  ],
  [
    'showHiddenMetricsForVersion: "1.30"',
    'showHiddenMetricsForVersion: Invalid value: "1.30": must be omitted or have the value "1.36". Only the previous minor version is allowed',
  ],
  [
    "tlsMinVersion: TLS1.2",
    'tlsMinVersion: Unsupported value: "TLS1.2": supported values: "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"',
  ],
  [
    "tlsCipherSuites: [TLS_FOO]",
    'tlsCipherSuites[0]: Invalid value: "TLS_FOO": Cipher suite TLS_FOO not supported or doesn\'t exist (see the docs)',
  ],
  [
    "imagePullCredentialsVerificationPolicy: Sometimes",
    'imagePullCredentialsVerificationPolicy: Unsupported value: "Sometimes": supported values: "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"',
  ],
  [
    "imagePullCredentialsVerificationPolicy: AlwaysVerify\nfeatureGates: {KubeletEnsureSecretPulledImages: false}",
    "imagePullCredentialsVerificationPolicy: Forbidden: must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled",
  ],
  [
    "preloadedImagesVerificationAllowlist: [a/b]",
    'preloadedImagesVerificationAllowlist: Forbidden: can\'t be set if imagePullCredentialsVerificationPolicy is not "NeverVerifyAllowlistedImages" (set imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages)',
  ],
  [
    "preloadedImagesVerificationAllowlist: [a/b]\nfeatureGates: {KubeletEnsureSecretPulledImages: false}",
    "preloadedImagesVerificationAllowlist: Forbidden: must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled",
  ],
  [
    'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["reg/a*"]',
    'preloadedImagesVerificationAllowlist[0]: Invalid value: "reg/a*": a wildcard is only allowed as the whole last segment, after a registry: registry/path/*',
  ],
  [
    'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["reg/a:1"]',
    'preloadedImagesVerificationAllowlist[0]: Invalid value: "reg/a:1": image pattern must not have a tag',
  ],
  [
    'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["a@sha256:b"]',
    'preloadedImagesVerificationAllowlist[0]: Invalid value: "a@sha256:b": image pattern must not have a digest',
  ],
  [
    'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [""]',
    'preloadedImagesVerificationAllowlist[0]: Invalid value: "": image pattern must not be empty',
  ],
  [
    'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [" a"]',
    'preloadedImagesVerificationAllowlist[0]: Invalid value: " a": image pattern must not start or end with white space',
  ],
  [
    "runOnce: true",
    "runOnce: Forbidden: Runonce mode has been deprecated and should not be set (remove it)",
  ],
  [
    "enableSystemLogQuery: true\nenableSystemLogHandler: false",
    "enableSystemLogQuery: Forbidden: enableSystemLogHandler is required for enableSystemLogQuery (set enableSystemLogHandler: true)",
  ],
  [
    "serverTLSBootstrap: true\nfeatureGates: {RotateKubeletServerCertificate: false}",
    "serverTLSBootstrap: Forbidden: serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate (enable the gate, or set it to false)",
  ],
  [
    "maxParallelImagePulls: 2\nserializeImagePulls: true",
    "maxParallelImagePulls: Invalid value: 2: cannot be larger than 1 unless serializeImagePulls is set to false (set serializeImagePulls: false in the same place)",
  ],
];
