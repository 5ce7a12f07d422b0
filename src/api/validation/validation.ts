// pure

import {
  duplicate,
  type FieldProblem,
  forbidden,
  invalid,
  required,
  unsupported,
} from "../decode/field-problem.ts";
import type { Pod, PodResourceClaim, PodSpec } from "../generated/types.ts";
import {
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  inclusiveRange,
  qualifiedNameFaults,
} from "../text/names.ts";
import { containersProblems } from "./containers.ts";
import { child, eachOf, FINE, faultsAt, ifSet, type Problems } from "./fields.ts";
import { labelProblems, metadataProblems, podAnnotationProblems } from "./metadata.ts";
import { networkProblems } from "./network.ts";
import { profileAnnotationProblems } from "./profile-annotations.ts";
import { overheadProblems, podResourceProblems } from "./resources.ts";
import {
  affinityProblems,
  schedulingGateProblems,
  tolerationProblems,
  topologySpreadProblems,
} from "./scheduling.ts";
import { podSecurityContextProblems } from "./security.ts";
import { tokenWithoutAccountProblems } from "./volumes/projected.ts";
import { checkVolumes } from "./volumes/volumes.ts";
import { hostProcessProblems, linuxPodProblems, windowsPodProblems } from "./windows.ts";

export interface PodValidationOptions {
  /** Whether the pod is only now coming into being; a new one has no ephemeral containers. Default true. */
  readonly isNew?: boolean;
  /** Whether privileged containers are allowed on this node. Default true. */
  readonly allowPrivileged?: boolean;
  /** Whether pods in the node's network may have users of their own (gate of that name). Default false. */
  readonly userNamespacesHostNetwork?: boolean;
}

const MAX_INT32 = 2 ** 31 - 1;
const RESTART_POLICIES = ["Always", "OnFailure", "Never"] as const;
const PREEMPTION_POLICIES = ["PreemptLowerPriority", "Never"] as const;
const OS_NAMES = ["linux", "windows"] as const;

/** A field that names another object; absent or empty is fine. */
const objectName = (path: string, name: string | undefined): Problems =>
  name === undefined || name === "" ? FINE : faultsAt(path, name, dns1123SubdomainFaults(name));

