// pure
import type { Container, Pod, PodSpec } from "../../api/generated/types.ts";
import {
  CONFIG_SEEN_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  podDisplayName,
} from "../../api/pod/pod.ts";
import { stableJson } from "../../api/pod/pod-keys.ts";

/** What an edit asks for: nothing, a change of the running pod, or that it ends and begins again. */
type PodEdit = "same" | "inPlace" | "recreate";

/**
 * Compares two versions of a static pod that have one UID. What may change in a pod that exists is taken over while it runs:
 * labels, annotations, images, tolerations, the deadline and a deletion. All else is fixed in its sandbox and containers.
 * What the agent adds itself and what an API server keeps (status, resource version, …) does not count.
 */
export function changeOfPod(before: Pod, now: Pod): PodEdit {
  if (before === now) return "same";
  if (podDisplayName(before) !== podDisplayName(now)) return "recreate";
  if (stableJson(fixedPart(before.spec)) !== stableJson(fixedPart(now.spec))) return "recreate";
  return stableJson(changeablePart(before)) === stableJson(changeablePart(now))
    ? "same"
    : "inPlace";
}

function fixedPart(spec: PodSpec | undefined): unknown {
  if (!spec) return {};
  const { activeDeadlineSeconds: _, tolerations: __, ...fixed } = spec;
  const withoutImage = (containers: readonly Container[] | undefined) =>
    containers?.map(({ image: ___, ...container }) => container);
  return {
    ...fixed,
    containers: withoutImage(spec.containers),
    initContainers: withoutImage(spec.initContainers),
  };
}

function changeablePart({ metadata, spec }: Pod): unknown {
  const {
    [CONFIG_SEEN_ANNOTATION]: _,
    [CONFIG_SOURCE_ANNOTATION]: __,
    ...annotations
  } = metadata?.annotations ?? {};
  const imagesOf = (containers: readonly Container[] | undefined) =>
    containers?.map(({ image }) => image);
  return {
    labels: metadata?.labels ?? {},
    annotations,
    deletionTimestamp: metadata?.deletionTimestamp,
    deletionGracePeriodSeconds: metadata?.deletionGracePeriodSeconds,
    images: [imagesOf(spec?.containers), imagesOf(spec?.initContainers)],
    activeDeadlineSeconds: spec?.activeDeadlineSeconds,
    tolerations: spec?.tolerations ?? [],
  };
}
