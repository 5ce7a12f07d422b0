// pure
import type { Taint } from "../api/generated/types.ts";
import type { DurationMs } from "../api/text/duration.ts";

/** API group and version of the file that `--config` names. */
export const CONFIG_API_VERSION = "kubelet.config.k8s.io/v1beta1";
/** Kind of the file that `--config` names. */
export const CONFIG_KIND = "KubeletConfiguration";

/** A Kubernetes quantity as written, e.g. `100Mi`; parsed where it is used. */
type QuantityText = string;

/** A map from names to texts, e.g. resource to quantity or eviction signal to threshold. */
export type TextMap = { readonly [name: string]: string };

/** How callers of the agent's HTTPS port prove who they are. */
interface AuthenticationConfig {
  readonly x509: { readonly clientCAFile: string };
  readonly webhook: { readonly enabled: boolean; readonly cacheTTL: DurationMs };
  readonly anonymous: { readonly enabled: boolean };
}

/** How it is decided what a caller of the agent's HTTPS port may do. */
interface AuthorizationConfig {
  readonly mode: "AlwaysAllow" | "Webhook";
  readonly webhook: {
    readonly cacheAuthorizedTTL: DurationMs;
    readonly cacheUnauthorizedTTL: DurationMs;
  };
}

/** How much is logged and in which form. */
interface LoggingConfig {
  readonly format: string;
  readonly flushFrequency: DurationMs;
  readonly verbosity: number;
  readonly vmodule: readonly VerbosityOverride[];
  readonly options: { readonly text: LogStreamConfig; readonly json: LogStreamConfig };
}

/** Another verbosity for the source files that match `filePattern`. */
interface VerbosityOverride {
  readonly filePattern: string;
  readonly verbosity: number;
}

/** Whether errors and information go to streams of their own, and how much information is buffered. */
interface LogStreamConfig {
  readonly splitStream: boolean;
  readonly infoBufferSize: QuantityText;
}

/** Memory kept from containers on one NUMA node. */
interface MemoryReservation {
  readonly numaNode: number;
  /** `memory` or `hugepages-<size>` to quantity. */
  readonly limits: TextMap;
}

