// pure
import type { AppArmorProfile, Container, Pod } from "../../api/generated/types.ts";
import { allContainers, annotationOf } from "../../api/pod/pod.ts";

/** Security features that kernel and runtime enforce. */
export interface NodeSecurity {
  readonly appArmor: boolean;
  /** Whether the runtime can leave out the groups that an image names for its user. */
  readonly strictGroups: boolean;
}

const APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/";

/** Whether any container is to run under an AppArmor profile (security/apparmor isRequired). */
export function needsAppArmor(pod: Pod): boolean {
  const ofPod = pod.spec?.securityContext?.appArmorProfile;
  return allContainers(pod).some(({ container }) => {
    const own: AppArmorProfile | undefined = (container as Container).securityContext
      ?.appArmorProfile;
    const profile = own ?? ofPod;
    if (profile) return profile.type !== "Unconfined";
    const annotated = annotationOf(pod, APPARMOR_ANNOTATION + container.name) ?? "";
    return annotated !== "" && annotated !== "unconfined";
  });
}

/** Whether the pod asks for no groups but those of its spec. */
export const requiresStrictGroups = (pod: Pod): boolean =>
  pod.spec?.securityContext?.supplementalGroupsPolicy === "Strict";

/** Why the node cannot confine the pod as it asks; `undefined` when it can. */
export function unenforceable(
  pod: Pod,
  { appArmor, strictGroups }: NodeSecurity,
): { readonly reason: string; readonly message: string } | undefined {
  if (needsAppArmor(pod) && !appArmor)
    return {
      reason: "AppArmor",
      message: "Cannot enforce AppArmor: AppArmor is not enabled on the host",
    };
  if (requiresStrictGroups(pod) && !strictGroups)
    return {
      reason: "SupplementalGroupsPolicyNotSupported",
      message: "SupplementalGroupsPolicy=Strict is not supported in this node",
    };
  return undefined;
}
