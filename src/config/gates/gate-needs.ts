// pure
/** Which gates need others. */
import type { Release } from "../release.ts";

/** Dependencies that both releases have, or of gates that only 1.37 has. */
const COMMON = `
  ClusterTrustBundleProjection: ClusterTrustBundle
  CompositePodGroup: GenericWorkload TopologyAwareWorkloadScheduling
  DRAAdminAccess: DynamicResourceAllocation
  DRAConsumableCapacity: DynamicResourceAllocation
  DRADerivedAttributes: DynamicResourceAllocation
  DRADeviceBindingConditions: DynamicResourceAllocation DRAResourceClaimDeviceStatus
  DRADeviceCompatibilityGroups: DynamicResourceAllocation DRAPartitionableDevices
  DRADeviceTaintRules: DRADeviceTaints
  DRADeviceTaints: DynamicResourceAllocation
  DRAExtendedResource: DynamicResourceAllocation
  DRAFractionalCapacityRange: DRAConsumableCapacity
  DRAListTypeAttributes: DynamicResourceAllocation
  DRANodeAllocatableResources: DynamicResourceAllocation
  DRAOptionalNodeOperations: DynamicResourceAllocation NodeDeclaredFeatures
  DRAPartitionableDevices: DynamicResourceAllocation
  DRAPartitionableDevicesType: DynamicResourceAllocation DRAPartitionableDevices DRAResourcePoolStatus
  DRAPrioritizedList: DynamicResourceAllocation
  DRAResourceClaimGranularStatusAuthorization: DynamicResourceAllocation DRAResourceClaimDeviceStatus
  DRAResourcePoolStatus: DynamicResourceAllocation
  DRASchedulerFilterTimeout: DynamicResourceAllocation
  DRAWorkloadResourceClaims: DynamicResourceAllocation GenericWorkload
  DeclarativeValidationBeta: DeclarativeValidation
  DeclarativeValidationTakeover: DeclarativeValidation
  DisableAllocatorDualWrite: MultiCIDRServiceAllocator
  ExtendWebSocketsToKubelet: NodeDeclaredFeatures
  GracefulNodeShutdownBasedOnPodPriority: GracefulNodeShutdown
  H2CContainerProbe: NodeDeclaredFeatures
  ImageVolumeWithDigest: ImageVolume
  InPlacePodLevelResourcesVerticalScaling: InPlacePodVerticalScaling PodLevelResources NodeDeclaredFeatures
  InPlacePodVerticalScalingExclusiveCPUs: InPlacePodVerticalScaling
  InPlacePodVerticalScalingExclusiveMemory: InPlacePodVerticalScaling
  InPlacePodVerticalScalingInitContainers: InPlacePodVerticalScaling NodeDeclaredFeatures
  InPlacePodVerticalScalingMemoryBackedVolumes: InPlacePodVerticalScaling NodeDeclaredFeatures
  InPlacePodVerticalScalingSchedulerPreemption: InPlacePodVerticalScaling
  KubeletAllocatedPodsEndpoint: InPlacePodVerticalScaling
  MatchLabelKeysInPodTopologySpreadSelectorMerge: MatchLabelKeysInPodTopologySpread
  NodeControllerLeaseCircuitBreaker: AtomicFIFO
  PodGroupPreemptionPolicy: GenericWorkload
  PodLevelResourceManagers: PodLevelResources
  PodLevelResourcesFixDefaulting: PodLevelResources
  PodLevelResourcesFixKubeletQOSClass: PodLevelResources
  ProcMountType: UserNamespacesSupport
  ResourceHealthStatus: DynamicResourceAllocation
  ResourceHealthStatusMessage: ResourceHealthStatus
  RestartAllContainersOnContainerExits: ContainerRestartRules NodeDeclaredFeatures
  ServiceAccountTokenNodeBinding: ServiceAccountTokenNodeBindingValidation
  StaleControllerConsistencyDaemonSet: AtomicFIFO
  StaleControllerConsistencyHPA: AtomicFIFO
  StaleControllerConsistencyJob: AtomicFIFO
  StaleControllerConsistencyReplicaSet: AtomicFIFO
  StaleControllerConsistencyStatefulSet: AtomicFIFO
  StorageVersionAPI: APIServerIdentity
  TopologyAwareWorkloadScheduling: GenericWorkload
  UnknownVersionInteroperabilityProxy: APIServerIdentity
  UserNamespacesHostNetworkSupport: UserNamespacesSupport NodeDeclaredFeatures
  WindowsGracefulNodeShutdown: GracefulNodeShutdown
  WorkloadWithJob: GenericWorkload`;

/** Those of 1.36 alone. */
const ONLY_IN_1_36 = `
  AuthorizeNodeWithSelectors: AuthorizeWithSelectors
  GangScheduling: GenericWorkload
  PodCertificateRequest: AuthorizeNodeWithSelectors
  PodLifecycleSleepActionAllowZero: PodLifecycleSleepAction
  StructuredAuthenticationConfigurationEgressSelector: StructuredAuthenticationConfiguration
  StructuredAuthenticationConfigurationJWKSMetrics: StructuredAuthenticationConfiguration
  WorkloadAwarePreemption: GangScheduling`;

/** Those of 1.37 alone. */
const ONLY_IN_1_37 = `
  EventedPLEG: PLEGOnDemandRelist`;

const OF_RELEASE: Readonly<Record<Release, ReadonlyMap<string, readonly string[]>>> = {
  "1.36": parseNeeds(COMMON + ONLY_IN_1_36),
  "1.37": parseNeeds(COMMON + ONLY_IN_1_37),
};

function parseNeeds(text: string): ReadonlyMap<string, readonly string[]> {
  return new Map(
    text
      .trim()
      .split("\n")
      .map((line) => {
        const [gate = "", needs = ""] = line.trim().split(": ");
        return [gate, needs.split(" ")];
      }),
  );
}

/** The gates that a gate depends on, by its name. Source: kube_features.go of the release. */
export function gateNeeds(release: Release): ReadonlyMap<string, readonly string[]> {
  return OF_RELEASE[release];
}
