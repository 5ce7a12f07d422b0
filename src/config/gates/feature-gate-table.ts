// pure

/** How far a feature has come. */
type GateStage = "alpha" | "beta" | "GA" | "deprecated";

/** A feature gate of Kubernetes. */
export interface FeatureGate {
  readonly name: string;
  readonly stage: GateStage;
  readonly default: boolean;
  /** Whether it can no longer be set to anything but its default. */
  readonly locked: boolean;
}

/** Gates of one stage, default and lock from their names, which white space separates. */
export function gateRows(
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

// Kubernetes 1.37, one list for each stage, default and lock.

const ALPHA = `
  APIServerWebhookAuthenticationToken APIServingWithRoutine AtomicWriteVolumeUserFields
  CBORServingAndStorage CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth
  ClientsAllowCBOR ClientsPreferCBOR CloudControllerManagerWatchBasedRoutesReconciliation
  CloudControllerManagerWebhook CompositePodGroup ConsistentListFromCacheSkipTimeoutFallback
  ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit
  CrossNamespaceVolumeDataSource DRADerivedAttributes DRADeviceCompatibilityGroups
  DRAListTypeAttributes DRANodeAllocatableResources DRAOptionalNodeOperations
  DRAPartitionableDevicesType DRAResourcePoolStatus DefaultPodSysctls EmptyDirVolumeMode
  EventedPLEG EvictionRequestAPI GRPCContainerProbeTLS H2CContainerProbe ImageVolumeWithDigest
  InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
  InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption
  InterPodAffinityHostnameFastPath KubeProxyNFTablesLocalhostNodePorts
  KubeletAllocatedPodsEndpoint LoggingAlphaOptions MutablePVNodeAffinity NodeLifecycleConditions
  PodGroupPreemptionPolicy PodLogsQuerySplitStreams QOSReserved
  ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SchedulerPreQueueingHints
  ShardedListAndWatch StatefulSetRecreateStrategy StorageVersionAPI
  TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
  TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeBindMountOptions
  WindowsCPUAndMemoryAffinity WorkloadWithJob`;

const BETA_OFF = `
  CoordinatedLeaderElection DRAFractionalCapacityRange DRAWorkloadResourceClaims GenericWorkload
  LocalStorageCapacityIsolationFSQuotaMonitoring PodAndContainerStatsFromCRI
  PodLevelResourceManagers SchedulerAsyncAPICalls`;

const BETA_ON = `
  APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth
  AllowUnsafeMalformedObjectDeletion AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission
  CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
  ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation ClientsAllowTLSCacheGC
  ComponentFlagz ComponentStatusz ConcurrentWatchObjectDecode ConstrainedImpersonation
  ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity
  DRADeviceBindingConditions DRAPartitionableDevices
  DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout
  DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency
  EnvFiles EtcdRangeStream ExcludeAdmissionWebhookVirtualResources ExtendWebSocketsToKubelet
  GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAGeneration
  HPAOptimizedSelectorStore HPAScaleToZero HugepageAwareEviction InOrderInformersBatchProcess
  InPlacePodLevelResourcesVerticalScaling KubeletCrashLoopBackOffMax
  KubeletEnsureSecretPulledImages KubeletInUserNamespace KubeletSeparateDiskGC
  KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
  ManifestBasedAdmissionControlConfig MatchLabelKeysInPodTopologySpread
  MatchLabelKeysInPodTopologySpreadSelectorMerge MaxUnavailableStatefulSet MemoryQoS
  MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
  NFTablesNetlink NativeHistograms NodeControllerLeaseCircuitBreaker
  NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching
  PersistentVolumeClaimUnusedSinceTime PodDeletionCost PodLevelResources
  PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodTopologyLabelsAdmission
  PodsAPI PortForwardWebsockets ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
  RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
  RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
  SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
  StaleControllerConsistencyDaemonSet StaleControllerConsistencyHPA
  StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
  StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison
  StorageCapacityScoring StorageVersionHash StrictIPCIDRValidation
  StructuredAuthenticationConfigurationEgressSelector
  StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
  TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
  UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
  UnlockWhileProcessingFIFO VolumeLimitScaling WatchList WatchListClient WatchListCompression
  WebhookRoundTripLoadBalancing WindowsGracefulNodeShutdown`;

const GA_LOCKED = `
  CPUManagerPolicyOptions CRDValidationRatcheting
  CSIServiceAccountTokenSecrets CustomResourceFieldSelectors DRAAdminAccess
  DRAExtendedResource DRAPrioritizedList DRAResourceClaimDeviceStatus DeclarativeValidation
  DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
  ExternalServiceAccountTokenSigner HPAConfigurableTolerance
  HostnameOverride ImageMaximumGCAge ImageVolume InOrderInformers InPlacePodVerticalScaling
  InPlacePodVerticalScalingInitContainers JobManagedBy KubeletCgroupDriverFromCRI
  KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet
  KubeletTracing MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
  MutableCSINodeAllocatableCount NFTablesProxyMode NodeDeclaredFeatures
  NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap PLEGOnDemandRelist
  PodObservedGenerationTracking PodReadyToStartContainersCondition PodSchedulingReadiness
  PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
  RecursiveReadOnlyMounts RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation
  SELinuxChangePolicy SELinuxMountReadWriteOncePod SeparateTaintEvictionController
  ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
  ServiceAccountTokenPodNodeInfo
  SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions
  UserNamespacesSupport VolumeAttributesClass WatchCacheInitializationPostStartHook WinDSR
  WinOverlay`;

const GA_FREE = `
  AllowServiceExternalIPs ClusterTrustBundle ClusterTrustBundleProjection
  CustomCPUCFSQuotaPeriod DRADeviceTaintRules DRADeviceTaints InformerResourceVersion
  MutatingAdmissionPolicy PodCertificateRequest SELinuxMount StorageVersionMigrator`;

const DEPRECATED_OFF = `
  AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
  ChangeContainerStatusOnKubeletRestart KMSv1
  KubeletRegistrationGetOnExistsOnly WindowsHostNetwork`;

const DEPRECATED_ON = `
  KubeProxyIPVS KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping
  StorageNamespaceIndex`;

const DEPRECATED_OFF_LOCKED = `
  AllowOverwriteTerminationGracePeriodSeconds DeclarativeValidationTakeover GitRepoVolumeDriver
  SeparateCacheWatchRPC `;

const DEPRECATED_ON_LOCKED = `
  AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion`;

/**
 * All feature gates that a binary of Kubernetes 1.37 knows, sorted by name. The kubelet accepts the gates
 * of every component, since one list serves all. Source: the Go kubelet's feature-gate list,
 * https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/.
 */
export const FEATURE_GATES: readonly FeatureGate[] = [
  ...gateRows("alpha", false, false, ALPHA),
  ...gateRows("beta", false, false, BETA_OFF),
  ...gateRows("beta", true, false, BETA_ON),
  ...gateRows("GA", true, true, GA_LOCKED),
  ...gateRows("GA", true, false, GA_FREE),
  ...gateRows("deprecated", false, false, DEPRECATED_OFF),
  ...gateRows("deprecated", true, false, DEPRECATED_ON),
  ...gateRows("deprecated", false, true, DEPRECATED_OFF_LOCKED),
  ...gateRows("deprecated", true, true, DEPRECATED_ON_LOCKED),
].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Gates that change something in nodelet; add a name when its behaviour is built. */
export const ACTIVE_GATES: ReadonlySet<string> = new Set([
  "ComponentFlagz",
  "ComponentStatusz",
  "CustomCPUCFSQuotaPeriod",
  "DefaultPodSysctls",
  "EmptyDirVolumeMode",
  "ExtendWebSocketsToKubelet",
  "GRPCContainerProbeTLS",
  "GracefulNodeShutdown",
  "GracefulNodeShutdownBasedOnPodPriority",
  "H2CContainerProbe",
  "HugepageAwareEviction",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScaling",
  "InPlacePodVerticalScalingExclusiveCPUs",
  "InPlacePodVerticalScalingExclusiveMemory",
  "InPlacePodVerticalScalingInitContainers",
  "InPlacePodVerticalScalingSchedulerPreemption",
  "KubeletAllocatedPodsEndpoint",
  "KubeletCrashLoopBackOffMax",
  "KubeletEnsureSecretPulledImages",
  "KubeletInUserNamespace",
  "CPUManagerPolicyAlphaOptions",
  "CPUManagerPolicyBetaOptions",
  "DisableCPUQuotaWithExclusiveCPUs",
  "MemoryQoS",
  "NodeDeclaredFeatures",
  "NodeLogQuery",
  "PodLevelResourceManagers",
  "PodLevelResourcesFixDefaulting",
  "PodLevelResourcesFixKubeletQOSClass",
  "PodLogsQuerySplitStreams",
  "PodsAPI",
  "QOSReserved",
  "ReduceDefaultCrashLoopBackOffDecay",
  "ResourceHealthStatus",
  "RotateKubeletServerCertificate",
  "UserNamespacesHostNetworkSupport",
  "VolumeBindMountOptions",
]);
