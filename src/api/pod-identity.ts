// pure
import type { Branded } from "../kit/brand.ts";
import type { ObjectMeta, Pod } from "./generated/types.ts";

/** `metadata.uid`; for static pods the hash of the manifest. */
export type PodUid = Branded<string, "PodUid">;

/** Identity of a pod. */
export interface PodIdentity {
  readonly uid: PodUid;
  readonly namespace: string;
  readonly name: string;
}

/** A pod of this node: its identity was read where it came in. */
export interface IdentifiedPod extends Pod {
  readonly metadata: ObjectMeta & PodIdentity;
}

/** The pod with its identity; what it lacks of that is empty. The same object where it lacks nothing. */
export function identifyPod(pod: Pod): IdentifiedPod {
  if (isIdentified(pod)) return pod;
  const { uid = "", namespace = "", name = "" } = pod.metadata ?? {};
  return { ...pod, metadata: { ...pod.metadata, uid: uid as PodUid, namespace, name } };
}

function isIdentified(pod: Pod): pod is IdentifiedPod {
  const { metadata } = pod;
  return (
    metadata?.uid !== undefined && metadata.namespace !== undefined && metadata.name !== undefined
  );
}
