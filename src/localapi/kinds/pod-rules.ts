// pure

import { forbidden, invalid } from "../../api/decode/field-problem.ts";
import { isSame } from "../../api/decode/strategic-diff.ts";
import type { Container, Pod, PodSpec, Toleration } from "../../api/generated/types.ts";
import { allocationOf, isSameAllocation } from "../../api/pod/allocation.ts";
import { isTerminalPhase } from "../../api/pod/pod.ts";
import { defaultPod } from "../../api/pod/pod-defaults.ts";
import { computeQosClass } from "../../api/pod/qos.ts";
import { withPodLevelDefaults } from "../../api/pod/resource-defaults.ts";
import type { Problems } from "../../api/validation/fields.ts";
import {
  podStatusProblems,
  withAgreeingIps,
  withQosClass,
} from "../../api/validation/pod-status.ts";
import { podWarnings } from "../../api/validation/pod-warnings.ts";
import { validatePod } from "../../api/validation/validation.ts";
import type { ApiObject } from "../api-object.ts";
import type { KindRules } from "../kind.ts";
import { resizeProblems } from "./resize-rules.ts";

const DEFAULT_GRACE_SECONDS = 30;
const MIRROR = "kubernetes.io/config.mirror";

/** An object of a kind has the fields of its type: it was decoded. */
const podOf = (object: ApiObject): Pod => object as unknown as Pod;
const objectOf = (pod: Pod): ApiObject => pod as unknown as ApiObject;

/** Taints of a failing node that a pod tolerates for a while (DefaultTolerationSeconds). */
const TOLERATED = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const TOLERATED_SECONDS = 300;

function withTolerations(spec: PodSpec): PodSpec {
  const present = spec.tolerations ?? [];
  const covers = ({ key, effect = "" }: Toleration, taint: string) =>
    (key === taint || (key ?? "") === "") && (effect === "NoExecute" || effect === "");
  const missing = TOLERATED.filter((taint) => !present.some((each) => covers(each, taint)));
  if (missing.length === 0) return spec;
  const added = missing.map((key) => ({
    key,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: TOLERATED_SECONDS,
  }));
  return { ...spec, tolerations: [...present, ...added] };
}

function begin(object: ApiObject): ApiObject {
  const pod = withPodLevelDefaults(podOf(object));
  const isMirror = pod.metadata?.annotations?.[MIRROR] !== undefined;
  const spec = pod.spec ?? { containers: [] };
  return objectOf({
    ...pod,
    metadata: { ...pod.metadata, generation: 1 },
    spec: isMirror ? spec : withTolerations(spec),
    // A mirror pod shows what its node makes of it from the beginning.
    status: { phase: "Pending", qosClass: computeQosClass(pod) },
  });
}

/**
 * The pod with pod-level resources that its client may not know of: they stay where they are left out, and are completed
 * where resources change (strategy.go PrepareForUpdate).
 */
function withOwnResources(now: Pod, before: Pod): Pod {
  const kept = before.spec?.resources;
  const whole = now.spec && !now.spec.resources && kept;
  const pod = whole ? { ...now, spec: { ...now.spec, resources: kept } } : now;
  return isSameAllocation(allocationOf(pod), allocationOf(before))
    ? pod
    : withPodLevelDefaults(pod);
}

/** Fields of the spec that a running pod may change. */
function changeable(spec: PodSpec): PodSpec {
  const containers = (list: readonly Container[]) =>
    list.map(({ image: _, ...container }) => container) as readonly Container[];
  const {
    activeDeadlineSeconds: _,
    tolerations: __,
    terminationGracePeriodSeconds: ___,
    schedulingGates: ____,
    ...rest
  } = spec;
  return {
    ...rest,
    containers: containers(spec.containers),
    ...(spec.initContainers ? { initContainers: containers(spec.initContainers) } : {}),
  };
}

const FIXED =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

