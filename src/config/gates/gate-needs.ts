// pure
/** Which gates need others. */
import type { Release } from "../release.ts";

/** Gates that a gate depends on in every release; only those that concern a node. */
const NEEDS: readonly (readonly [gate: string, needs: readonly string[]])[] = [
  ["ClusterTrustBundleProjection", ["ClusterTrustBundle"]],
  ["DRADeviceTaintRules", ["DRADeviceTaints"]],
  ["DRAOptionalNodeOperations", ["DynamicResourceAllocation", "NodeDeclaredFeatures"]],
  ["GracefulNodeShutdownBasedOnPodPriority", ["GracefulNodeShutdown"]],
  ["H2CContainerProbe", ["NodeDeclaredFeatures"]],
  ["ImageVolumeWithDigest", ["ImageVolume"]],
  [
    "InPlacePodLevelResourcesVerticalScaling",
    ["InPlacePodVerticalScaling", "PodLevelResources", "NodeDeclaredFeatures"],
  ],
  ["InPlacePodVerticalScalingExclusiveCPUs", ["InPlacePodVerticalScaling"]],
  ["InPlacePodVerticalScalingExclusiveMemory", ["InPlacePodVerticalScaling", "MemoryManager"]],
  [
    "InPlacePodVerticalScalingMemoryBackedVolumes",
    ["InPlacePodVerticalScaling", "NodeDeclaredFeatures"],
  ],
  ["InPlacePodVerticalScalingSchedulerPreemption", ["InPlacePodVerticalScaling"]],
  ["KubeletAllocatedPodsEndpoint", ["InPlacePodVerticalScaling"]],
  ["MatchLabelKeysInPodTopologySpreadSelectorMerge", ["MatchLabelKeysInPodTopologySpread"]],
  ["PodLevelResourcesFixDefaulting", ["PodLevelResources"]],
  ["PodLevelResourcesFixKubeletQOSClass", ["PodLevelResources"]],
  ["RestartAllContainersOnContainerExits", ["ContainerRestartRules", "NodeDeclaredFeatures"]],
  ["UserNamespacesHostNetworkSupport", ["UserNamespacesSupport"]],
  ["WindowsCPUAndMemoryAffinity", ["MemoryManager"]],
  ["WindowsGracefulNodeShutdown", ["GracefulNodeShutdown"]],
];

const OF_RELEASE: Readonly<Record<Release, ReadonlyMap<string, readonly string[]>>> = {
  "1.36": new Map([...NEEDS, ["GangScheduling", ["GenericWorkload"]]]),
  "1.37": new Map([...NEEDS, ["EventedPLEG", ["PLEGOnDemandRelist"]]]),
};

/** The gates that a gate depends on, by its name. Source: kube_features.go of the release. */
export function gateNeeds(release: Release): ReadonlyMap<string, readonly string[]> {
  return OF_RELEASE[release];
}
