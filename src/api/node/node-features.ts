// pure
/**
 * Features of nodes that pods need (KEP-5328 Node Declared Features; component-helpers/nodedeclaredfeatures). The same
 * rules hold in the agent, which refuses a pod it cannot serve, and in an API server, which refuses an update.
 */

import type { Pod } from "../generated/types.ts";
import { isSameResources } from "../pod/allocation.ts";
import { allContainers, isRestartableInit, mayRestartAll } from "../pod/pod.ts";

/** Names of features that a pod or a change of a pod can need. */
type NodeFeature =
  | "InPlacePodLevelResourcesVerticalScaling"
  | "InPlacePodVerticalScalingInitContainers"
  | "RestartAllContainersOnContainerExits"
  | "UserNamespacesHostNetworkSupport"
  | "VolumeBindMountOptions";

/** Node features that a new pod requires, sorted (InferForPodScheduling). */
export function featuresForPod(pod: Pod): readonly NodeFeature[] {
  const { hostNetwork, hostUsers } = pod.spec ?? {};
  return [
    ...(mayRestartAll(pod) ? (["RestartAllContainersOnContainerExits"] as const) : []),
    ...(hostNetwork === true && hostUsers === false
      ? (["UserNamespacesHostNetworkSupport"] as const)
      : []),
    ...(saysMountOptions(pod) ? (["VolumeBindMountOptions"] as const) : []),
  ];
}

function saysMountOptions(pod: Pod): boolean {
  return allContainers(pod).some(({ container: { volumeMounts = [] } }) =>
    volumeMounts.some(({ bindMountOptions = [] }) => bindMountOptions.length > 0),
  );
}

/** Node features that an update of a pod requires, sorted (InferForPodUpdate). */
export function featuresForUpdate(before: Pod, now: Pod): readonly NodeFeature[] {
  const resizesPod = !isSameResources(before.spec?.resources, now.spec?.resources);
  const asked = new Map((now.spec?.initContainers ?? []).map((each) => [each.name, each]));
  const resizesInit = (before.spec?.initContainers ?? []).some(
    (old) =>
      !isRestartableInit(old) && !isSameResources(old.resources, asked.get(old.name)?.resources),
  );
  return [
    ...(resizesPod ? (["InPlacePodLevelResourcesVerticalScaling"] as const) : []),
    ...(resizesInit ? (["InPlacePodVerticalScalingInitContainers"] as const) : []),
  ];
}

/** Those of `needed` that a node with `declared` has not, with `, ` between them; undefined when it has all. */
export function missingFeatures(
  needed: readonly NodeFeature[],
  declared: readonly string[],
): string | undefined {
  const missing = needed.filter((name) => !declared.includes(name));
  return missing.length === 0 ? undefined : missing.join(", ");
}