function specChangeProblems(now: PodSpec, before: PodSpec): Problems {
  const deadline = now.activeDeadlineSeconds;
  const oldDeadline = before.activeDeadlineSeconds;
  const lost = (before.tolerations ?? []).some(
    (each) => !(now.tolerations ?? []).some((other) => isSame(each, other)),
  );
  const gates = (now.schedulingGates ?? []).filter(
    ({ name }) => !before.schedulingGates?.some((each) => each.name === name),
  );
  return [
    ...(now.containers.length === before.containers.length
      ? []
      : [forbidden("spec.containers", "pod updates may not add or remove containers")]),
    ...((now.initContainers?.length ?? 0) === (before.initContainers?.length ?? 0)
      ? []
      : [forbidden("spec.initContainers", "pod updates may not add or remove containers")]),
    ...(oldDeadline !== undefined && (deadline === undefined || deadline > oldDeadline)
      ? [
          invalid(
            "spec.activeDeadlineSeconds",
            deadline,
            "must be less than or equal to previous value",
          ),
        ]
      : []),
    ...(lost
      ? [
          forbidden(
            "spec.tolerations",
            "existing toleration can not be modified except its tolerationSeconds",
          ),
        ]
      : []),
    ...gates.map(({ name }) =>
      forbidden(
        "spec.schedulingGates",
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      ),
    ),
    ...(isSame(changeable(now), changeable(before)) &&
    now.terminationGracePeriodSeconds === before.terminationGracePeriodSeconds
      ? []
      : [forbidden("spec", FIXED)]),
  ];
}

function ephemeralProblems(now: PodSpec, { metadata, spec: before }: Pod): Problems {
  // No field is at fault: the reference names the object as a whole "[]".
  if (metadata?.annotations?.[MIRROR] !== undefined)
    return [forbidden("[]", "static pods do not support ephemeral containers")];
  const fresh = new Map((now.ephemeralContainers ?? []).map((each) => [each.name, each]));
  return (before?.ephemeralContainers ?? []).flatMap((old) => {
    const kept = fresh.get(old.name);
    if (kept === undefined)
      return [
        forbidden(
          "spec.ephemeralContainers",
          `existing ephemeral containers "${old.name}" may not be removed\n`,
        ),
      ];
    return isSame(kept, old)
      ? []
      : [
          forbidden(
            "spec.ephemeralContainers",
            `existing ephemeral containers "${old.name}" may not be changed\n`,
          ),
        ];
  });
}

function validateChange(now: ApiObject, before: ApiObject, subresource: string): Problems {
  const [spec, old] = [podOf(now).spec, podOf(before).spec];
  if (!spec || !old) return [];
  switch (subresource) {
    case "":
      return specChangeProblems(spec, old);
    case "status":
      return podStatusProblems(podOf(now), podOf(before));
    case "resize":
      return resizeProblems(podOf(now), podOf(before));
    case "ephemeralcontainers":
      return ephemeralProblems(spec, podOf(before));
    default:
      return [];
  }
}

/** Unscheduled and terminated pods are deleted at once. */
function graceSeconds(object: ApiObject, asked: number | undefined): number {
  const { spec, status } = podOf(object);
  if ((spec?.nodeName ?? "") === "" || isTerminalPhase(status?.phase)) return 0;
  const seconds = asked ?? spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
  return seconds < 0 ? 1 : seconds;
}

/** Rules of the API for pods. */
export const POD_RULES: KindRules = {
  complete: (object) => objectOf(defaultPod(podOf(object))),
  begin,
  keep: (now, before) => {
    const pod = withOwnResources(podOf(now), podOf(before));
    const changed = !isSame(pod.spec, podOf(before).spec);
    const generation = (before.metadata.generation ?? 1) + (changed ? 1 : 0);
    return objectOf({ ...pod, metadata: { ...pod.metadata, generation } });
  },
  keepStatus: (now, before) => objectOf(withAgreeingIps(withQosClass(podOf(now), podOf(before)))),
  validate: (object) => validatePod(podOf(object), { isNew: object.metadata.uid === undefined }),
  warn: (object) => podWarnings(podOf(object)),
  validateChange,
  graceSeconds,
};
