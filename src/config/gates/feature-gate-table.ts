// pure

/** How far a feature has come. */
type GateStage = "alpha" | "beta" | "GA" | "deprecated";

/** A feature gate of Kubernetes 1.36. */
export interface FeatureGate {
  readonly name: string;
  readonly stage: GateStage;
  readonly default: boolean;
  /** Whether it can no longer be set to anything but its default. */
  readonly locked: boolean;
}

function rows(
  stage: GateStage,
  fallback: boolean,
  locked: boolean,
  names: string,
): readonly FeatureGate[] {
  return names
    .trim()
    .split(/\s+/)
    .map((name) => ({ name, stage, default: fallback, locked }));
}

const ALPHA = `
  APIServingWithRoutine AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
  CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
  CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
  ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit
  CrossNamespaceVolumeDataSource DRAListTypeAttributes DRANodeAllocatableResources
  DRAResourcePoolStatus DRAWorkloadResourceClaims EventedPLEG GangScheduling GenericWorkload
  HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
  InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace LoggingAlphaOptions
  ManifestBasedAdmissionControlConfig MemoryQoS MutablePVNodeAffinity NativeHistograms
  PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodLevelResourceManagers
  PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay
  RuntimeClassInImageCriApi ShardedListAndWatch StorageCapacityScoring StorageVersionAPI
  TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
  TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeLimitScaling
  WindowsCPUAndMemoryAffinity WorkloadAwarePreemption WorkloadWithJob`;

const BETA_OFF = `
  ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
  CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring
  MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
  StorageVersionMigrator`;

const BETA_ON = `
  APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
  AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
  CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
  ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
  ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity
  DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices
  DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization
  DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
  DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
  GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride
  InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
  InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax
  KubeletEnsureSecretPulledImages KubeletSeparateDiskGC
  KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
  MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
  MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
  NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching
  PLEGOnDemandRelist PodDeletionCost PodLevelResources PodReadyToStartContainersCondition
  PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences
  RelaxedServiceNameValidation ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
  RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
  RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
  SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
  StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
  StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
  StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
  StructuredAuthenticationConfigurationEgressSelector
  StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
  TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
  UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
  WatchCacheInitializationPostStartHook WatchList WatchListClient WindowsGracefulNodeShutdown`;

const GA_LOCKED = `
  APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
  AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions
  CRDValidationRatcheting CSIMigrationPortworx CSIServiceAccountTokenSecrets ComponentSLIs
  ConsistentListFromCache CustomResourceFieldSelectors DRAAdminAccess   DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
  ExternalServiceAccountTokenSigner HonorPVReclaimPolicy ImageMaximumGCAge ImageVolume
  InPlacePodVerticalScaling JobBackoffLimitPerIndex JobManagedBy
  JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz
  KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
  LogarithmicScaleDown MatchLabelKeysInPodAffinity MemoryManager MultiCIDRServiceAllocator
  MutableCSINodeAllocatableCount NFTablesProxyMode
  NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion
  PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking
  PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
  RecursiveReadOnlyMounts RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
  ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy
  SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController
  ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
  ServiceAccountTokenPodNodeInfo ServiceTrafficDistribution SidecarContainers
  StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
  StructuredAuthenticationConfiguration StructuredAuthorizationConfiguration
  SupplementalGroupsPolicy SystemdWatchdog TopologyAwareHints TopologyManagerPolicyOptions InOrderInformers
  UserNamespacesSupport
  VolumeAttributesClass WinDSR WinOverlay`;

const GA_FREE = `
  AllowServiceExternalIPs CustomCPUCFSQuotaPeriod DRAPrioritizedList InformerResourceVersion
  MutatingAdmissionPolicy`;

const DEPRECATED_OFF = `
  AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
  ChangeContainerStatusOnKubeletRestart DeclarativeValidationTakeover
  InPlacePodVerticalScalingAllocatedStatus KMSv1 KubeletRegistrationGetOnExistsOnly
  WindowsHostNetwork`;

const DEPRECATED_OFF_LOCKED = `
  AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
  WatchFromStorageWithoutResourceVersion`;

const DEPRECATED_ON = `
  DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping
  StorageNamespaceIndex`;

const DEPRECATED_ON_LOCKED = "AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion";

/**
 * All feature gates that a binary of Kubernetes 1.36 knows, sorted by name. The kubelet accepts the gates
 * of every component, since one list serves all. Source: the Go kubelet's feature-gate list,
 * https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/.
 */
export const FEATURE_GATES: readonly FeatureGate[] = [
  ...rows("alpha", false, false, ALPHA),
  ...rows("beta", false, false, BETA_OFF),
  ...rows("beta", true, false, BETA_ON),
  ...rows("GA", true, true, GA_LOCKED),
  ...rows("GA", true, false, GA_FREE),
  ...rows("deprecated", false, false, DEPRECATED_OFF),
  ...rows("deprecated", true, false, DEPRECATED_ON),
  ...rows("deprecated", false, true, DEPRECATED_OFF_LOCKED),
  ...rows("deprecated", true, true, DEPRECATED_ON_LOCKED),
].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Gates that a gate depends on; only those that concern a node. */
export const GATE_NEEDS: ReadonlyMap<string, readonly string[]> = new Map([
  ["ClusterTrustBundleProjection", ["ClusterTrustBundle"]],
  ["DRADeviceTaintRules", ["DRADeviceTaints"]],
  ["GangScheduling", ["GenericWorkload"]],
  ["GracefulNodeShutdownBasedOnPodPriority", ["GracefulNodeShutdown"]],
  ["ImageVolumeWithDigest", ["ImageVolume"]],
  [
    "InPlacePodLevelResourcesVerticalScaling",
    ["InPlacePodVerticalScaling", "PodLevelResources", "NodeDeclaredFeatures"],
  ],
  ["InPlacePodVerticalScalingExclusiveCPUs", ["InPlacePodVerticalScaling"]],
  ["InPlacePodVerticalScalingExclusiveMemory", ["InPlacePodVerticalScaling", "MemoryManager"]],
  ["MatchLabelKeysInPodTopologySpreadSelectorMerge", ["MatchLabelKeysInPodTopologySpread"]],
  ["RestartAllContainersOnContainerExits", ["ContainerRestartRules", "NodeDeclaredFeatures"]],
  ["UserNamespacesHostNetworkSupport", ["UserNamespacesSupport"]],
  ["WindowsCPUAndMemoryAffinity", ["MemoryManager"]],
  ["WindowsGracefulNodeShutdown", ["GracefulNodeShutdown"]],
]);

/** Gates that change something in nodelet; add a name when its behaviour is built. */
export const ACTIVE_GATES: ReadonlySet<string> = new Set([
  "ComponentFlagz",
  "ComponentStatusz",
  "CustomCPUCFSQuotaPeriod",
  "ExtendWebSocketsToKubelet",
  "GracefulNodeShutdown",
  "GracefulNodeShutdownBasedOnPodPriority",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScaling",
  "InPlacePodVerticalScalingExclusiveCPUs",
  "InPlacePodVerticalScalingExclusiveMemory",
  "InPlacePodVerticalScalingInitContainers",
  "KubeletCrashLoopBackOffMax",
  "KubeletEnsureSecretPulledImages",
  "MemoryQoS",
  "NodeDeclaredFeatures",
  "NodeLogQuery",
  "PodLogsQuerySplitStreams",
  "QOSReserved",
  "ReduceDefaultCrashLoopBackOffDecay",
  "ResourceHealthStatus",
  "RotateKubeletServerCertificate",
  "UserNamespacesHostNetworkSupport",
]);
