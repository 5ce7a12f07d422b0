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

/** Runtime features that pods may require of a node. */
export interface RuntimeAbilities {
  /** Own users for a pod in the network of the node. */
  readonly userNamespacesHostNetwork: boolean;
}

/** `status.declaredFeatures` of the node, sorted; `undefined` without the gate NodeDeclaredFeatures. */
export function declaredFeatures(
  gates: FeatureGates,
  { userNamespacesHostNetwork }: RuntimeAbilities,
): readonly string[] | undefined {
  if (!gates.isEnabled("NodeDeclaredFeatures")) return undefined;
  const able = userNamespacesHostNetwork ? [...DECLARED, USERNS_HOST_NETWORK] : DECLARED;
  return able.filter((name) => gates.isEnabled(name)).toSorted();
}
