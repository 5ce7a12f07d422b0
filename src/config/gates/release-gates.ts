// pure
/** The gates of the release before, which `compat` brings back, as far as they differ from those of the latest. */
import type { Release } from "../release.ts";
import { FEATURE_GATES, type FeatureGate, gateRows } from "./feature-gate-table.ts";

// What 1.37 changed or removed, as 1.36 has it.

const ALPHA = `
  AllowUnsafeMalformedObjectDeletion DRAWorkloadResourceClaims GangScheduling GenericWorkload
  HPAScaleToZero KubeletInUserNamespace ManifestBasedAdmissionControlConfig MemoryQoS
  NativeHistograms PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI
  PodLevelResourceManagers PodsAPI StorageCapacityScoring VolumeLimitScaling
  WorkloadAwarePreemption`;

const BETA_OFF = `
  ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
  DRADeviceTaintRules MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount
  StorageVersionMigrator`;

const BETA_ON = `
  DRADeviceTaints DRAExtendedResource DRAResourceClaimDeviceStatus HPAConfigurableTolerance
  HostnameOverride InPlacePodVerticalScalingInitContainers NodeDeclaredFeatures
  PLEGOnDemandRelist PodReadyToStartContainersCondition PreventStaticPodAPIReferences
  RelaxedServiceNameValidation WatchCacheInitializationPostStartHook`;

const GA_LOCKED = `
  APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
  AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache ConsistentListFromCache
  JobBackoffLimitPerIndex JobPodReplacementPolicy JobSuccessPolicy LogarithmicScaleDown
  OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
  RelaxedDNSSearchValidation ResilientWatchCacheInitialization RetryGenerateName
  SchedulerQueueingHints SidecarContainers StreamingCollectionEncodingToJSON
  StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration`;

const CHANGED: readonly FeatureGate[] = [
  ...gateRows("alpha", false, false, ALPHA),
  ...gateRows("beta", false, false, BETA_OFF),
  ...gateRows("beta", true, false, BETA_ON),
  ...gateRows("GA", true, true, GA_LOCKED),
  ...gateRows("GA", true, false, "DRAPrioritizedList"),
  ...gateRows("deprecated", false, false, "DeclarativeValidationTakeover"),
  ...gateRows("deprecated", true, false, "DisableCPUQuotaWithExclusiveCPUs"),
];

/** Gates that 1.37 has and 1.36 had not. */
const ADDED: ReadonlySet<string> = new Set(
  `
  APIServerWebhookAuthenticationToken AtomicWriteVolumeUserFields CompositePodGroup
  ConsistentListFromCacheSkipTimeoutFallback DRADerivedAttributes DRADeviceCompatibilityGroups
  DRAFractionalCapacityRange DRAOptionalNodeOperations DRAPartitionableDevicesType
  DefaultPodSysctls EmptyDirVolumeMode EtcdRangeStream EvictionRequestAPI
  ExcludeAdmissionWebhookVirtualResources GRPCContainerProbeTLS H2CContainerProbe HPAGeneration
  HPAOptimizedSelectorStore HugepageAwareEviction InPlacePodVerticalScalingMemoryBackedVolumes
  InPlacePodVerticalScalingSchedulerPreemption InterPodAffinityHostnameFastPath KubeProxyIPVS
  KubeProxyNFTablesLocalhostNodePorts KubeletAllocatedPodsEndpoint NFTablesNetlink
  NodeControllerLeaseCircuitBreaker NodeLifecycleConditions PodGroupPreemptionPolicy
  PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass SchedulerPreQueueingHints
  StaleControllerConsistencyHPA StatefulSetRecreateStrategy VolumeBindMountOptions
  WatchListCompression WebhookRoundTripLoadBalancing`
    .trim()
    .split(/\s+/),
);

const CHANGED_NAMES: ReadonlySet<string> = new Set(CHANGED.map(({ name }) => name));

/**
 * The gates of 1.36. Those that only 1.37 has are there as well and off, so that what asks for them gets an answer.
 */
const GATES_OF_1_36: readonly FeatureGate[] = FEATURE_GATES.filter(
  ({ name }) => !CHANGED_NAMES.has(name),
)
  .map((gate) => (ADDED.has(gate.name) ? { ...gate, default: false } : gate))
  .concat(CHANGED)
  .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** All feature gates of a release, sorted by name. */
export function gatesOfRelease(release: Release): readonly FeatureGate[] {
  switch (release) {
    case "1.36":
      return GATES_OF_1_36;
    case "1.37":
      return FEATURE_GATES;
    default:
      return release satisfies never;
  }
}
