// pure
import type { FeatureGates } from "./feature-gates.ts";

/**
 * Features of this agent that other kubelets may not have, by the gates of the same names. Without them an API
 * server forbids requests that need them, e.g. a resize of an init container (KEP-5328).
 */
const DECLARED = [
  "ExtendWebSocketsToKubelet",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "RestartAllContainersOnContainerExits",
] as const;

/** Declared only where the runtime can do it. */
const USERNS_HOST_NETWORK = "UserNamespacesHostNetworkSupport";
const BIND_OPTIONS = "VolumeBindMountOptions";

/** Runtime features that pods may require of a node. */
export interface RuntimeAbilities {
  /** Own users for a pod in the network of the node. */
  readonly userNamespacesHostNetwork: boolean;
  /** Options of bind mounts that a pod says. */
  readonly mountOptions: boolean;
}

/** `status.declaredFeatures` of the node, sorted; `undefined` without the gate NodeDeclaredFeatures. */
export function declaredFeatures(
  gates: FeatureGates,
  { userNamespacesHostNetwork, mountOptions }: RuntimeAbilities,
): readonly string[] | undefined {
  if (!gates.isEnabled("NodeDeclaredFeatures")) return undefined;
  const able = [
    ...DECLARED,
    ...(userNamespacesHostNetwork ? [USERNS_HOST_NETWORK] : []),
    ...(mountOptions && gates.isEnabled("VolumeBindMountOptions") ? [BIND_OPTIONS] : []),
  ];
  return able.filter((name) => gates.isEnabled(name)).toSorted();
}
