// pure
import type { Pod } from "../../api/generated/types.ts";
import {
  annotationOf,
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  isTerminalPhase,
  podFullName,
} from "../../api/pod/pod.ts";

/** A static pod of the node, for its image in the API. */
interface ObservedStaticPod {
  readonly pod: Pod;
  /** It is no longer desired and is on its way out. */
  readonly going: boolean;
  /** It was admitted and has neither ended nor been asked to. */
  readonly runs?: boolean;
}

/** An action on mirror pods. */
export type MirrorAction =
  | { readonly kind: "create"; readonly pod: Pod }
  | { readonly kind: "delete"; readonly mirror: Pod };

/** Everything that planning reads. */
interface MirrorState {
  readonly statics: readonly ObservedStaticPod[];
  readonly mirrors: readonly Pod[];
  /** The node's object; without it no mirror can be made. */
  readonly node: { readonly name: string; readonly uid: string } | undefined;
  /** Whether every source was seen: before that nothing is an orphan. */
  readonly seen: boolean;
}

/**
 * Mirror pods as they must be: one for each static pod, of its very definition; none that is being
 * deleted; none without a static pod (kubelet.go tryReconcileMirrorPods). The mirror of a pod that is
 * ending stays until the pod is gone.
 */
export function planMirrors({
  statics,
  mirrors,
  node,
  seen,
}: MirrorState): readonly MirrorAction[] {
  const actions: MirrorAction[] = [];
  const known = new Set<string>();
  for (const { pod, going, runs = false } of statics) {
    const name = podFullName(pod);
    known.add(name);
    const mirror = mirrors.find((candidate) => podFullName(candidate) === name);
    if (mirror && !isGood(mirror, pod, { going, runs })) actions.push({ kind: "delete", mirror });
    else if (!mirror && !going && node) actions.push({ kind: "create", pod: mirrorOf(pod, node) });
  }
  if (!seen) return actions;
  for (const mirror of mirrors)
    if (!known.has(podFullName(mirror))) actions.push({ kind: "delete", mirror });
  return actions;
}

function isGood(
  mirror: Pod,
  pod: Pod,
  { going, runs }: { readonly going: boolean; readonly runs: boolean },
): boolean {
  if (mirror.metadata?.deletionTimestamp !== undefined) return false;
  // A terminal phase is never left: of a pod that runs again, after a shutdown of the machine or because its manifest
  // was put back while the agent was away, another mirror shows.
  if (runs && isTerminalPhase(mirror.status?.phase)) return false;
  const hash = annotationOf(pod, CONFIG_HASH_ANNOTATION);
  return going || annotationOf(mirror, CONFIG_MIRROR_ANNOTATION) === hash;
}

/** The image of a static pod as it is made in the API (mirror_client.go CreateMirrorPod). */
export function mirrorOf(pod: Pod, node: { readonly name: string; readonly uid: string }): Pod {
  const { name, namespace, labels, annotations } = pod.metadata ?? {};
  const hash = annotationOf(pod, CONFIG_HASH_ANNOTATION) ?? "";
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels ? { labels } : {}),
      annotations: { ...annotations, [CONFIG_MIRROR_ANNOTATION]: hash },
      ownerReferences: [
        { apiVersion: "v1", kind: "Node", name: node.name, uid: node.uid, controller: true },
      ],
    },
    ...(pod.spec ? { spec: pod.spec } : {}),
  };
}
