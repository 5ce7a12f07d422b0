// pure
/** Rules of `pods/resize` (validation.go ValidatePodResize, strategy.go dropNonResizeUpdates). */

import { type FieldProblem, forbidden, invalid } from "../../api/decode/field-problem.ts";
import { isSame } from "../../api/decode/strategic-diff.ts";
import type { Container, Pod, PodSpec, ResourceRequirements } from "../../api/generated/types.ts";
import { isMirrorPod, isRestartableInit } from "../../api/pod/pod.ts";
import { computeQosClass, qosClassOf } from "../../api/pod/qos.ts";
import type { Problems } from "../../api/validation/fields.ts";

/** The spec as it was, with resources and resize policies as they are asked for; all else is left out. */
export function resizedSpec(before: PodSpec, asked: PodSpec): PodSpec {
  const { resources: _, containers, initContainers, ...rest } = before;
  const all = (list: readonly Container[], requested: readonly Container[] | undefined) =>
    list.map((old) => resized(old, requested));
  return {
    ...rest,
    containers: all(containers, asked.containers),
    ...(initContainers ? { initContainers: all(initContainers, asked.initContainers) } : {}),
    ...(asked.resources ? { resources: asked.resources } : {}),
  };
}

function resized(old: Container, asked: readonly Container[] | undefined): Container {
  const found = asked?.find(({ name }) => name === old.name);
  if (!found) return old;
  const { resources: _, resizePolicy: __, ...rest } = old;
  const { resources, resizePolicy } = found;
  return {
    ...rest,
    ...(resources ? { resources } : {}),
    ...(resizePolicy ? { resizePolicy } : {}),
  };
}

/** Problems with a change in place, beside what is wrong with any pod. */
export function resizeProblems(now: Pod, before: Pod): Problems {
  if (isMirrorPod(before)) return [forbidden("", "static pods cannot be resized")];
  if (before.spec?.os?.name === "windows") return [forbidden("", "windows pods cannot be resized")];
  const [spec, old] = [now.spec, before.spec];
  if (!spec || !old) return [];
  const removed = [
    ...removals("spec.initContainers", old.initContainers, spec.initContainers),
    ...removals("spec.containers", old.containers, spec.containers),
    ...removedFrom("spec.resources", old.resources, spec.resources),
  ];
  return [
    ...classProblems(now, before),
    ...(isSupported(before)
      ? []
      : [forbidden("spec", "Pod running on node without support for resize")]),
    ...removed,
    ...fixedProblems(spec, old),
  ];
}

function classProblems(now: Pod, before: Pod): Problems {
  const kept = qosClassOf(before);
  return kept === computeQosClass(now)
    ? []
    : [invalid("spec", kept, "Pod QOS Class may not change as a result of resizing")];
}

/** A node that knows of resizes says what running containers have. */
function isSupported({ status }: Pod): boolean {
  const running = status?.containerStatuses?.find(({ state }) => state?.running !== undefined);
  return running === undefined || running.resources !== undefined;
}

function removals(
  path: string,
  before: readonly Container[] = [],
  now: readonly Container[] = [],
): Problems {
  return before.flatMap((old, i) =>
    removedFrom(`${path}[${i}].resources`, old.resources, now[i]?.resources),
  );
}

function removedFrom(
  path: string,
  before: ResourceRequirements | undefined,
  now: ResourceRequirements | undefined,
): Problems {
  return (["requests", "limits"] as const).flatMap((kind): readonly FieldProblem[] => {
    const isGone = Object.keys(before?.[kind] ?? {}).some(
      (name) => !Object.hasOwn(now?.[kind] ?? {}, name),
    );
    return isGone ? [forbidden(`${path}.${kind}`, `resource ${kind} cannot be removed`)] : [];
  });
}

/** Only CPU and memory change, of containers and init containers and of the pod itself. */
function fixedProblems(now: PodSpec, before: PodSpec): Problems {
  const differs = (list: "containers" | "initContainers", kind: (each: Container) => boolean) =>
    (before[list] ?? []).some((old, i) => {
      const next = now[list]?.[i];
      return kind(old) && !isSame(next && withoutResized(next), withoutResized(old));
    });
  const isSidecar = isRestartableInit;
  const own = isSame(fixedPart(now.resources), fixedPart(before.resources));
  return [
    ...(differs("containers", () => true) || !own
      ? [forbidden("spec", "only cpu and memory resources are mutable")]
      : []),
    ...(differs("initContainers", isSidecar)
      ? [forbidden("spec", "only cpu and memory resources for sidecar containers are mutable")]
      : []),
    ...(differs("initContainers", (each) => !isSidecar(each))
      ? [forbidden("spec", "only cpu and memory resources for init containers are mutable")]
      : []),
  ];
}

const withoutResized = ({ resources, ...rest }: Container): object => ({
  ...rest,
  resources: fixedPart(resources),
});

function fixedPart({ requests, limits, claims }: ResourceRequirements = {}): object {
  const fixed = (list: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(
      Object.entries(list).filter(([name]) => name !== "cpu" && name !== "memory"),
    );
  return { requests: fixed(requests), limits: fixed(limits), claims: claims ?? [] };
}
