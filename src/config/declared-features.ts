// pure
import type { FeatureGates } from "./feature-gates.ts";

/**
 * What this agent can do for pods that other kubelets may not, by the gates of the same names. Without them an API
 * server forbids what needs them, e.g. a resize of an init container (KEP-5328).
 */
const DECLARED = [
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "RestartAllContainersOnContainerExits",
] as const;

/** `status.declaredFeatures` of the node, sorted; `undefined` without the gate NodeDeclaredFeatures. */
export function declaredFeatures(gates: FeatureGates): readonly string[] | undefined {
  if (!gates.isEnabled("NodeDeclaredFeatures")) return undefined;
  return DECLARED.filter((name) => gates.isEnabled(name)).toSorted();
}
