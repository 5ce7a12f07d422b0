// pure
import type { Branded } from "../kit/brand.ts";
import type { ObjectMeta, Pod } from "./generated/types.ts";

/** `metadata.uid`; for static pods the hash of the manifest. */
export type PodUid = Branded<string, "PodUid">;

/** Identity of a pod. */
interface PodIdentity {
  readonly uid: PodUid;
  readonly namespace: string;
  readonly name: string;
}

/** A pod of this node: its identity was read where it came in. */
export interface IdentifiedPod extends Pod {
  readonly metadata: ObjectMeta & PodIdentity;
}

const UID = /^[A-Za-z0-9](?:[-.A-Za-z0-9]{0,126}[A-Za-z0-9])?$/;

/** The form of a UID, for messages. */
export const POD_UID_RULE =
  "must be 1 to 128 letters, digits, '-' and '.', beginning and ending with a letter or digit";

/**
 * The text as the UID of a pod. It becomes the name of folders, logs and cgroups: `undefined` where it cannot, which
 * no UID that an API server or an agent makes up is.
 */
export function asPodUid(text: string | undefined): PodUid | undefined {
  return text !== undefined && UID.test(text) ? (text as PodUid) : undefined;
}

/** The pod with its identity; what is missing of that is empty. The same object where nothing is missing. */
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