function claimsProblems(claims: readonly PodResourceClaim[] | undefined, path: string): Problems {
  const names = new Set<string>();
  return eachOf(claims, path, (claim, at) => {
    const { name, resourceClaimName: own, resourceClaimTemplateName: template } = claim;
    const again = names.has(name);
    names.add(name);
    return [
      ...(name === ""
        ? [required(child(at, "name"))]
        : again
          ? [duplicate(child(at, "name"), name)]
          : faultsAt(child(at, "name"), name, dns1123LabelFaults(name))),
      ...(own !== undefined && template !== undefined
        ? [
            invalid(
              at,
              claim,
              "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            ),
          ]
        : []),
      ...(own === undefined && template === undefined
        ? [
            invalid(
              at,
              claim,
              "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            ),
          ]
        : []),
      ...ifSet(own, (text) =>
        faultsAt(child(at, "resourceClaimName"), text, dns1123SubdomainFaults(text)),
      ),
      ...ifSet(template, (text) =>
        faultsAt(child(at, "resourceClaimTemplateName"), text, dns1123SubdomainFaults(text)),
      ),
    ];
  });
}

function policyProblems(spec: PodSpec): readonly FieldProblem[] {
  const { restartPolicy = "", preemptionPolicy, activeDeadlineSeconds: deadline } = spec;
  const oneOf = (path: string, value: string, supported: readonly string[]) =>
    value === ""
      ? [required(path)]
      : supported.includes(value)
        ? []
        : [unsupported(path, value, supported)];
  return [
    ...oneOf("spec.restartPolicy", restartPolicy, RESTART_POLICIES),
    ...(spec.terminationGracePeriodSeconds === undefined
      ? [required("spec.terminationGracePeriodSeconds")]
      : []),
    ...(deadline !== undefined && (deadline < 1 || deadline > MAX_INT32)
      ? [invalid("spec.activeDeadlineSeconds", deadline, inclusiveRange(1, MAX_INT32))]
      : []),
    ...(preemptionPolicy === undefined
      ? []
      : oneOf("spec.preemptionPolicy", preemptionPolicy, PREEMPTION_POLICIES)),
  ];
}

function referenceProblems(spec: PodSpec): Problems {
  return [
    ...objectName("spec.serviceAccountName", spec.serviceAccountName),
    ...objectName("spec.nodeName", spec.nodeName),
    ...objectName("spec.priorityClassName", spec.priorityClassName),
    ...ifSet(spec.runtimeClassName, (name) =>
      faultsAt("spec.runtimeClassName", name, dns1123SubdomainFaults(name)),
    ),
    ...ifSet(spec.schedulingGroup, ({ podGroupName }) =>
      podGroupName === undefined
        ? [
            invalid(
              "spec.schedulingGroup.podGroupName",
              null,
              "must specify one of: `podGroupName`",
            ),
          ]
        : faultsAt(
            "spec.schedulingGroup.podGroupName",
            podGroupName,
            dns1123SubdomainFaults(podGroupName),
          ),
    ),
  ];
}

function osProblems(spec: PodSpec): Problems {
  const name = spec.os?.name;
  if (name === undefined) return FINE;
  if (name === "") return [required("spec.os.name")];
  if (name === "linux") return linuxPodProblems(spec);
  return name === "windows" ? windowsPodProblems(spec) : [unsupported("spec.os", name, OS_NAMES)];
}

function placementProblems(spec: PodSpec): Problems {
  return [
    ...labelProblems(spec.nodeSelector, "spec.nodeSelector"),
    ...ifSet(spec.affinity, (affinity) => affinityProblems(affinity, "spec.affinity")),
    ...eachOf(spec.readinessGates, "spec.readinessGates", ({ conditionType }, at) =>
      faultsAt(child(at, "conditionType"), conditionType, qualifiedNameFaults(conditionType)),
    ),
    ...schedulingGateProblems(spec.schedulingGates, "spec.schedulingGates"),
    ...topologySpreadProblems(spec.topologySpreadConstraints, "spec.topologySpreadConstraints"),
    ...tolerationProblems(spec.tolerations, "spec.tolerations"),
  ];
}

function creationProblems(spec: PodSpec): Problems {
  return [
    ...((spec.ephemeralContainers ?? []).length > 0
      ? [forbidden("spec.ephemeralContainers", "cannot be set on create")]
      : []),
    ...((spec.nodeName ?? "") !== "" && (spec.schedulingGates ?? []).length > 0
      ? [forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")]
      : []),
  ];
}

function specProblems(pod: Pod, spec: PodSpec, options: PodValidationOptions): Problems {
  const { allowPrivileged = true } = options;
  const { usable, problems } = checkVolumes(pod);
  return [
    ...problems,
    ...claimsProblems(spec.resourceClaims, "spec.resourceClaims"),
    ...containersProblems({ pod, spec, volumes: usable, allowPrivileged }),
    ...podResourceProblems(spec, "spec.resources"),
    ...policyProblems(spec),
    ...podSecurityContextProblems(spec),
    ...networkProblems(spec, options.userNamespacesHostNetwork),
    ...placementProblems(spec),
    ...hostProcessProblems(spec, allowPrivileged),
    ...referenceProblems(spec),
    ...overheadProblems(spec.overhead, "spec.overhead"),
    ...osProblems(spec),
    ...((spec.serviceAccountName ?? "") === "" ? tokenWithoutAccountProblems(spec.volumes) : FINE),
  ];
}

/**
 * Everything the API server of 1.36 would not accept about a decoded and defaulted pod, in its own words.
 * When the API server leaves an index out of a path or misspells a field, ours is the real path.
 * Source: `pkg/apis/core/validation`.
 */
export function validatePod(pod: Pod, options: PodValidationOptions = {}): Problems {
  const { isNew = true } = options;
  const spec = pod.spec ?? { containers: [] };
  return [
    ...metadataProblems(pod.metadata ?? {}, "metadata"),
    ...podAnnotationProblems(pod),
    ...specProblems(pod, spec, options),
    ...(isNew ? [...creationProblems(spec), ...profileAnnotationProblems(pod)] : FINE),
  ];
}
