// pure
/**
 * Limits nodes to their own pods, to creating mirrors of static pods, and to certificates in their own name
 * (NodeRestriction).
 */
import type { Pod, PodCertificateRequest, ResourceSlice } from "../../api/generated/types.ts";
import type { ObjectDraft } from "../api-object.ts";
import {
  NODE_KIND,
  POD_CERTIFICATE_REQUEST_KIND,
  POD_KIND,
  RESOURCE_SLICE_KIND,
} from "../kinds/catalog.ts";
import type { ObjectRequest } from "../objects/object-request.ts";
import { forbiddenRequest, type StatusError } from "../status-error.ts";

const NODE_PREFIX = "system:node:";
const MIRROR = "kubernetes.io/config.mirror";

function nodeOf({ user }: ObjectRequest): string | undefined {
  const isNode = user.groups.includes("system:nodes") && !user.groups.includes("system:masters");
  return isNode && user.name.startsWith(NODE_PREFIX)
    ? user.name.slice(NODE_PREFIX.length)
    : undefined;
}

/** Why a node may not write this object; undefined when it may, or when no node asks. */
export function nodeRestriction(
  request: ObjectRequest,
  object: ObjectDraft,
  isNew: boolean,
): StatusError | undefined {
  const node = nodeOf(request);
  if (node === undefined) return undefined;
  const name = object.metadata.name ?? "";
  const refuse = (why: string) => forbiddenRequest(request.kind, name, why);
  if (request.kind === NODE_KIND)
    return name === node
      ? undefined
      : refuse(`node "${node}" is not allowed to modify node "${name}"`);
  if (request.kind === POD_CERTIFICATE_REQUEST_KIND) {
    const { nodeName } = (object as unknown as PodCertificateRequest).spec;
    return nodeName === node
      ? undefined
      : refuse(`node "${node}" can only ask for certificates with spec.nodeName set to itself`);
  }
  if (request.kind === RESOURCE_SLICE_KIND)
    return (object as unknown as ResourceSlice).spec.nodeName === node
      ? undefined
      : refuse(`node "${node}" can only write resourceslices with spec.nodeName set to itself`);
  if (request.kind !== POD_KIND) return undefined;
  const { spec, metadata } = object as unknown as Pod;
  if (spec?.nodeName !== node)
    return refuse(`node "${node}" can only create or change pods with spec.nodeName set to itself`);
  if (isNew && metadata?.annotations?.[MIRROR] === undefined)
    return refuse(
      `pod does not have "${MIRROR}" annotation, node "${node}" can only create mirror pods`,
    );
  return undefined;
}