/** The time that pods of at least `priority` get when the node shuts down. */
interface PriorityShutdownPeriod {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

/**
 * The whole configuration after defaults, drop-ins and flags: every field of `KubeletConfiguration`
 * (kubelet.config.k8s.io/v1beta1) of Kubernetes 1.37 under its own name, and `compat`, which only nodelet
 * has. A field without a default is optional. Durations are milliseconds, quantities the text as written.
 * What each field means, its default and whether nodelet acts on it: `fields.ts`.
 */
export interface KubeletConfig {
  readonly enableServer: boolean;
  readonly staticPodPath: string;
  readonly podLogsDir: string;
  readonly syncFrequency: DurationMs;
  readonly fileCheckFrequency: DurationMs;
  readonly httpCheckFrequency: DurationMs;
  readonly staticPodURL: string;
  readonly staticPodURLHeader: { readonly [name: string]: readonly string[] };
  readonly address: string;
  readonly port: number;
  readonly readOnlyPort: number;
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly tlsCipherSuites: readonly string[];
  readonly tlsCurvePreferences: readonly number[];
  readonly tlsMinVersion: string;
  readonly rotateCertificates: boolean;
  readonly serverTLSBootstrap: boolean;
  readonly authentication: AuthenticationConfig;
  readonly authorization: AuthorizationConfig;
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  /** Absent only when the gate KubeletEnsureSecretPulledImages is off. */
  readonly imagePullCredentialsVerificationPolicy?: string;
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
  readonly enableDebuggingHandlers: boolean;
  readonly enableContentionProfiling: boolean;
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
  readonly oomScoreAdj: number;
  readonly clusterDomain: string;
  readonly clusterDNS: readonly string[];
  readonly streamingConnectionIdleTimeout: DurationMs;
  readonly nodeStatusUpdateFrequency: DurationMs;
  readonly nodeStatusReportFrequency: DurationMs;
  readonly nodeLeaseDurationSeconds: number;
  readonly imageMinimumGCAge: DurationMs;
  readonly imageMaximumGCAge: DurationMs;
  readonly imageGCHighThresholdPercent: number;
  readonly imageGCLowThresholdPercent: number;
  readonly volumeStatsAggPeriod: DurationMs;
  readonly kubeletCgroups: string;
  readonly systemCgroups: string;
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
  readonly cgroupDriver: "cgroupfs" | "systemd";
  readonly cpuManagerPolicy: string;
  readonly singleProcessOOMKill?: boolean;
  readonly cpuManagerPolicyOptions: TextMap;
  readonly cpuManagerReconcilePeriod: DurationMs;
  readonly draManagerReconcilePeriod: DurationMs;
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
  readonly topologyManagerScope: string;
  readonly topologyManagerPolicyOptions: TextMap;
  readonly qosReserved: TextMap;
  readonly runtimeRequestTimeout: DurationMs;
  readonly hairpinMode: string;
  readonly maxPods: number;
  readonly podCIDR: string;
  /** -1: the node's pid capacity. */
  readonly podPidsLimit: number;
  /** Empty: no resolver configuration at all. */
  readonly resolvConf: string;
  readonly runOnce: boolean;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriod: DurationMs;
  readonly nodeStatusMaxImages: number;
  readonly maxOpenFiles: number;
  readonly contentType: string;
  readonly kubeAPIQPS: number;
  readonly kubeAPIBurst: number;
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls?: number;
  readonly evictionHard: TextMap;
  readonly evictionSoft: TextMap;
  readonly evictionSoftGracePeriod: TextMap;
  readonly evictionPressureTransitionPeriod: DurationMs;
  /** Seconds. */
  readonly evictionMaxPodGracePeriod: number;
  readonly evictionMinimumReclaim: TextMap;
  readonly mergeDefaultEvictionSettings: boolean;
  readonly podsPerCore: number;
  readonly enableControllerAttachDetach: boolean;
  readonly protectKernelDefaults: boolean;
  readonly makeIPTablesUtilChains: boolean;
  readonly iptablesMasqueradeBit: number;
  readonly iptablesDropBit: number;
  readonly featureGates: { readonly [name: string]: boolean };
  readonly failSwapOn: boolean;
  readonly memorySwap: { readonly swapBehavior: string };
  readonly containerLogMaxSize: QuantityText;
  readonly containerLogMaxFiles: number;
  readonly containerLogMaxWorkers: number;
  readonly containerLogMonitorInterval: DurationMs;
  readonly configMapAndSecretChangeDetectionStrategy: string;
  readonly systemReserved: TextMap;
  readonly kubeReserved: TextMap;
  readonly reservedSystemCPUs: string;
  readonly showHiddenMetricsForVersion: string;
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
  readonly enforceNodeAllocatable: readonly string[];
  readonly allowedUnsafeSysctls: readonly string[];
  readonly defaultPodSysctls: TextMap;
  readonly volumePluginDir: string;
  readonly providerID: string;
  readonly kernelMemcgNotification: boolean;
  readonly logging: LoggingConfig;
  readonly enableSystemLogHandler: boolean;
  readonly enableSystemLogQuery: boolean;
  readonly shutdownGracePeriod: DurationMs;
  readonly shutdownGracePeriodCriticalPods: DurationMs;
  readonly shutdownGracePeriodByPodPriority: readonly PriorityShutdownPeriod[];
  readonly crashLoopBackOff: {
    /** Absent only when the gate KubeletCrashLoopBackOffMax is off. */
    readonly maxContainerRestartPeriod?: DurationMs;
  };
  readonly reservedMemory: readonly MemoryReservation[];
  readonly enableProfilingHandler: boolean;
  readonly enableDebugFlagsHandler: boolean;
  readonly seccompDefault: boolean;
  /** Absent: nothing is throttled before its limit. */
  readonly memoryThrottlingFactor?: number;
  readonly memoryReservationPolicy: string;
  readonly registerWithTaints: readonly Taint[];
  readonly registerNode: boolean;
  readonly tracing: { readonly endpoint?: string; readonly samplingRatePerMillion?: number };
  readonly localStorageCapacityIsolation: boolean;
  readonly containerRuntimeEndpoint: string;
  /** Empty: the same as `containerRuntimeEndpoint`. */
  readonly imageServiceEndpoint: string;
  readonly failCgroupV1: boolean;
  readonly userNamespaces: { readonly idsPerPod: number };
  /** The release whose defaults the node has, `1.36`; absent: the latest. Only in nodelet. */
  readonly compat?: string;
}
