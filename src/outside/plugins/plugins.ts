/**
 * The words of plugins: messages and methods of their gRPC interfaces as Kubernetes publishes them. Only
 * generated code and names for it; connections are `grpc/grpc.ts`'s.
 */
import {
  IdentityDefinition,
  NodeDefinition,
  NodeServiceCapability_RPC_Type,
  VolumeCapability_AccessMode_Mode,
  VolumeUsage_Unit,
} from "./generated/csi-v1/api.ts";
import {
  DevicePluginDefinition,
  RegistrationDefinition as DeviceRegistrationDefinition,
} from "./generated/deviceplugin-v1beta1/api.ts";
import { DRAResourceHealthDefinition } from "./generated/dra-health-v1/api.ts";
import { DRAPluginDefinition } from "./generated/dra-v1/api.ts";
import { RegistrationDefinition } from "./generated/pluginregistration-v1/api.ts";
import { PodResourcesListerDefinition } from "./generated/podresources-v1/api.ts";
import { PodResourcesListerDefinition as PodResourcesListerV1alpha1 } from "./generated/podresources-v1alpha1/api.ts";
import { EventType, PodsDefinition } from "./generated/pods-v1alpha1/api.ts";

export type {
  NodeExpandVolumeRequest,
  NodeGetVolumeStatsResponse,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  VolumeCapability,
} from "./generated/csi-v1/api.ts";
export type {
  Device,
  DevicePluginOptions,
  DeviceSpec,
  RegisterRequest,
} from "./generated/deviceplugin-v1beta1/api.ts";
export { ContainerAllocateResponse } from "./generated/deviceplugin-v1beta1/api.ts";
export type { NodeWatchResourcesResponse } from "./generated/dra-health-v1/api.ts";
export type {
  NodePrepareResourcesResponse,
  NodeUnprepareResourcesResponse,
} from "./generated/dra-v1/api.ts";
export type { PluginInfo } from "./generated/pluginregistration-v1/api.ts";
export type {
  AllocatableResourcesResponse,
  ContainerDevices,
  ContainerMemory,
  ContainerResources,
  DynamicResource,
  PodResources,
} from "./generated/podresources-v1/api.ts";
export type {
  ContainerResources as ContainerResourcesV1alpha1,
  PodResources as PodResourcesV1alpha1,
} from "./generated/podresources-v1alpha1/api.ts";
export type {
  GetPodRequest,
  GetPodResponse,
  ListPodsResponse,
  WatchPodsEvent,
} from "./generated/pods-v1alpha1/api.ts";

/** Service that device plugins call at the agent (`v1beta1.Registration`). */
export const DEVICE_REGISTRATION = DeviceRegistrationDefinition;
/** Service that the agent calls at device plugins (`v1beta1.DevicePlugin`). */
export const DEVICE_PLUGIN = DevicePluginDefinition;
/** Service that the agent calls at plugins in the registry folder (`pluginregistration.Registration`). */
export const PLUGIN_REGISTRATION = RegistrationDefinition;
/** Service that monitors call at the agent (`v1.PodResourcesLister`). */
export const POD_RESOURCES = PodResourcesListerDefinition;
/** The same as it was first (`v1alpha1.PodResourcesLister`). */
export const POD_RESOURCES_V1ALPHA1 = PodResourcesListerV1alpha1;
/** Service that programs of the node call at the agent (`v1alpha1.Pods`). */
export const PODS_API = PodsDefinition;
/** Types of its events. */
export const POD_EVENT_TYPE = EventType;
/** Service of a CSI driver that says what it is (`csi.v1.Identity`). */
export const CSI_IDENTITY = IdentityDefinition;
/** Service of a CSI driver for volumes on this node (`csi.v1.Node`). */
export const CSI_NODE = NodeDefinition;
/** What the node's part of a driver may be able to do. */
export const CSI_CAPABILITY = NodeServiceCapability_RPC_Type;
/** Who may use a volume from where. */
export const CSI_ACCESS_MODE = VolumeCapability_AccessMode_Mode;
/** What figures of a volume count. */
export const CSI_USAGE_UNIT = VolumeUsage_Unit;
/** Service that the agent calls at drivers of dynamic resource allocation (`v1.DRAPlugin`); v1beta1 is the same on the wire. */
export const DRA_PLUGIN = DRAPluginDefinition;
/** Service by which drivers report the health of their devices (`v1.DRAResourceHealth`). */
export const DRA_HEALTH = DRAResourceHealthDefinition;
