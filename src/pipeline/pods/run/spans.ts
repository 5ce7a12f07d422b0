// pure
import type { Decision } from "../../../api/decisions.ts";
import type { SpanAttributes } from "../../../kit/tracing/tracing.ts";
import type { PodAction } from "../plan/actions.ts";
import type { PodRecord } from "../record/record.ts";

/** A span that is to be recorded. */
interface PlannedSpan {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

/** The span of one sync of a pod, by the Go kubelet's names (syncPod, syncTerminatingPod, syncTerminatedPod). */
export function syncSpan({ pod, uid, life }: PodRecord): PlannedSpan {
  const { name, namespace } = pod.metadata;
  const isEnding = life.kind === "terminating";
  const hasEnded = life.kind === "terminated" || life.kind === "released";
  return {
    name: hasEnded ? "syncTerminatedPod" : isEnding ? "syncTerminatingPod" : "syncPod",
    attributes: {
      "k8s.pod.uid": uid,
      "k8s.pod.name": name,
      "k8s.namespace.name": namespace,
      "k8s.pod": `${namespace}/${name}`,
    },
  };
}

/** The span of one action: what is done, to which container, and by which rule, e.g. of a failed probe. */
export function actionSpan(action: PodAction): PlannedSpan {
  const decisions = decisionsOf(action);
  const containers =
    action.kind === "stopContainers"
      ? action.stops.map(({ name }) => name)
      : "name" in action
        ? [action.name]
        : [];
  return {
    name: action.kind,
    attributes: {
      ...(containers.length > 0 ? { "k8s.container.name": containers.join(",") } : {}),
      ...(decisions.length > 0
        ? { "nodelet.rule": decisions.map(({ rule }) => rule).join(",") }
        : {}),
      ...("restartCount" in action ? { "k8s.container.restart_count": action.restartCount } : {}),
    },
  };
}

/** The decisions that an action carries out. */
export function decisionsOf(action: PodAction): readonly Decision[] {
  if (!("decision" in action)) return [];
  return Array.isArray(action.decision) ? action.decision : [action.decision as Decision];
}
